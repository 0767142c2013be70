package dev.verbena.tools.command;

import java.time.Duration;
import java.util.function.BooleanSupplier;

/** Waits by polling. */
public final class Spin {
    private Spin() {}

    /**
     * Polls until a condition is true. Looks at the time, and at interrupts, only now and then.
     *
     * @param here the condition
     * @param spins number of polls in vain before the thread yields: the peer may need this processor
     * @param time the time limit
     * @return false if the time is over
     * @throws InterruptedException if the thread was interrupted, also when the condition is always true at once
     */
    public static boolean until(BooleanSupplier here, int spins, Duration time) throws InterruptedException {
        checkInterrupt();
        long limit = 0;
        for (int idle = 1; !here.getAsBoolean(); idle++) {
            if (idle % spins != 0) {
                Thread.onSpinWait();
                continue;
            }
            checkInterrupt();
            long now = System.nanoTime();
            limit = limit == 0 ? now + time.toNanos() : limit;
            if (now > limit) {
                return false;
            }
            Thread.yield();
        }
        return true;
    }

    /**
     * Throws if the thread was interrupted.
     *
     * @throws InterruptedException if it was
     */
    public static void checkInterrupt() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
    }
}
