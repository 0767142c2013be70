package dev.verbena.internal;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A file descriptor that becomes readable when there is an event to take, and the threads that wait for its events. C
 * owns the descriptor. Waiting threads may be platform or virtual threads; none of them waits in C.
 *
 * <pre>{@code
 * Event event = descriptor.await(this::tryToTakeOne, timeout);    // null on timeout
 * }</pre>
 *
 * <p>The event thread watches the descriptor from the first wait on. Either it wakes one waiting thread, which takes the
 * event, or it takes all events itself and hands them on: each has a constructor. If taking may be slow, {@link #handedOn}
 * leaves it to other threads.
 *
 * <p>The owner calls {@link #close} before C closes the descriptor, and {@link #reopen} if C refused to.
 *
 * <p>All threads may use a watched descriptor at once.
 */
public final class WatchedDescriptor {
    private final int number;
    private final EventThread.Handling handling;
    private final @Nullable BooleanSupplier handOn;
    private final Runnable readable;
    private final Function<? super Throwable, ? extends RuntimeException> failure;
    private final Consumer<? super Throwable> failOthers;
    private final Waiters waiters = new Waiters();
    private @Nullable Runnable tick;
    private final ReentrantLock lock = new ReentrantLock();

    /** Receives what the event thread says of the watch; null if there is no watch. */
    private volatile @Nullable News news;

    private boolean closed;

    /**
     * Makes a watched descriptor whose waiting threads take the events. Each wait asks for one wake-up.
     *
     * @param number the descriptor; reads of it must not block
     * @param failure makes the exception of a thread that can wait no longer, from the cause: a
     *     {@link SystemCallException}, or what ended the event thread
     */
    public WatchedDescriptor(int number, Function<? super Throwable, ? extends RuntimeException> failure) {
        this.number = number;
        this.handling = EventThread.Handling.ONCE;
        this.handOn = null;
        this.readable = waiters::wake;
        this.failure = failure;
        this.failOthers = cause -> {};
    }

    /**
     * Makes a watched descriptor whose events the event thread takes.
     *
     * @param number the descriptor; reads of it must not block
     * @param reader takes all events without blocking, and calls {@link #wake} for each that a thread may wait for. When
     *     it throws, watching ends, and the exception is the cause of what waiting threads throw
     * @param failure makes the exception of a thread that can wait no longer, from the cause: a
     *     {@link SystemCallException}, what the reader threw, or what ended the event thread
     * @param failOthers fails the threads that wait elsewhere for these events
     */
    public WatchedDescriptor(
            int number,
            Runnable reader,
            Function<? super Throwable, ? extends RuntimeException> failure,
            Consumer<? super Throwable> failOthers) {
        this(number, EventThread.Handling.REPEATED, null, reader, failure, failOthers);
    }

    private WatchedDescriptor(
            int number,
            EventThread.Handling handling,
            @Nullable BooleanSupplier handOn,
            Runnable reader,
            Function<? super Throwable, ? extends RuntimeException> failure,
            Consumer<? super Throwable> failOthers) {
        this.number = number;
        this.handling = handling;
        this.handOn = handOn;
        this.readable = reader;
        this.failure = failure;
        this.failOthers = failOthers;
    }

    /**
     * Makes a watched descriptor whose events a thread takes that waits elsewhere, or else a thread of its own that may
     * block. Each {@link #watch} asks for one event.
     *
     * @param number the descriptor; reads of it must not block for lack of an event
     * @param handOn wakes a thread that takes the events, and returns true; or returns false to have the reader called
     * @param reader takes all events. Another event is asked for when it returns
     * @param failure makes the exception of a thread that can't wait, from the cause
     * @param failOthers fails the threads that wait elsewhere for these events
     */
    public static WatchedDescriptor handedOn(
            int number,
            BooleanSupplier handOn,
            Runnable reader,
            Function<? super Throwable, ? extends RuntimeException> failure,
            Consumer<? super Throwable> failOthers) {
        return new WatchedDescriptor(number, EventThread.Handling.APART, handOn, reader, failure, failOthers);
    }

    /**
     * Has the event thread call a function about once a second while it watches this descriptor. Call this method before the
     * first wait.
     *
     * @param function does not block. If it throws, watching ends, and the exception is the cause of what waiting threads
     *     throw
     */
    public void everySecond(Runnable function) {
        tick = function;
    }

    /**
     * Makes reads of a descriptor answer {@code EAGAIN} where they would block.
     *
     * @throws SystemCallException if {@code fcntl} fails
     */
    public static void makeNonBlocking(int number) {
        SystemCall.makeNonBlocking(number);
    }

    /**
     * Waits until an attempt finds something.
     *
     * @param attempt takes an event without blocking; returns null when there is none, and throws when its owner is
     *     closed
     * @return what the attempt found, or null on timeout
     * @throws InterruptedException if the thread was interrupted
     */
    public <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        return waiters.await(attempt, this::watch, timeout);
    }

    /** Makes the event thread watch the descriptor for the next event. Does nothing once this is closed. */
    public void watch() {
        if (isWatched()) {
            return;
        }
        lock.lock();
        try {
            if (closed || isWatched()) {
                return; // of a closed owner, the caller's next attempt throws
            }
            News known = news;
            if (known == null) {
                News made = new News();
                made.watch = EventThread.watch(number, handling, made);
                news = made;
            } else {
                known.again();
            }
        } catch (SystemCallException e) {
            throw failure.apply(e);
        } finally {
            lock.unlock();
        }
    }

    /** Ends watching until the next {@link #watch}, unless other threads take the events. */
    void pause() {
        if (handling != EventThread.Handling.REPEATED) {
            return;
        }
        lock.lock();
        try {
            endWatch();
        } finally {
            lock.unlock();
        }
    }

    private void endWatch() {
        News known = news;
        news = null;
        if (known != null) {
            Objects.requireNonNull(known.watch).close();
        }
    }

    private boolean isWatched() {
        News known = news;
        return known != null
                && switch (handling) {
                    case ONCE -> false;
                    case REPEATED -> true;
                    case APART -> known.asked;
                };
    }

    /** A watch, and what the event thread says of it. A watch that was ended may still say something. */
    private final class News implements EventThread.Handler {
        /** The watch; set before this is the {@link #news}. */
        private EventThread.@Nullable Watch watch;

        /** True from the asking for an event until the event thread has seen the event, for a descriptor with a handOn. */
        private volatile boolean asked = true;

        private void again() {
            asked = true; // first: the event thread may see the event at once
            try {
                Objects.requireNonNull(watch).again();
            } catch (Throwable t) {
                asked = false;
                throw t;
            }
        }

        @Override
        public boolean handOn() {
            asked = false; // first: the thread that is woken may ask again at once
            return Objects.requireNonNull(handOn).getAsBoolean();
        }

        @Override
        public boolean ticks() {
            return tick != null;
        }

        @Override
        public void tick() {
            Objects.requireNonNull(tick).run();
        }

        @Override
        public void readable() {
            readable.run();
            asked = true; // the event thread asks again when this returns
        }

        @Override
        public void failed(Throwable cause) {
            lock.lock();
            try {
                if (news != this) {
                    return; // the watch was ended meanwhile: waits ask for another one
                }
                news = null;
            } finally {
                lock.unlock();
            }
            try {
                failOthers.accept(cause);
            } finally {
                waiters.fail(() -> failure.apply(cause));
            }
        }
    }

    /** Wakes one waiting thread, which tries again. */
    public void wake() {
        waiters.wake();
    }

    /** Wakes all waiting threads, which try again. */
    public void wakeAll() {
        waiters.wakeAll();
    }

    /** Ends watching, and wakes all waiting threads: their attempts must throw from now on. */
    public void close() {
        lock.lock();
        try {
            closed = true;
            endWatch();
        } finally {
            lock.unlock();
        }
        waiters.wakeAll();
    }

    /** Allows watching again after C refused to close the owner, and wakes the threads that still wait. */
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
