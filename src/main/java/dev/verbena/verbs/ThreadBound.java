package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.ThreadClaim;

/**
 * A batch or a cursor, which belongs to the first thread that uses it: C would read half-written requests if two threads
 * used it at once. It can be used until its queue is closed.
 *
 * <p>One comparison checks three things: that this is the thread's own, that the thread may use the queue, and, where the
 * queue is confined to one thread, that the queue is open. A queue for all threads is checked again by the call itself.
 */
abstract sealed class ThreadBound permits WorkBatch, Completions {
    private final VerbsObject owner;
    private final ThreadClaim claim = new ThreadClaim();
    private volatile boolean ended;

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
        if (!claim.isHeldByCurrentThread()) {
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
        Thread first = claim.make();
        if (first != null) {
            throw new WrongThreadException(this + " belongs to thread '" + first.getName()
                    + "', which used it first, and not to '" + current.getName() + "': make one per thread");
        }
    }

    /** Returns true if this belongs to the calling thread, which becomes the owner if there is none. */
    final boolean isMine() {
        return claim.isMine();
    }

    /** Gives this to the calling thread, which has made sure that no other thread is using it. */
    final void takeOver() {
        claim.take();
    }

    /** Ends the use of this, because the queue was closed. */
    void end() {
        ended = true;
        claim.end();
    }
}
