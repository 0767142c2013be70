package dev.verbena.verbs;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Registered memory of this process that a work request reads or writes: a {@link MemoryRegion} or a part of one
 * ({@code struct ibv_sge}). Make a part once, and post it often.
 *
 * <p>The threads that can use the region can use its parts. The memory ends with the region.
 *
 * {@snippet file="ObjectSnippets.java" region="slice"}
 */
public sealed interface LocalMemory permits MemoryRegion, MemorySlice {
    /**
     * Returns the region that this memory is part of.
     *
     * @return the region; a region returns itself
     */
    MemoryRegion region();

    /**
     * Returns the address of the first byte, for work requests.
     *
     * @return the address in this process, or the address chosen when the memory was registered
     */
    long address();

    /**
     * Returns the length of this memory.
     *
     * @return the number of bytes
     */
    long length();

    /**
     * Returns a segment over this memory.
     *
     * @return the segment
     * @throws UnsupportedOperationException if this is no memory of this process: device memory, a DMA buffer, a region
     *     of another process or a null region
     */
    MemorySegment segment();

    /**
     * Fills this memory as fast as {@code memset} does. {@link MemorySegment#fill} takes at least twice as long.
     *
     * @param value the new value of each byte
     * @throws UnsupportedOperationException if this memory has no {@link #segment}, or is read-only
     */
    void fill(byte value);

    /**
     * Returns a part of this memory.
     *
     * @param offset the offset of the part
     * @param length the number of bytes
     * @return the part
     * @throws IndexOutOfBoundsException if the part is not within this memory
     */
    LocalMemory slice(long offset, long length);

    /**
     * Returns an element of this memory, which is an array of elements of one layout.
     *
     * @param element the layout of each element
     * @param index the number of the element, from 0
     * @return the element
     * @throws IndexOutOfBoundsException if the element is not within this memory
     */
    default LocalMemory element(MemoryLayout element, long index) {
        long size = element.byteSize();
        Objects.checkIndex(index, size == 0 ? 0 : length() / size);
        return slice(index * size, size);
    }

    /**
     * Returns this memory as peers see it. Send the result to the peer that will read or write the memory.
     *
     * @return the address, the remote key and the length
     * @throws UnsupportedOperationException if peers can't use such memory: a null region, or a part of an address
     *     space
     */
    RemoteMemory remote();
}
