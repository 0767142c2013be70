package dev.verbena.support;

import java.util.function.BooleanSupplier;

/** Waits for what has no wait of its own, and not for ever. */
public final class Await {
    private Await() {}

    /** Looks again and again; what did not come in time is an error that names it. */
    public static void until(String what, BooleanSupplier here) {
        long end = System.nanoTime() + Loopback.DEADLINE.toNanos();
        while (!here.getAsBoolean()) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError("waited in vain: " + what);
            }
            Thread.yield();
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
