package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.internal.Fields;
import dev.verbena.internal.ThreadClaim;
import dev.verbena.internal.lifetime.ObjectLifetime;
import java.lang.invoke.MethodHandles;
import org.jspecify.annotations.Nullable;

/**
 * A batch or a cursor, which belongs to the first thread that uses it: C would read half-written requests if two threads
 * used it at once. It can be used until its queue is closed.
 *
 * <p>One comparison checks three things: that this is the thread's own, that the thread may use the queue, and, where the
 * queue is confined to one thread, that the queue is open. A queue for all threads is checked again by the call itself.
 */
abstract sealed class ThreadBound permits WorkBatch, Completions {
    private static final ThreadClaim CLAIM =
            new ThreadClaim(Fields.handle(MethodHandles.lookup(), "holder", Thread.class));

    private final VerbsObject owner;
    private volatile boolean ended;

    /** The thread that this belongs to. The data path reads the field as it is, which costs one comparison. */
    private @Nullable Thread holder;

    ThreadBound(VerbsObject owner) {
        this.owner = owner;
    }

    /**
     * Checks that the calling thread may use this.
     *
     * @throws WrongThreadException if this belongs to another thread, or the queue is confined to another
     * @throws IllegalStateException if the queue is closed
     */
    final void checkUser() {
        if (holder != Thread.currentThread()) {
            begin();
        }
    }

    private void begin() {
        Thread current = Thread.currentThread();
        if (!ObjectLifetime.of(owner).isAccessibleBy(current)) {
            throw new WrongThreadException(this + " is confined to another thread than '" + current.getName() + "'");
        }
        if (ended) {
            throw new IllegalStateException(owner + " is closed");
        }
        Thread first = CLAIM.make(this);
        if (first != null) {
            throw new WrongThreadException(this + " belongs to thread '" + first.getName()
                    + "', which used it first, and not to '" + current.getName() + "': make one per thread");
        }
    }

    /** Returns true if this belongs to the calling thread already. */
    final boolean isUser() {
        return holder == Thread.currentThread();
    }

    /** Returns true if this belongs to the calling thread, which becomes the owner if there is none. */
    final boolean isMine() {
        Thread known = holder;
        return known == Thread.currentThread() || (known == null && CLAIM.make(this) == null);
    }

    /** Gives this to the calling thread, which has made sure that no other thread is using it. */
    final void takeOver() {
        if (holder != Thread.currentThread()) {
            holder = Thread.currentThread();
        }
    }

    /** Ends the use of this, because the queue was closed. */
    void end() {
        ended = true;
        CLAIM.end(this);
    }
}
