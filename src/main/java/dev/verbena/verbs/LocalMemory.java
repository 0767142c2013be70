package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;

/**
 * Registered memory of this process that a work request reads or writes: a {@link MemoryRegion} or a part of one
 * ({@code struct ibv_sge}).
 */
public sealed interface LocalMemory permits MemoryRegion, MemorySlice {
    /**
     * The region that it is part of.
     *
     * @return the region; a region answers itself
     */
    MemoryRegion region();

    /**
     * Where it begins.
     *
     * @return the address that work requests name: the one in this process, unless it was registered with another
     */
    long address();

    /**
     * How long it is.
     *
     * @return bytes
     */
    long length();

    /**
     * The memory itself.
     *
     * @return a segment over it
     * @throws UnsupportedOperationException if it is no memory of this process: device memory, a DMA buffer, a region of
     *     another process or one that is no memory at all
     */
    MemorySegment segment();

    /**
     * Fills it as {@code memset} does, and as fast: {@link MemorySegment#fill} takes twice as long and more.
     *
     * @param value what each byte becomes
     * @throws UnsupportedOperationException if it can't be written to: {@linkplain #segment it is no memory}, or read-only
     */
    void fill(byte value);

    /**
     * A part of it.
     *
     * @param offset where the part begins, from the beginning of this
     * @param length how long it is
     * @return the part
     * @throws IndexOutOfBoundsException if it is not within this
     */
    LocalMemory slice(long offset, long length);

    /**
     * The same memory as peers see it: hand it to whoever is to read or write it.
     *
     * @return the address, the remote key and the length
     * @throws UnsupportedOperationException if peers can use none of its kind: a null region, a part of an address space
     */
    RemoteMemory remote();
}
