package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/** A part of a {@link MemoryRegion}, or all of it: the address, length and key of a {@code struct ibv_sge}. */
final class MemorySlice implements LocalMemory {
    // The data path reads these fields itself, once it has checked that the region is open.
    final MemoryRegion region;
    final long start;
    final long length;
    /** The length and the local key as they stand in a {@code struct ibv_sge}, if the length is less than 4 GiB. */
    final long lengthAndKey;

    private final long offset;

    MemorySlice(MemoryRegion region, long offset, long length) {
        this.region = region;
        this.offset = offset;
        this.length = length;
        this.start = region.startWhenOpen() + offset;
        this.lengthAndKey = WorkBatch.lengthAndKey(length, region.keyWhenOpen());
    }

    /** Returns local memory as a slice, which is what requests name. */
    static MemorySlice of(LocalMemory local) {
        return local instanceof MemorySlice slice ? slice : ((MemoryRegion) local).whole;
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
    public LocalMemory slice(long from, long size) {
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
