package dev.verbena.verbs;

import dev.verbena.internal.LockedMemory;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * What a memory region is made of.
 *
 * @param memory the segment, which also keeps the memory of an automatic arena reachable; null when it is no memory of
 *     this process
 * @param foreign whether it is the caller who makes sure that the memory outlives the region
 * @param what in words; empty for plain memory
 * @param address where work requests and peers find its first byte
 * @param length in bytes
 */
record RegionBacking(@Nullable MemorySegment memory, boolean foreign, String what, long address, long length) {
    /** What the null region is made of. */
    static final RegionBacking NOTHING = new RegionBacking(null, false, "nothing", 0, Long.MAX_VALUE);

    static RegionBacking of(MemorySegment memory, boolean foreign, long address) {
        return new RegionBacking(memory, foreign, "", address, memory.byteSize());
    }

    static RegionBacking elsewhere(String what, long address, long length) {
        return new RegionBacking(null, false, what, address, length);
    }

    MemorySegment segment() {
        if (memory == null) {
            throw new UnsupportedOperationException("There is no segment over " + this);
        }
        return memory;
    }

    @Override
    public String toString() {
        return LockedMemory.inWords(length) + (what.isEmpty() ? "" : " of " + what) + " at 0x"
                + Long.toHexString(address);
    }
}
