package dev.verbena.verbs;

import java.util.concurrent.locks.ReentrantLock;

/**
 * The batches of a queue for requests that are posted one by one. The first thread has a batch for itself and needs no
 * lock; all other threads share one.
 *
 * @param <B> the kind of batch
 */
final class SingleRequestBatches<B extends WorkBatch<B>> {
    private final B own;
    private final B shared;
    private final ReentrantLock lock = new ReentrantLock();

    /**
     * Wraps the batches.
     *
     * @param own the batch of the first thread, which may use it without {@link #claim}: see {@link ThreadBound#isUser}
     * @param shared the batch of all other threads; the same batch if the queue is confined
     */
    SingleRequestBatches(B own, B shared) {
        this.own = own;
        this.shared = shared;
    }

    /**
     * Returns an empty batch that no other thread uses until {@link #release}. The caller need not check its thread again.
     *
     * @throws WrongThreadException if the queue is confined to another thread
     * @throws IllegalStateException if the queue is confined and closed; if it is not confined, posting throws
     */
    B claim() {
        B batch = own;
        if (own == shared) {
            batch.checkUser();
        } else if (!batch.isMine()) {
            lock.lock();
            batch = shared;
            batch.takeOver();
        }
        batch.reset();
        return batch;
    }

    /** Gives a claimed batch back. */
    void release(B batch) {
        if (batch != own) {
            lock.unlock();
        }
    }
}
