package dev.verbena.internal;

import jdk.jfr.FlightRecorder;

/**
 * The flight recorder of this process. The first event object of a program loads more than a hundred classes, which takes
 * 360 ms of processor time (2026-11-25). So events are made only where a recorder can want them.
 *
 * <p>An event that can't be made is lost, and nothing else fails. Whoever makes one catches {@link OutOfMemoryError} and
 * {@link LinkageError}: the JVM never initializes a class again for which memory was missing at its first use.
 */
public final class Recorder {
    private Recorder() {}

    /** Returns true once a recording was made in this process, by whatever means. It stays true. */
    public static boolean isPresent() {
        return FlightRecorder.isInitialized();
    }
}
