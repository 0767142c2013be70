package dev.verbena.verbs;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Locale;
import java.util.Objects;

/**
 * Memory of a peer, which RDMA reads, writes and atomics work on. The peer makes the value by {@link
 * MemoryRegion#remote()} and sends it as {@link #toBytes 16 bytes}. Memory of 4 GiB and more needs {@link #toWideBytes 20
 * bytes}. {@link #from(byte[])} reads both forms. A value is immutable: all threads can use it.
 *
 * @param address the address of the first byte in the peer's process
 * @param key the remote key
 * @param length the number of bytes
 */
public record RemoteMemory(long address, int key, long length) {
    /** The number of bytes of the serialised form. */
    public static final int BYTES = 16;

    /** The number of bytes of the wide serialised form, which has 8 bytes for the length. */
    public static final int WIDE_BYTES = 20;

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
            throw new IllegalArgumentException("length can't be negative, got " + length);
        }
    }

    /**
     * Reads the serialised form that {@link #writeTo} writes. A longer segment may hold more than the form: use
     * {@link #fromWide(MemorySegment)} for the wide form.
     *
     * @param message at least 16 bytes
     * @return the memory
     */
    public static RemoteMemory from(MemorySegment message) {
        return new RemoteMemory(
                message.get(LONG, 0), message.get(INT, 8), Integer.toUnsignedLong(message.get(INT, 12)));
    }

    /**
     * Reads either serialised form. The length of the message tells which one: {@value #BYTES} bytes are what
     * {@link #toBytes} returns, {@value #WIDE_BYTES} bytes are what {@link #toWideBytes} returns.
     *
     * @param message {@value #BYTES} or {@value #WIDE_BYTES} bytes
     * @return the memory
     * @throws IllegalArgumentException if the message has another length, or if the length of the memory is negative
     */
    public static RemoteMemory from(byte[] message) {
        MemorySegment bytes = MemorySegment.ofArray(message);
        return switch (message.length) {
            case BYTES -> from(bytes);
            case WIDE_BYTES -> fromWide(bytes);
            default ->
                throw new IllegalArgumentException("the serialised form must have " + BYTES + " or " + WIDE_BYTES
                        + " bytes, got " + message.length);
        };
    }

    /**
     * Reads the wide serialised form that {@link #writeWideTo} writes. A segment does not tell its form: both sides must
     * agree on one, or send arrays, which {@link #from(byte[])} tells apart by their length.
     *
     * @param message at least 20 bytes
     * @return the memory
     * @throws IllegalArgumentException if the length is negative, because the message is of another form
     */
    public static RemoteMemory fromWide(MemorySegment message) {
        return new RemoteMemory(message.get(LONG, 0), message.get(INT, 8), message.get(LONG, 12));
    }

    /**
     * Reads the wide serialised form that {@link #toWideBytes} returns. {@link #from(byte[])} reads both forms.
     *
     * @param message at least 20 bytes
     * @return the memory
     * @throws IllegalArgumentException if the length is negative, because the message is of another form
     */
    public static RemoteMemory fromWide(byte[] message) {
        return fromWide(MemorySegment.ofArray(message));
    }

    /**
     * Writes the serialised form: 16 bytes, big-endian, with the address (8), the key (4) and the length (4). {@code
     * rping} uses the same form.
     *
     * @param message at least 16 bytes
     * @throws IllegalStateException if the length does not fit into 4 bytes: send a slice, or {@link #writeWideTo}
     */
    public void writeTo(MemorySegment message) {
        if (length > LONGEST) {
            throw new IllegalStateException("the serialised form has 4 bytes for the length, too few for " + length
                    + ": send a slice, or the wide form (writeWideTo, fromWide)");
        }
        message.set(INT, 12, (int) length); // first: nothing is written to a message that is too short
        message.set(LONG, 0, address);
        message.set(INT, 8, key);
    }

    /**
     * Returns the serialised form that {@link #writeTo} writes. {@link #from(byte[])} reads it.
     *
     * @return 16 bytes
     * @throws IllegalStateException if the length does not fit into 4 bytes: send a slice, or {@link #toWideBytes}
     */
    public byte[] toBytes() {
        byte[] bytes = new byte[BYTES];
        writeTo(MemorySegment.ofArray(bytes));
        return bytes;
    }

    /**
     * Writes the wide serialised form: 20 bytes, big-endian, with the address (8), the key (4) and the length (8). All
     * lengths fit.
     *
     * @param message at least 20 bytes
     */
    public void writeWideTo(MemorySegment message) {
        message.set(LONG, 12, length); // first: nothing is written to a message that is too short
        message.set(LONG, 0, address);
        message.set(INT, 8, key);
    }

    /**
     * Returns the wide serialised form that {@link #writeWideTo} writes. {@link #from(byte[])} reads it.
     *
     * @return 20 bytes
     */
    public byte[] toWideBytes() {
        byte[] bytes = new byte[WIDE_BYTES];
        writeWideTo(MemorySegment.ofArray(bytes));
        return bytes;
    }

    /**
     * Returns a part of this memory.
     *
     * @param offset the offset of the part
     * @param size the number of bytes
     * @return the part
     * @throws IndexOutOfBoundsException if the part is not within this memory
     */
    public RemoteMemory slice(long offset, long size) {
        Objects.checkFromIndexSize(offset, size, length);
        return new RemoteMemory(address + offset, key, size);
    }

    /**
     * Returns the part of this memory that a path in a layout selects. So no offset is computed by hand.
     *
     * @param layout the layout of this memory
     * @param path a path in the layout, to an element or a field
     * @return the part
     * @throws IllegalArgumentException if the layout has no such path
     * @throws IndexOutOfBoundsException if the part is not within this memory
     */
    public RemoteMemory slice(MemoryLayout layout, MemoryLayout.PathElement... path) {
        return slice(layout.byteOffset(path), layout.select(path).byteSize());
    }

    /**
     * Returns an element of this memory, which is an array of elements of one layout.
     *
     * @param element the layout of each element
     * @param index the number of the element, from 0
     * @return the element
     * @throws IndexOutOfBoundsException if the element is not within this memory
     */
    public RemoteMemory element(MemoryLayout element, long index) {
        long size = element.byteSize();
        Objects.checkIndex(index, size == 0 ? 0 : length / size);
        return slice(index * size, size);
    }

    /** Returns for example {@code 4096 bytes at 0x7f0010, rkey 0x1234}. */
    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%d bytes at 0x%x, rkey 0x%x", length, address, key);
    }
}
