package dev.verbena.verbs;

import dev.verbena.internal.LockedMemory;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a memory region.
 *
 * @param memory the segment, which also keeps the memory of an automatic arena reachable; null if the memory is not part
 *     of this process
 * @param foreign true if the caller makes sure that the memory outlives the region
 * @param what the kind of memory as text; empty for plain memory
 * @param address the address of the first byte for work requests and peers
 * @param length the length in bytes
 */
record RegionBacking(@Nullable MemorySegment memory, boolean foreign, String what, long address, long length) {
    /** The memory of the null region. */
    static final RegionBacking NOTHING = new RegionBacking(null, false, "nothing", 0, Long.MAX_VALUE);

    static RegionBacking of(MemorySegment memory, boolean foreign, long address) {
        return new RegionBacking(memory, foreign, "", address, memory.byteSize());
    }

    static RegionBacking elsewhere(String what, long address, long length) {
        return new RegionBacking(null, false, what, address, length);
    }

    MemorySegment segment() {
        if (memory == null) {
            throw new UnsupportedOperationException("no segment covers " + this);
        }
        return memory;
    }

    @Override
    public String toString() {
        return LockedMemory.inWords(length) + (what.isEmpty() ? "" : " of " + what) + " at 0x"
                + Long.toHexString(address);
    }
}
