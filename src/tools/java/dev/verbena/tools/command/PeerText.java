package dev.verbena.tools.command;

/** Text that a peer may have chosen, for a terminal. */
public final class PeerText {
    private static final char HARMLESS = '?';

    private PeerText() {}

    /**
     * Replaces what commands a terminal, or changes the order or place of what stands around it: control characters, marks of
     * the direction of writing, invisible characters, ends of lines, and halves of characters.
     *
     * @param text any text
     * @return the text in one line
     */
    public static String harmless(String text) {
        StringBuilder safe = new StringBuilder();
        text.codePoints().forEach(code -> safe.appendCodePoint(isHarmless(code) ? code : HARMLESS));
        return safe.toString();
    }

    /**
     * Returns whether a text has nothing that {@link #harmless} replaces.
     *
     * @param text any text
     * @return true if a terminal shows the text as it is
     */
    public static boolean isHarmless(String text) {
        return text.codePoints().allMatch(PeerText::isHarmless);
    }

    private static boolean isHarmless(int code) {
        return switch (Character.getType(code)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE -> false;
            default -> true;
        };
    }
}
