package dev.verbena.cm;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * The bytes that come along with a request to connect, an acceptance or a refusal ({@code private_data}). They can't be
 * changed.
 *
 * <p>What arrives is <em>padded with zeros</em> to a length that depends on the message and not on what was sent: say the
 * length within, or end with something that tells.
 *
 * <table>
 *   <caption>How many bytes can be sent on InfiniBand and RoCE</caption>
 *   <tr><th>with</th><th>{@link PortSpace#TCP}</th><th>{@link PortSpace#UDP}</th></tr>
 *   <tr><td>a request</td><td>56</td><td>180</td></tr>
 *   <tr><td>an acceptance</td><td>196</td><td>136</td></tr>
 *   <tr><td>a refusal</td><td>148</td><td>136</td></tr>
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
     * Some bytes.
     *
     * @param bytes at most 255; they are copied
     * @return private data
     * @throws IllegalArgumentException if there are more
     */
    public static PrivateData of(byte[] bytes) {
        if (bytes.length > LONGEST) {
            throw new IllegalArgumentException("Private data has at most " + LONGEST + " bytes, not " + bytes.length);
        }
        return bytes.length == 0 ? NONE : new PrivateData(bytes.clone());
    }

    /**
     * A text, in UTF-8.
     *
     * @param text at most 255 bytes
     * @return private data
     * @throws IllegalArgumentException if there are more
     */
    public static PrivateData of(String text) {
        return of(text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * How many bytes there are, with the padding if they have arrived.
     *
     * @return the count
     */
    public int size() {
        return bytes.length;
    }

    /**
     * The bytes.
     *
     * @return a new read-only buffer, big-endian
     */
    public ByteBuffer buffer() {
        return ByteBuffer.wrap(bytes).asReadOnlyBuffer();
    }

    /**
     * The bytes.
     *
     * @return a copy
     */
    public byte[] toArray() {
        return bytes.clone();
    }

    /**
     * The text up to the first zero, as UTF-8.
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

    /** For example {@code 4 bytes 50494e47}. */
    @Override
    public String toString() {
        return bytes.length == 0
                ? "no bytes"
                : bytes.length + " bytes " + HexFormat.of().formatHex(bytes);
    }
}
