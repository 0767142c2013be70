package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * A part of a {@link MemoryRegion}. Make a slice once, and post it often. The threads that can use the region can use
 * the slice, which ends with the region.
 */
public final class MemorySlice implements LocalMemory {
    private final MemoryRegion region;
    private final long offset;
    private final long length;
    private final long start;

    MemorySlice(MemoryRegion region, long offset, long length) {
        this.region = region;
        this.offset = offset;
        this.length = length;
        this.start = region.startWhenOpen() + offset;
    }

    /** Returns the address, for a caller that has just checked that the region is open. */
    long startWhenOpen() {
        return start;
    }

    @Override
    public MemoryRegion region() {
        return region;
    }

    @Override
    public long address() {
        return region.address() + offset;
    }

    @Override
    public long length() {
        return length;
    }

    @Override
    public MemorySegment segment() {
        return region.segment().asSlice(offset, length);
    }

    @Override
    public void fill(byte value) {
        region.fill(offset, length, value);
    }

    @Override
    public MemorySlice slice(long from, long size) {
        Objects.checkFromIndexSize(from, size, length);
        return new MemorySlice(region, offset + from, size);
    }

    @Override
    public RemoteMemory remote() {
        return region.remote().slice(offset, length);
    }

    @Override
    public String toString() {
        return "bytes " + offset + " to " + (offset + length) + " of " + region;
    }
}
