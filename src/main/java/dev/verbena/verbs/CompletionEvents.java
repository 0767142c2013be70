package dev.verbena.verbs;

import dev.verbena.internal.Ibv;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.failures.Failures;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The events of one completion queue that has a channel: asking for them, waiting for them, acknowledging them. */
final class CompletionEvents {
    /** How many events one acknowledgement, which takes a mutex in C, is for. */
    private static final int BATCH = 64;

    /** What {@link #owed} says while the queue is being destroyed: C waits then for acknowledgements. */
    private static final int DESTROYING = -1;

    private final CompletionQueue queue;
    private final CompletionChannel channel;
    private final Waiters waiters = new Waiters();
    private final Runnable ask = this::ask;

    /** How many events were taken and not acknowledged. */
    private final AtomicInteger owed = new AtomicInteger();

    /** How many threads wait for any completion: while there is one, asking for solicited ones only would forget it. */
    private final AtomicInteger unselective = new AtomicInteger();

    CompletionEvents(CompletionQueue queue, CompletionChannel channel) {
        this.queue = queue;
        this.channel = channel;
    }

    /** Waits until an attempt finds something. Null when the time is over. */
    <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, boolean solicitedOnly, Duration timeout)
            throws InterruptedException {
        int one = solicitedOnly ? 0 : 1;
        unselective.addAndGet(one);
        try {
            return waiters.await(attempt, ask, timeout);
        } finally {
            unselective.addAndGet(-one);
        }
    }

    private void ask() {
        channel.watch();
        queue.requestNotification(unselective.get() == 0);
    }

    /**
     * An event of this queue was taken. Until it is counted here, C keeps the queue from being freed, perhaps with a
     * thread that waits in C for the acknowledgement: so nothing here may block.
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
        Ibv.ACK_CQ_EVENTS.call(queue.address(), count);
    }

    void wake() {
        waiters.wake();
    }

    void fail(Throwable cause) {
        waiters.fail(() -> Failures.cannotWait(queue.toString(), cause));
    }

    /** The queue is closed, and is about to be destroyed in C, which waits for what is owed. */
    void destroying() {
        int count = owed.getAndSet(DESTROYING);
        if (count > 0) {
            acknowledge(count);
        }
        waiters.wakeAll();
    }

    void destroyed() {
        channel.remove(queue);
    }

    /** C refused to destroy the queue. */
    void notDestroyed() {
        owed.set(0);
    }
}
