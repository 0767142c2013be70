package dev.verbena.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * A claim that belongs to the first thread that asks for it. The holder has something for itself, such as a batch or a
 * flag, and needs no lock.
 *
 * <p>All threads may ask at the same time. Asking costs the holder one comparison.
 */
public final class ThreadClaim {
    private static final VarHandle HOLDER = holderField();

    private @Nullable Thread holder;

    /** Returns true if the calling thread holds the claim, and makes the claim if no thread holds it. */
    public boolean isMine() {
        Thread known = holder;
        return known == Thread.currentThread() || (known == null && make() == null);
    }

    /** Makes the claim for the calling thread. Returns null, or the other thread that holds the claim already. */
    public @Nullable Thread make() {
        Thread current = Thread.currentThread();
        Thread first = (Thread) HOLDER.compareAndExchange(this, (Thread) null, current);
        return first == current ? null : first;
    }

    /** Returns true if the calling thread holds the claim already. */
    public boolean isHeldByCurrentThread() {
        return holder == Thread.currentThread();
    }

    /** Gives the claim to the calling thread, which has made sure that the holder is not using it. */
    public void take() {
        if (holder != Thread.currentThread()) {
            holder = Thread.currentThread();
        }
    }

    /** Ends the claim. */
    public void end() {
        HOLDER.setVolatile(this, (Thread) null);
    }

    private static VarHandle holderField() {
        try {
            return MethodHandles.lookup().findVarHandle(ThreadClaim.class, "holder", Thread.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
