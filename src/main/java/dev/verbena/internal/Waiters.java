package dev.verbena.internal;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Threads that wait for one source of events: the only place where this library sleeps until the kernel has news.
 *
 * <p>A wait is: try; ask to be told of news; try again, because news may have come before the asking; sleep until told.
 * Virtual threads sleep off their carriers, because nothing here sleeps in C.
 *
 * <p>News wakes one thread. It tries, and wakes the next one when it leaves, for whatever reason: so somebody always
 * asks anew while anybody waits, and a thousand waiting threads are not woken for one piece of news.
 */
public final class Waiters {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition woken = lock.newCondition();

    private volatile long wakes;
    private volatile int asleep;
    private volatile @Nullable Failure failure;

    /** What makes the exception for each thread that waited when waiting became impossible. */
    private record Failure(Supplier<? extends RuntimeException> exception) {}

    /**
     * Waits until an attempt finds something.
     *
     * @param attempt looks, without blocking; answers null when there is nothing. It must throw when its source was
     *     closed: whoever closes it calls {@link #wakeAll} afterwards
     * @param ask asks to be told, by {@link #wake}, of what comes after it
     * @return what was found, or null when the time is over
     * @throws InterruptedException if the thread was interrupted
     */
    public <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Runnable ask, Duration timeout)
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
                found = attempt.get();
                if (found != null) {
                    return found;
                }
                sleep(seen, before, deadline);
                // Who was woken and interrupted leaves the news to the next one, as its own caller has given up.
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

    /** There is news for one. */
    public void wake() {
        lock.lock();
        try {
            wakes++;
            woken.signal();
        } finally {
            lock.unlock();
        }
    }

    /** There is news for all, such as the end of what they wait for. */
    public void wakeAll() {
        lock.lock();
        try {
            wakes++;
            woken.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** No news can come any more to those who wait now. Each of them throws an exception of its own. */
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
