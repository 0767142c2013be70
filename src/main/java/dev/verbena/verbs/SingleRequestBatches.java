package dev.verbena.verbs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Batches for requests that are posted one by one. The first thread that comes has one for itself, and needs no lock;
 * all others share one.
 *
 * @param <B> the kind of batch
 */
final class SingleRequestBatches<B extends WorkBatch<B>> {
    private static final VarHandle FIRST = first();

    private final boolean confined;
    private final B own;
    private final B shared;
    private final ReentrantLock lock = new ReentrantLock();
    private @Nullable Thread first;

    SingleRequestBatches(boolean confined, Supplier<B> maker) {
        this.confined = confined;
        this.own = maker.get();
        this.shared = confined ? own : maker.get();
    }

    /** An empty batch that no other thread uses until {@link #release}. */
    B claim() {
        B batch = own;
        if (confined) {
            batch.clear(); // which refuses all threads but one
            return batch;
        }
        if (first != Thread.currentThread() && !isFirst()) {
            lock.lock();
            batch = shared;
        }
        batch.claim();
        return batch;
    }

    /** Ends what {@link #claim} began. */
    void release(B batch) {
        if (!confined && batch == shared) {
            lock.unlock();
        }
    }

    private boolean isFirst() {
        return first == null && FIRST.compareAndSet(this, (Thread) null, Thread.currentThread());
    }

    private static VarHandle first() {
        try {
            return MethodHandles.lookup().findVarHandle(SingleRequestBatches.class, "first", Thread.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
