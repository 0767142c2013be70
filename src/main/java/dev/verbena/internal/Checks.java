package dev.verbena.internal;

import java.time.Duration;
import java.util.Objects;

/** Checks of arguments. Each check returns the checked value. */
public final class Checks {
    private Checks() {}

    /**
     * Checks that a number is from 0 to a maximum.
     *
     * @param what the number's name, for the message
     * @param value the number
     * @param max the largest allowed number
     * @return the number
     * @throws IllegalArgumentException if the number is out of range
     */
    public static int checkRange(String what, int value, int max) {
        return (int) checkRange(what, value, 0, (long) max);
    }

    /**
     * Checks that a number is from 0 to a maximum.
     *
     * @param what the number's name, for the message
     * @param value the number
     * @param max the largest allowed number
     * @return the number
     * @throws IllegalArgumentException if the number is out of range
     */
    public static long checkRange(String what, long value, long max) {
        return checkRange(what, value, 0, max);
    }

    /**
     * Checks that a number is within a range.
     *
     * @param what the number's name, for the message
     * @param value the number
     * @param min the smallest allowed number
     * @param max the largest allowed number
     * @return the number
     * @throws IllegalArgumentException if the number is out of range
     */
    public static int checkRange(String what, int value, int min, int max) {
        return (int) checkRange(what, value, min, (long) max);
    }

    /**
     * Checks that a number is within a range.
     *
     * @param what the number's name, for the message
     * @param value the number
     * @param min the smallest allowed number
     * @param max the largest allowed number
     * @return the number
     * @throws IllegalArgumentException if the number is out of range
     */
    public static long checkRange(String what, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(what + " must be from " + min + " to " + max + ", got " + value);
        }
        return value;
    }

    /**
     * Checks that a number is not less than a minimum.
     *
     * @param what the number's name, for the message
     * @param value the number
     * @param min the smallest allowed number
     * @return the number
     * @throws IllegalArgumentException if the number is less
     */
    public static int checkAtLeast(String what, int value, int min) {
        return (int) checkAtLeast(what, (long) value, min);
    }

    /**
     * Checks that a number is not less than a minimum.
     *
     * @param what the number's name, for the message
     * @param value the number
     * @param min the smallest allowed number
     * @return the number
     * @throws IllegalArgumentException if the number is less
     */
    public static long checkAtLeast(String what, long value, long min) {
        if (value < min) {
            throw new IllegalArgumentException(what + " must be at least " + min + ", got " + value);
        }
        return value;
    }

    /**
     * Checks that a duration is more than 0.
     *
     * @param what the duration's name, for the message
     * @param value the duration
     * @return the duration
     * @throws IllegalArgumentException if the duration is 0 or negative
     */
    public static Duration checkPositive(String what, Duration value) {
        if (Objects.requireNonNull(value, what).compareTo(Duration.ZERO) <= 0) {
            throw new IllegalArgumentException(what + " must be more than 0, got " + value);
        }
        return value;
    }
}
