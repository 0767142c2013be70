package dev.verbena.internal;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A file descriptor that C owns and that becomes readable when there is an event to take, and the threads that wait for
 * that: platform or virtual, none of them in C.
 *
 * <pre>{@code
 * Event event = descriptor.await(this::tryToTakeOne, timeout);    // null when the time is over
 * }</pre>
 *
 * <p>The owner calls {@link #close} before the descriptor is closed in C, and {@link #reopen} if that failed.
 */
public final class Descriptor {
    private final int number;
    private final Function<? super Throwable, ? extends RuntimeException> failure;
    private final Waiters waiters = new Waiters();
    private final ReentrantLock lock = new ReentrantLock();

    private EventThread.@Nullable Watch watch;
    private boolean closed;

    /**
     * Makes the descriptor's reads non-blocking.
     *
     * @param number the descriptor
     * @param failure makes the exception for a thread that can't wait any longer, from the reason: a
     *     {@link SystemCallException}, or what ended the event thread
     */
    public Descriptor(int number, Function<? super Throwable, ? extends RuntimeException> failure) {
        this.number = number;
        this.failure = failure;
        makeNonBlocking(number);
    }

    /** Makes reads of a descriptor answer {@code EAGAIN} where they would block. */
    public static void makeNonBlocking(int number) {
        SystemCall.makeNonBlocking(number);
    }

    /**
     * Waits until an attempt finds something.
     *
     * @param attempt takes an event without blocking; answers null when there is none, and throws when its owner is
     *     closed
     * @return what was found, or null when the time is over
     * @throws InterruptedException if the thread was interrupted
     */
    public <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        return waiters.await(attempt, this::watch, timeout);
    }

    private void watch() {
        lock.lock();
        try {
            if (closed) {
                return; // the attempt that follows says so
            }
            if (watch == null) {
                watch = EventThread.watch(number, true, new News());
            } else {
                watch.again();
            }
        } catch (SystemCallException e) {
            throw failure.apply(e);
        } finally {
            lock.unlock();
        }
    }

    private final class News implements EventThread.Handler {
        @Override
        public void readable() {
            waiters.wake();
        }

        @Override
        public void failed(Throwable cause) {
            lock.lock();
            try {
                watch = null;
            } finally {
                lock.unlock();
            }
            waiters.fail(() -> failure.apply(cause));
        }
    }

    /** Makes all who wait try again, for a reason other than an event. */
    public void wakeAll() {
        waiters.wakeAll();
    }

    /** Ends watching, and makes all who wait try again: their attempts must throw from now on. */
    public void close() {
        lock.lock();
        try {
            closed = true;
            if (watch != null) {
                watch.close();
                watch = null;
            }
        } finally {
            lock.unlock();
        }
        waiters.wakeAll();
    }

    /** The owner could not be closed: who went on waiting meanwhile asks to be told of news again. */
    public void reopen() {
        lock.lock();
        try {
            closed = false;
        } finally {
            lock.unlock();
        }
        waiters.wakeAll();
    }
}
