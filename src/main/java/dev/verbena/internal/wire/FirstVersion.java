package dev.verbena.internal.wire;

import java.nio.ByteBuffer;

/**
 * The first version of the protocol, by what it sent first. Its messages had other forms: over RDMA each was a send with
 * immediate data, and over TCP each side began with 16 bytes of their own. A node knows of it only to say why the channel
 * ends.
 */
public final class FirstVersion {
    /** The end of a channel with such a peer. */
    public static final String SPOKEN = "It speaks version 1, this side version " + Wire.VERSION;

    private static final int HELLO = 0x5642_4e54; // "VBNT"
    private static final int HELLO_BYTES = 16;

    private FirstVersion() {}

    /** Returns true if the bytes that have come over TCP begin as those of the first version. */
    public static boolean began(ByteBuffer come) {
        return come.position() >= Integer.BYTES && come.getInt(0) == HELLO;
    }

    /** Returns first bytes with this side's version. A peer of the first version names that as the reason. */
    public static ByteBuffer answer() {
        return ByteBuffer.allocate(HELLO_BYTES)
                .putInt(HELLO)
                .put((byte) Wire.VERSION)
                .clear();
    }
}
