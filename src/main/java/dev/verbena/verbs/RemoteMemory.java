package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Locale;
import java.util.Objects;

/**
 * Memory of a peer: what a peer's {@link MemoryRegion#remote()} told, and RDMA reads, writes and atomics work on.
 *
 * @param address where it begins, in the peer's process
 * @param key the remote key
 * @param length how long it is
 */
public record RemoteMemory(long address, int key, long length) {
    /** How many bytes the serialised form has. */
    public static final int BYTES = 16;

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final long LONGEST = 0xffff_ffffL;

    /**
     * Makes a description of a peer's memory.
     *
     * @throws IllegalArgumentException if the length is negative
     */
    public RemoteMemory {
        if (length < 0) {
            throw new IllegalArgumentException("A length of " + length);
        }
    }

    /**
     * Reads what {@link #writeTo} wrote.
     *
     * @param message at least 16 bytes
     * @return the memory that they describe
     */
    public static RemoteMemory from(MemorySegment message) {
        return new RemoteMemory(
                message.get(LONG, 0), message.get(INT, 8), Integer.toUnsignedLong(message.get(INT, 12)));
    }

    /**
     * Reads what {@link #toBytes} made.
     *
     * @param message at least 16 bytes
     * @return the memory that they describe
     */
    public static RemoteMemory from(byte[] message) {
        return from(MemorySegment.ofArray(message));
    }

    /**
     * Writes 16 bytes, big-endian: the address (8), the key (4), the length (4). It is the form that {@code rping}
     * uses.
     *
     * @param message where to
     * @throws IllegalStateException if the length does not fit into 4 bytes: hand out a slice
     */
    public void writeTo(MemorySegment message) {
        if (length > LONGEST) {
            throw new IllegalStateException(
                    "The serialised form has 4 bytes for a length, too few for " + length + ": hand out a slice");
        }
        message.set(LONG, 0, address);
        message.set(INT, 8, key);
        message.set(INT, 12, (int) length);
    }

    /**
     * The serialised form, as {@link #writeTo} writes it.
     *
     * @return 16 bytes
     */
    public byte[] toBytes() {
        byte[] bytes = new byte[BYTES];
        writeTo(MemorySegment.ofArray(bytes));
        return bytes;
    }

    /**
     * A part of it.
     *
     * @param offset where the part begins, from the beginning of this
     * @param size how long it is
     * @return the part
     * @throws IndexOutOfBoundsException if it is not within this
     */
    public RemoteMemory slice(long offset, long size) {
        Objects.checkFromIndexSize(offset, size, length);
        return new RemoteMemory(address + offset, key, size);
    }

    /** For example {@code 4096 bytes at 0x7f0010, rkey 0x1234}. */
    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%d bytes at 0x%x, rkey 0x%x", length, address, key);
    }
}
