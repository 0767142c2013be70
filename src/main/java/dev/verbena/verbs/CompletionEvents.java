package dev.verbena.verbs;

import dev.verbena.internal.Chain;
import dev.verbena.internal.DescriptorWaits;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.Waiters;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The events of a completion queue that has a channel: asks for them, waits for them and acknowledges them. All threads
 * may use it at once.
 */
final class CompletionEvents extends Chain.Link<CompletionEvents> {
    /** The number of events to acknowledge at once, because an acknowledgement takes a mutex in C. */
    private static final int BATCH = 64;

    /** The value of {@link #owed} once C was asked to destroy the queue, which waits for acknowledgements. */
    private static final int DESTROYING = -1;

    final CompletionQueue queue;
    private final CompletionChannel channel;
    private final Waiters waiters = new Waiters();

    /** The number of events that were taken and not acknowledged. */
    private final AtomicInteger owed = new AtomicInteger();

    /** The number of threads that wait for any completion. While there is one, all completions must raise an event. */
    private final AtomicInteger unselective = new AtomicInteger();

    /** Returns the waits for events that may end the queue's connection; null without a connection. */
    private volatile @Nullable Supplier<DescriptorWaits> ofConnection;

    CompletionEvents(CompletionQueue queue, CompletionChannel channel) {
        this.queue = queue;
        this.channel = channel;
    }

    /** Has threads that wait for completions see the events of a connection too. */
    void alsoSee(Supplier<DescriptorWaits> events) {
        ofConnection = events;
    }

    /** Waits until an attempt finds something, and returns it; null on timeout. */
    <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, boolean solicitedOnly, Duration timeout)
            throws InterruptedException {
        int one = solicitedOnly ? 0 : 1;
        unselective.addAndGet(one);
        try (Asking asking = new Asking()) {
            return waiters.await(attempt, attempt, asking, timeout);
        } finally {
            unselective.addAndGet(-one);
        }
    }

    /** A wait of the calling thread, which asks for events of the queue. */
    private final class Asking implements Waiters.Asking, AutoCloseable {
        private final DescriptorWaits.Wait wait = channel.begin(waiters, queue).beside(ofConnection);

        @Override
        public DescriptorWaits.Wait ask() {
            wait.ask();
            queue.requestNotification(unselective.get() == 0);
            return wait;
        }

        @Override
        public void close() {
            wait.close();
        }
    }

    /**
     * Counts an event of this queue that was taken. Until it is counted, C does not free the queue. A thread may wait in
     * C for the acknowledgement, so nothing here may block.
     */
    void taken() {
        for (; ; ) {
            int before = owed.get();
            if (before == DESTROYING) {
                acknowledge(1);
                return;
            }
            int now = before + 1 == BATCH ? 0 : before + 1;
            if (owed.compareAndSet(before, now)) {
                if (now == 0) {
                    acknowledge(BATCH);
                }
                return;
            }
        }
    }

    private void acknowledge(int count) {
        Ibv.ACK_CQ_EVENTS.callQuietly(queue.address(), count, 0, 0);
    }

    /** Reports an event that was taken to the threads that wait here or at the channel. The source's lock is held. */
    void report() {
        waiters.wake();
        channel.report(this);
    }

    /** Wakes all threads that wait for completions of this queue. */
    void wakeAll() {
        waiters.wakeAll();
    }

    /** Acknowledges all events before C destroys the queue, which waits for that. */
    void destroying() {
        int count = owed.getAndSet(DESTROYING);
        if (count > 0) {
            acknowledge(count);
        }
        waiters.wakeAll();
    }

    /** Removes the queue from its channel once C has destroyed it. */
    void destroyed() {
        channel.remove(queue);
        channel.forget(this);
    }
}
