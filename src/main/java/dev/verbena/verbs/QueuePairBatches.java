package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.SEND_QUEUE;

import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Makes the batches of a queue pair. They end when the queue pair is closed. Their memory is kept here as long as C may read
 * it.
 */
final class QueuePairBatches {
    private final QueuePair queuePair;
    private final Queue<WorkBatch<?>> kept = new ConcurrentLinkedQueue<>();

    /** The slots of the sends; null if they are not counted. */
    private volatile @Nullable SendSlots slots;

    private @Nullable Paths paths;

    /** The paths that the batches post by. */
    private record Paths(PostPath sends, PostPath receives, AllowedOperations operations) {}

    QueuePairBatches(QueuePair queuePair) {
        this.queuePair = queuePair;
    }

    /** Sets the paths, before the first batch is made. A queue pair that could not be made whole has none. */
    void postBy(PostPath sends, PostPath receives, AllowedOperations operations) {
        paths = new Paths(sends, receives, operations);
    }

    private Paths paths() {
        return Objects.requireNonNull(paths);
    }

    /** Makes a batch of sends that the caller keeps until no thread uses it. */
    SendBatch newSends(int capacity) {
        return new SendBatch(queuePair, paths().sends(), capacity, paths().operations());
    }

    @Nullable
    SendSlots slots() {
        return slots;
    }

    UnsignaledPosts unsignaled(SingleRequestBatches<SendBatch> batches) {
        queuePair.lifetime.checkOpen();
        return new UnsignaledPosts(batches);
    }

    /** Counts the sends from now on: see {@link SendSlots#of}. */
    synchronized SendSlots countSends() {
        queuePair.lifetime.checkOpen();
        SendSlots known = slots;
        if (known != null) {
            return known;
        }
        CompletionQueue queue = SEND_QUEUE.of(queuePair.options);
        if (queue == null || queuePair.extended != null) {
            throw new IllegalArgumentException(queuePair + " has no sends, or posts them by ibv_wr_start");
        }
        if (queuePair.posted.hasSends()) {
            throw new IllegalStateException(queuePair + " has posted sends: count them from the first one on");
        }
        queue.countPolls();
        SendSlots made = new SendSlots(queuePair);
        slots = made;
        paths().sends().takeNone();
        return made;
    }

    /** Forgets all posted sends, because a reset has dropped them. */
    void reset() {
        SendSlots counted = slots;
        if (counted != null) {
            counted.reset();
        }
    }

    /** Makes a batch of receives that the caller keeps until no thread uses it. */
    ReceiveBatch newReceives(int capacity) {
        return new ReceiveBatch(
                queuePair, queuePair.domain, paths().receives(), capacity, queuePair.granted.receiveSge());
    }

    SendBatch sends(int capacity) {
        return keep(newSends(capacity));
    }

    ReceiveBatch receives(int capacity) {
        return keep(newReceives(capacity));
    }

    /** Returns the batches for single requests, of which the first thread has one for itself. */
    <B extends WorkBatch<B>> SingleRequestBatches<B> single(B own, IntFunction<B> maker) {
        return new SingleRequestBatches<>(own, queuePair.lifetime.isConfined() ? own : maker.apply(1));
    }

    private <B extends WorkBatch<B>> B keep(B batch) {
        kept.add(batch);
        return batch;
    }

    /** Ends all batches, because C has destroyed the queue pair. */
    void end() {
        for (WorkBatch<?> batch : kept) {
            batch.end();
        }
    }
}
