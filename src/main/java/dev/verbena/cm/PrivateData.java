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
 * <table>
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
    public byte[] toArray() {
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
