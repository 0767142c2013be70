package dev.verbena.internal;

import java.time.Duration;

/** Converts durations to the codes that the wire and C's structs have for them, and back. */
public final class WireTime {
    private static final int MAX_CODE = 31;
    private static final long ACK_UNIT_NANOS = 4_096;
    private static final Duration LONGEST_ACK = acknowledgement(MAX_CODE);

    private WireTime() {}

    /**
     * Returns the code of an acknowledgement timeout, rounded up: code c is 4.096 us times 2 to the power of c.
     *
     * @param timeout the timeout; {@link Deadline#FOREVER} for code 0, which has no limit
     * @throws IllegalArgumentException if the timeout is not positive or longer than code 31
     */
    public static int acknowledgementCode(Duration timeout) {
        if (timeout.equals(Deadline.FOREVER)) {
            return 0;
        }
        if (!timeout.isPositive() || timeout.compareTo(LONGEST_ACK) > 0) {
            throw new IllegalArgumentException("acknowledgement timeout must be positive and at most " + LONGEST_ACK
                    + ", or ChronoUnit.FOREVER.getDuration() for no limit, got " + timeout);
        }
        long nanos = timeout.toNanos();
        int code = 1; // code 0 has no limit
        while (ACK_UNIT_NANOS << code < nanos) {
            code++;
        }
        return code;
    }

    /**
     * Returns the acknowledgement timeout of a code.
     *
     * @param code from 0 to 31
     */
    public static Duration acknowledgement(int code) {
        return code == 0 ? Deadline.FOREVER : exponential(code);
    }

    /**
     * Returns the duration of an exponent: 4.096 us times 2 to the power of the exponent.
     *
     * @param exponent from 0 to 31
     */
    public static Duration exponential(int exponent) {
        return Duration.ofNanos(ACK_UNIT_NANOS << exponent);
    }

    /**
     * Returns a duration in microseconds, rounded up.
     *
     * @param what the name of the duration, for the message
     * @param duration from 0 to the maximum
     * @param max the largest number of microseconds
     * @throws IllegalArgumentException if the duration is negative or too long
     */
    public static int microseconds(String what, Duration duration, int max) {
        Duration longest = Duration.ofNanos(max * 1_000L);
        if (duration.isNegative() || duration.compareTo(longest) > 0) {
            throw new IllegalArgumentException(what + " must be from 0 to " + longest + ", got " + duration);
        }
        return (int) ((duration.toNanos() + 999) / 1_000);
    }

    /**
     * Checks the code of a duration.
     *
     * @param what the code's name, for the message
     * @throws IllegalArgumentException if the code does not fit into 5 bits
     */
    public static int checkCode(String what, int code) {
        Checks.checkRange(what, code, MAX_CODE);
        return code;
    }
}
