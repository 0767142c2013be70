package dev.verbena.internal;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The threads that wait for one source of events. All waits for events of the kernel sleep here.
 *
 * <p>A wait has four steps: try; ask for a wake-up; try again, because an event may have come before the asking; sleep.
 * Virtual threads leave their carriers while they sleep, because nothing here sleeps in C.
 *
 * <p>An event wakes one thread. That thread tries, and wakes the next one when it leaves for any reason. So there is
 * always a thread that asks anew while threads wait, and one event does not wake a thousand threads.
 *
 * <p>All threads may use an instance at once.
 */
public final class Waiters {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition woken = lock.newCondition();

    private volatile long wakes;
    private volatile int asleep;
    private volatile @Nullable Failure failure;

    /** The end of all waits that had begun before it. Each thread gets an exception of its own. */
    private record Failure(Supplier<? extends RuntimeException> exception) {}

    /**
     * Waits until an attempt finds something.
     *
     * @param attempt looks without blocking, and returns null when there is nothing. It must throw once its source is
     *     closed, which calls {@link #wakeAll} afterwards
     * @param ask asks for a call of {@link #wake} when the next event comes
     * @return what the attempt found, or null on timeout
     * @throws InterruptedException if the thread was interrupted
     */
    public <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Runnable ask, Duration timeout)
            throws InterruptedException {
        return await(attempt, attempt, ask, timeout);
    }

    /**
     * Waits until an attempt finds something, where the asking also reports an event that has come before it.
     *
     * @param attempt looks as in {@link #await(Supplier, Runnable, Duration)}
     * @param look looks after the asking, and may look only at events that other threads took
     * @param ask asks for a call of {@link #wake} when the next event comes, or has come already
     * @return what the attempt found, or null on timeout
     * @throws InterruptedException if the thread was interrupted
     */
    public <T> @Nullable T await(
            Supplier<? extends @Nullable T> attempt,
            Supplier<? extends @Nullable T> look,
            Runnable ask,
            Duration timeout)
            throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // first: nothing is taken when it is null
        Failure before = failure;
        T found = attempt.get();
        if (found != null) {
            return found;
        }
        Deadline deadline = Deadline.after(timeout);
        try {
            throwIfInterrupted();
            while (!deadline.isOver()) {
                long seen = wakes;
                ask.run();
                found = look.get();
                if (found != null) {
                    return found;
                }
                sleep(seen, before, deadline);
                // A thread that was woken and interrupted leaves the event to the next one: its own caller gave up.
                throwIfInterrupted();
                found = attempt.get();
                if (found != null) {
                    return found;
                }
            }
            return null;
        } finally {
            if (asleep > 0) {
                wake();
            }
        }
    }

    private static void throwIfInterrupted() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // under the lock
    private void sleep(long seen, @Nullable Failure before, Deadline deadline) throws InterruptedException {
        lock.lock();
        try {
            asleep++;
            long left = deadline.remaining();
            while (wakes == seen && failure == before && left > 0) {
                left = woken.awaitNanos(left);
            }
        } finally {
            asleep--;
            lock.unlock();
        }
        Failure now = failure;
        if (now != null && now != before) {
            throw now.exception().get();
        }
    }

    /** Wakes one thread, for one event. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // under the lock
    public void wake() {
        lock.lock();
        try {
            wakes++;
            woken.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Wakes all threads, for example when the source of events was closed. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // under the lock
    public void wakeAll() {
        lock.lock();
        try {
            wakes++;
            woken.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Fails all waits that have begun: no event will come. Each thread throws an exception of its own. */
    public void fail(Supplier<? extends RuntimeException> exception) {
        lock.lock();
        try {
            failure = new Failure(exception);
            woken.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
