package dev.verbena.support;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits with a time limit for conditions that have no waiting method. */
public final class Await {
    private static final int EAGER_LOOKS = 3;
    private static final long PAUSE_NANOS = 5_000_000;

    private Await() {}

    /**
     * Polls a condition, after some polls with a pause between: on one processor, polling would delay the other side.
     * Throws an error that names the condition when the time is over.
     */
    public static void until(String what, BooleanSupplier here) {
        long end = System.nanoTime() + Loopback.DEADLINE.toNanos();
        for (int looks = 1; !here.getAsBoolean(); looks++) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError("waited in vain: " + what);
            }
            if (looks < EAGER_LOOKS) {
                Thread.yield();
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    /** Waits for a thread to end. */
    public static void end(Thread thread) throws InterruptedException {
        if (!thread.join(Loopback.DEADLINE)) {
            AssertionError stuck = new AssertionError(thread + " does not end");
            stuck.setStackTrace(thread.getStackTrace());
            throw stuck;
        }
    }
}
