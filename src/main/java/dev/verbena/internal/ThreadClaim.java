package dev.verbena.internal;

import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The rule that something belongs to the first thread that claims it, such as a batch or a flag. The holder needs no lock.
 *
 * <p>The holder is a field of the claimed object, so that the data path reads it at once; this class writes the field.
 * All threads may claim at the same time.
 */
public final class ThreadClaim {
    private final VarHandle holder;

    /**
     * Makes the rule for a class.
     *
     * @param holder a field of type {@link Thread} of the claimed class
     */
    public ThreadClaim(VarHandle holder) {
        this.holder = holder;
    }

    /** Claims an object for the calling thread. Returns null, or the other thread that holds the claim already. */
    public @Nullable Thread make(Object claimed) {
        return make(claimed, null);
    }

    /**
     * Claims an object for the calling thread, in place of a thread that has ended.
     *
     * @param ended the thread that held the claim, or null if none did
     * @return null, or the other thread that holds the claim already
     */
    public @Nullable Thread make(Object claimed, @Nullable Thread ended) {
        Thread current = Thread.currentThread();
        Thread first = (Thread) holder.compareAndExchange(claimed, ended, current);
        return first == ended || first == current ? null : first;
    }

    /** Ends the claim to an object. */
    public void end(Object claimed) {
        holder.setVolatile(claimed, (Thread) null);
    }
}
