package dev.verbena.internal;

/** Checks of arguments. */
public final class Checks {
    private Checks() {}

    /**
     * Checks that a number is from 0 to a maximum.
     *
     * @param what the number's name, for the message
     * @param value the number
     * @param max the largest allowed number
     * @throws IllegalArgumentException if the number is out of range
     */
    public static void checkRange(String what, long value, long max) {
        checkRange(what, value, 0, max);
    }

    /**
     * Checks that a number is within a range.
     *
     * @param what the number's name, for the message
     * @param value the number
     * @param min the smallest allowed number
     * @param max the largest allowed number
     * @throws IllegalArgumentException if the number is out of range
     */
    public static void checkRange(String what, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(what + " must be from " + min + " to " + max + ", got " + value);
        }
    }

    /**
     * Checks that a number is not less than a minimum.
     *
     * @param what the number's name, for the message
     * @param value the number
     * @param min the smallest allowed number
     * @throws IllegalArgumentException if the number is less
     */
    public static void checkAtLeast(String what, long value, long min) {
        if (value < min) {
            throw new IllegalArgumentException(what + " must be at least " + min + ", got " + value);
        }
    }
}
