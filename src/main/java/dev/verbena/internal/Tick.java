package dev.verbena.internal;

/** The time between two ticks: looks of threads that wait at what no descriptor reports, such as a device that is gone. */
final class Tick {
    /** The time in milliseconds. Tests shorten it. */
    static volatile int millis = 1_000;

    private Tick() {}

    /** Returns whether it is time for a tick. */
    static boolean isDue(long last) {
        return System.nanoTime() - last >= millis * 1_000_000L;
    }
}
