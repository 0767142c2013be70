package dev.verbena.support;

import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.WorkCompletion;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Waits with a time limit for conditions that have no waiting method. */
public final class Await {
    private static final int EAGER_LOOKS = 3;
    private static final long SHORTEST_PAUSE_NANOS = 5_000_000;
    private static final long LONGEST_PAUSE_NANOS = 250_000_000;
    private static final int PAUSES_PER_LOOK = 4;

    private Await() {}

    /** A condition, whose exception ends the wait for it. */
    public interface Condition {
        boolean holds() throws Exception;
    }

    /**
     * Polls a condition, after some polls with a pause between: on one processor, polling would delay the other side. After
     * a poll that takes long, the pause is longer. Throws an error that names the condition when the time is over.
     */
    public static void until(String what, Condition here) {
        until(what, Loopback.DEADLINE, here);
    }

    /** Polls a condition with a time limit other than the default. */
    public static void until(String what, Duration longest, Condition here) {
        long end = System.nanoTime() + longest.toNanos();
        long start = System.nanoTime();
        for (int looks = 1; !holds(what, here); looks++) {
            long now = System.nanoTime();
            if (now - end > 0) {
                throw new AssertionError("waited in vain: " + what);
            }
            if (looks < EAGER_LOOKS) {
                Thread.yield();
            } else {
                LockSupport.parkNanos(
                        Math.clamp(PAUSES_PER_LOOK * (now - start), SHORTEST_PAUSE_NANOS, LONGEST_PAUSE_NANOS));
            }
            start = System.nanoTime();
        }
    }

    private static boolean holds(String what, Condition here) {
        try {
            return here.holds();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new AssertionError(what, e);
        }
    }

    /** Polls until there is something, and returns it. */
    public static <T> T next(String what, Callable<@Nullable T> here) {
        AtomicReference<T> found = new AtomicReference<>();
        until(what, () -> {
            found.set(here.call());
            return found.get() != null;
        });
        return found.get();
    }

    /** Polls until a completion comes: a wait would end with the connection, and the device may flush a moment later. */
    public static WorkCompletion completion(CompletionQueue queue) {
        return next("a completion", queue::poll);
    }

    /** Waits for a thread to end. */
    public static void end(Thread thread) throws InterruptedException {
        if (!thread.join(Loopback.DEADLINE)) {
            AssertionError stuck = new AssertionError(thread + " does not end");
            stuck.setStackTrace(thread.getStackTrace());
            throw stuck;
        }
    }

    /**
     * Returns whether a thread waits for an event: it parks, or sleeps in C, where its state is {@code RUNNABLE}. A thread
     * that has not asked for events yet, or has ended, does not wait, even if it is held up by a lock.
     */
    public static boolean isAsleep(Thread thread) {
        return switch (thread.getState()) {
            case WAITING, TIMED_WAITING -> isIn(thread, "dev.verbena.internal.Waiters", "park");
            case RUNNABLE -> isIn(thread, "dev.verbena.internal.SleepInC", "sleep");
            default -> false;
        };
    }

    /** Returns whether a thread is in a call of a method. */
    public static boolean isIn(Thread thread, String type, String method) {
        return Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(type)
                        && frame.getMethodName().equals(method));
    }
}
