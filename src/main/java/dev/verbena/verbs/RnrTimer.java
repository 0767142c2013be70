package dev.verbena.verbs;

import dev.verbena.internal.Deadline;
import java.time.Duration;

/** Converts minimal RNR timers to the codes that the wire and C's structs have for them, and back. */
final class RnrTimer {
    private static final long UNIT_NANOS = 10_000;

    /** The timers in units of 10 us, by code: code 0 is the longest, the others ascend. */
    private static final int[] UNITS = {
        65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
        6144, 8192, 12288, 16384, 24576, 32768, 49152
    };

    private static final Duration LONGEST = of(0);

    private RnrTimer() {}

    /**
     * Returns the code of a timer, rounded up to the next entry of InfiniBand's table.
     *
     * @throws IllegalArgumentException if the timer is negative or longer than 655.36 ms
     */
    static int code(Duration timer) {
        if (timer.isNegative() || timer.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(
                    "minimal RNR timer must be from 0 to " + LONGEST + " (655.36 ms), got " + timer);
        }
        long nanos = Deadline.nanoseconds(timer);
        for (int code = 1; code < UNITS.length; code++) {
            if (nanos <= UNITS[code] * UNIT_NANOS) {
                return code;
            }
        }
        return 0;
    }

    /**
     * Returns the timer of a code.
     *
     * @param code from 0 to 31
     */
    static Duration of(int code) {
        return Duration.ofNanos(UNITS[code] * UNIT_NANOS);
    }
}
