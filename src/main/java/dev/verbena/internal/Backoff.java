package dev.verbena.internal;

import java.util.concurrent.locks.LockSupport;

/** A short wait between two looks at what another thread is about to change. */
public final class Backoff {
    private static final int SPINS = 100;
    private static final int YIELDS = 200;
    private static final long PAUSE_NANOS = 20_000;

    private Backoff() {}

    /**
     * Waits a little, and longer after many tries: most calls into C are short, but registering much memory takes long.
     *
     * @param tries the number of waits before this one
     */
    public static void pause(int tries) {
        if (tries < SPINS) {
            Thread.onSpinWait();
        } else if (tries < YIELDS) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }
}
