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
    public static void checkRange(String what, int value, int max) {
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
    public static void checkRange(String what, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(what + " must be from " + min + " to " + max + ", got " + value);
        }
    }

    /**
     * Checks that a number is at least 1.
     *
     * @param what the number's name, for the message
     * @param value the number
     * @throws IllegalArgumentException if it is not
     */
    public static void checkPositive(String what, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(what + " must be at least 1, got " + value);
        }
    }
}
