package dev.verbena.support;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for what has no wait of its own, and not for ever. */
public final class Await {
    private static final int EAGER_LOOKS = 3;
    private static final long PAUSE_NANOS = 5_000_000;

    private Await() {}

    /**
     * Looks again and again, after some looks with a pause between: on a machine with one processor, looking would take
     * it from what is waited for. What did not come in time is an error that names it.
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

    /** Waits for the end of a thread. */
    public static void end(Thread thread) throws InterruptedException {
        if (!thread.join(Loopback.DEADLINE)) {
            AssertionError stuck = new AssertionError(thread + " does not end");
            stuck.setStackTrace(thread.getStackTrace());
            throw stuck;
        }
    }
}
