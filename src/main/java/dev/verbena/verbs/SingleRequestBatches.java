package dev.verbena.verbs;

import dev.verbena.internal.Mutex;

/**
 * The batches of a queue for requests that are posted one by one. The first thread has a batch for itself and needs no
 * lock; all other threads share one.
 *
 * @param <B> the kind of batch
 */
final class SingleRequestBatches<B extends WorkBatch<B>> {
    private final One own;
    private final One shared;
    private final Mutex lock = new Mutex();

    /** A batch that no other thread uses until it is given back, at the end of a {@code try} statement. */
    final class One implements AutoCloseable {
        final B batch;

        private One(B batch) {
            this.batch = batch;
        }

        @Override
        public void close() {
            if (this != own) {
                lock.unlock();
            }
        }
    }

    /**
     * Wraps the batches.
     *
     * @param own the batch of the first thread, which may use it without {@link #claim}: see {@link ThreadBound#isUser}
     * @param shared the batch of all other threads; the same batch if the queue is confined
     */
    SingleRequestBatches(B own, B shared) {
        this.own = new One(own);
        this.shared = own == shared ? this.own : new One(shared);
    }

    /**
     * Returns an empty batch. The caller need not check its thread again.
     *
     * @throws WrongThreadException if the queue is confined to another thread
     * @throws IllegalStateException if the queue is confined and closed; if it is not confined, posting throws
     */
    One claim() {
        One one = own;
        if (own == shared) {
            one.batch.checkUser();
        } else if (!one.batch.isMine()) {
            lock.lock();
            one = shared;
            one.batch.takeOver();
        }
        one.batch.reset();
        return one;
    }
}
