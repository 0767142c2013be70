package dev.verbena.verbs.address;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.Locale;

/**
 * The address of a queue pair, which a peer needs to connect its own queue pair. Programs exchange endpoints over any
 * channel.
 *
 * <p>The text form is the one that {@code ibv_rc_pingpong} exchanges: {@code LLLL:QQQQQQ:PPPPPP:} and the GID's 32 digits.
 *
 * @param queuePairNumber the number of the queue pair, 24 bits
 * @param packetSequenceNumber the number of the first packet that the queue pair sends, 24 bits
 * @param lid the port's local identifier; 0 on Ethernet
 * @param gid the GID of the port
 */
public record Endpoint(int queuePairNumber, int packetSequenceNumber, int lid, Gid gid) {
    /** The number of bytes of the serialised form. */
    public static final int BYTES = 2 + 4 + 4 + Gid.BYTES;

    private static final int MAX_24_BITS = 0xffffff;

    /**
     * Creates an endpoint.
     *
     * @throws IllegalArgumentException if a number has more than its 24 or 16 bits
     */
    public Endpoint {
        if ((queuePairNumber & ~MAX_24_BITS) != 0 || (packetSequenceNumber & ~MAX_24_BITS) != 0) {
            throw new IllegalArgumentException("queue pair and packet sequence numbers must have at most 24 bits, got "
                    + queuePairNumber + " and " + packetSequenceNumber);
        }
        if ((lid & ~0xffff) != 0) {
            throw new IllegalArgumentException("local identifier must have at most 16 bits, got " + lid);
        }
    }

    /**
     * Reads the serialised form, as {@link #toBytes} makes it.
     *
     * @param bytes 26 bytes
     * @return the endpoint
     * @throws IllegalArgumentException if there are too few bytes, or the bytes are no endpoint
     */
    public static Endpoint from(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        try {
            int lid = Short.toUnsignedInt(in.getShort());
            return new Endpoint(in.getInt(), in.getInt(), lid, new Gid(in.getLong(), in.getLong()));
        } catch (BufferUnderflowException e) {
            throw new IllegalArgumentException("endpoint must have " + BYTES + " bytes, got " + bytes.length, e);
        }
    }

    /**
     * Returns the serialised form: local identifier (2 bytes), queue pair number (4), packet sequence number (4), GID (16),
     * all big-endian.
     *
     * @return 26 bytes
     */
    public byte[] toBytes() {
        return ByteBuffer.allocate(BYTES)
                .putShort((short) lid)
                .putInt(queuePairNumber)
                .putInt(packetSequenceNumber)
                .putLong(gid.subnetPrefix())
                .putLong(gid.interfaceId())
                .array();
    }

    /**
     * Reads the text form, as {@link #toString} and {@code ibv_rc_pingpong} make it. The NUL that {@code ibv_rc_pingpong}
     * appends is ignored.
     *
     * @param text for example {@code 0000:000011:a3b2c1:00000000000000000000ffff0a090901}
     * @return the endpoint
     * @throws IllegalArgumentException if the text is no endpoint
     */
    public static Endpoint parse(String text) {
        String[] parts = text.trim().split(":", -1);
        if (parts.length != 4) {
            throw new IllegalArgumentException("Not an endpoint (LID:QPN:PSN:GID): '" + text + "'");
        }
        try {
            return new Endpoint(
                    Integer.parseInt(parts[1], 16),
                    Integer.parseInt(parts[2], 16),
                    Integer.parseInt(parts[0], 16),
                    Gid.parse(parts[3]));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("Not an endpoint (LID:QPN:PSN:GID): '" + text + "'", e);
        }
    }

    /** Returns the text form, which {@code ibv_rc_pingpong} exchanges. */
    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%04x:%06x:%06x:%s", lid, queuePairNumber, packetSequenceNumber, gid.toHex());
    }
}
