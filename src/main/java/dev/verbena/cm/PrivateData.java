package dev.verbena.cm;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * Private data ({@code private_data}): the bytes that a request to connect, an acceptance or a rejection carries. Private
 * data cannot be changed, and all threads can use it.
 *
 * <p>Received data is <em>padded with zeros</em> to a length that depends on the kind of message, not on the length that was
 * sent. Send the length with the data, or an end mark.
 *
 * <table class="plain">
 *   <caption>The largest number of bytes on InfiniBand and RoCE</caption>
 *   <tr><th>with</th><th>{@link PortSpace#TCP}</th><th>{@link PortSpace#UDP}</th></tr>
 *   <tr><td>a request</td><td>56</td><td>180</td></tr>
 *   <tr><td>an acceptance</td><td>196</td><td>136</td></tr>
 *   <tr><td>a rejection</td><td>148</td><td>136</td></tr>
 * </table>
 */
public final class PrivateData {
    /** No bytes. */
    public static final PrivateData NONE = new PrivateData(new byte[0]);

    private static final int LONGEST = 255;

    /** The number of bytes, or of characters, that a description shows. */
    private static final int SHOWN = 64;

    private final byte[] bytes;

    private PrivateData(byte[] bytes) {
        this.bytes = bytes;
    }

    /**
     * Makes private data of bytes.
     *
     * @param bytes at most 255; they are copied
     * @return private data
     * @throws IllegalArgumentException if there are more than 255 bytes
     */
    public static PrivateData of(byte[] bytes) {
        if (bytes.length > LONGEST) {
            throw new IllegalArgumentException(
                    "private data must have at most " + LONGEST + " bytes, got " + bytes.length);
        }
        return bytes.length == 0 ? NONE : new PrivateData(bytes.clone());
    }

    /**
     * Makes private data of a text, in UTF-8.
     *
     * @param text at most 255 bytes
     * @return private data
     * @throws IllegalArgumentException if there are more than 255 bytes
     */
    public static PrivateData of(String text) {
        return of(text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Returns the number of bytes. Received data includes the padding.
     *
     * @return the count
     */
    public int size() {
        return bytes.length;
    }

    /**
     * Returns the bytes in an array.
     *
     * @return a copy
     */
    public byte[] toBytes() {
        return bytes.clone();
    }

    /**
     * Returns the text up to the first zero, decoded as UTF-8.
     *
     * @return the text without padding
     */
    public String text() {
        int end = 0;
        while (end < bytes.length && bytes[end] != 0) {
            end++;
        }
        return new String(bytes, 0, end, StandardCharsets.UTF_8);
    }

    /**
     * Returns for example {@code 148 bytes, "no room"} or {@code 148 bytes, 00000400 and zeros}: the text if the bytes are one,
     * or the first bytes. Empty if there are only zeros.
     */
    String description() {
        int end = bytes.length;
        while (end > 0 && bytes[end - 1] == 0) {
            end--;
        }
        if (end == 0) {
            return "";
        }
        String all = bytes.length + " bytes, ";
        String text = text();
        if (text.getBytes(StandardCharsets.UTF_8).length == end
                && text.codePoints().allMatch(PrivateData::isShown)) {
            return all + '"' + (text.length() > SHOWN ? text.substring(0, SHOWN) + "..." : text) + '"';
        }
        int even = Math.min(bytes.length, end + Integer.BYTES - 1 & -Integer.BYTES); // numbers in full
        String hex = HexFormat.of().formatHex(bytes, 0, Math.min(even, SHOWN));
        return all + hex + (even > SHOWN ? " and more" : even < bytes.length ? " and zeros" : "");
    }

    /** Returns false for a character that commands a terminal, or changes the direction of what follows. */
    private static boolean isShown(int character) {
        return switch (Character.getType(character)) {
            case Character.CONTROL, Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> false;
            default -> character != 0xfffd;
        };
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PrivateData data && Arrays.equals(bytes, data.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    /** Returns for example {@code 4 bytes 50494e47}. */
    @Override
    public String toString() {
        return bytes.length == 0
                ? "no bytes"
                : bytes.length + " bytes " + HexFormat.of().formatHex(bytes);
    }
}
