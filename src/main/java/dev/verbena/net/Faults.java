package dev.verbena.net;

import java.util.regex.Pattern;

/** The texts of faults: what a peer is told of an exception of this side's program. */
final class Faults {
    /** The number of characters of an exception's message that a peer gets. */
    static final int MAX_MESSAGE = 256;

    /** Characters that are no part of a line on a terminal: controls, formats, and halves of characters. */
    private static final Pattern INVISIBLE = Pattern.compile("[\\p{C}\\u2028\\u2029]+");

    private Faults() {}

    /**
     * Returns the text for the peer. The message of an exception may have paths, addresses or data of others, so a peer that
     * has not proved a secret gets the name of the class alone.
     */
    static String textFor(Throwable thrown, Protection protection) {
        String name = thrown.getClass().getName();
        String message = protection == Protection.NONE ? null : thrown.getMessage();
        if (message == null || message.isBlank()) {
            return name;
        }
        String first = message.substring(0, Math.min(message.length(), MAX_MESSAGE));
        return name + ": " + INVISIBLE.matcher(first).replaceAll(" ");
    }
}
