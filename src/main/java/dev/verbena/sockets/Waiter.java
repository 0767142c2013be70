package dev.verbena.sockets;

import dev.verbena.internal.DescriptorWaits;
import dev.verbena.internal.Waiters;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketTimeoutException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The wait of a channel's thread for one direction. At most one thread waits, for it holds the lock of the direction.
 *
 * <p>The thread waits at the descriptor that the kernel reports events of: see {@link SocketDescriptor#waits}. While there
 * is none, as during a connect, it looks again after pauses.
 *
 * <p>An event of a connection is for both directions, but one call of C takes it. So one thread takes events: it alone calls
 * functions that take them and arm the completion channel. It has the other thread try again before each of its sleeps,
 * because C may have seen what the other one waits for.
 */
final class Waiter {
    /** The longest wait for an event: none tells that the peer's process was killed. */
    private static final long LONGEST = TimeUnit.MILLISECONDS.toNanos(500);

    private static final long SHORTEST_PAUSE = TimeUnit.MICROSECONDS.toNanos(100);
    private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(10);

    private final SocketDescriptor descriptor;
    private final boolean pauses;
    private final Waiters waiters = new Waiters();
    private @Nullable Waiter other;
    private DescriptorWaits.@Nullable Wait wait;
    private boolean asked;
    private boolean takes;
    private long seen;
    private long pause;

    /**
     * Makes the waiter of a direction.
     *
     * @param pauses true to look again after pauses always: no event tells what the thread waits for
     */
    Waiter(SocketDescriptor descriptor, boolean pauses) {
        this.descriptor = descriptor;
        this.pauses = pauses;
    }

    /** Joins the waiters of the two directions of a connection. */
    void join(Waiter ofOtherDirection) {
        other = ofOtherDirection;
        ofOtherDirection.other = this;
    }

    /** What a thread tries, without waiting, until it is done. */
    interface Attempt {
        /** Returns whether nothing is left to do. */
        boolean isDone() throws IOException;

        /** Returns whether to wait, and try again: the direction was not closed. */
        boolean goesOn();

        /** Returns the message of the exception when the time is over. */
        default String lateMessage() {
            throw new IllegalStateException("no time limit");
        }

        /** Returns whether the first attempt is likely to be in vain. */
        default boolean isLikelyToWait() {
            return false;
        }
    }

    /**
     * Makes an attempt. In blocking mode, waits and makes it again until it is done, or must not go on.
     *
     * @param nanoseconds the longest time; 0 is no limit
     * @throws SocketTimeoutException if the time is over
     */
    void perform(Attempt attempt, boolean blocking, long nanoseconds) throws IOException {
        descriptor.enter();
        try {
            if (blocking && attempt.isLikelyToWait() && descriptor.hasWaits()) {
                ask();
            }
            long start = nanoseconds == 0 ? 0 : System.nanoTime();
            while (!attempt.isDone() && blocking && attempt.goesOn()) {
                long left = nanoseconds == 0 ? LONGEST : nanoseconds - (System.nanoTime() - start);
                if (left <= 0) {
                    throw new SocketTimeoutException(attempt.lateMessage());
                }
                await(left);
            }
        } finally {
            end();
            descriptor.leave();
        }
    }

    /** Returns whether C may take events of the connection, and arm its completion channel. */
    boolean takes() {
        return takes;
    }

    /** Asks for events; or sleeps, if the thread has tried since it asked, and asks anew. The caller tries again. */
    private void await(long nanoseconds) throws IOException {
        if (asked) {
            sleep(nanoseconds);
        }
        ask();
    }

    private void ask() throws IOException {
        seen = waiters.wakes();
        asked = true;
        DescriptorWaits.Wait known = wait;
        if (known == null && !pauses) {
            DescriptorWaits waits = descriptor.waits();
            wait = known = waits == null ? null : waits.beginOfChannel(waiters, descriptor);
        }
        if (known != null) {
            try {
                takes = known.ask().takes();
            } catch (UncheckedIOException refused) {
                throw refused.getCause();
            }
        }
    }

    private void sleep(long nanoseconds) {
        long longest = LONGEST;
        if (wait == null) {
            pause = Math.clamp(pause + pause / 4, SHORTEST_PAUSE, LONGEST_PAUSE);
            longest = pause;
        }
        if (takes) {
            wakeOther();
        }
        try {
            waiters.sleep(seen, wait, Math.min(nanoseconds, longest));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // it has closed the channel
        }
    }

    private void end() {
        if (asked) {
            asked = false;
            pause = 0;
            if (wait != null) {
                wait.close();
            }
            if (takes) {
                takes = false;
                wakeOther();
            }
        }
    }

    private void wakeOther() {
        Waiter known = other;
        if (known != null) {
            known.wake();
        }
    }

    /** Wakes the waiting thread, if there is one. */
    void wake() {
        waiters.wake();
    }
}
