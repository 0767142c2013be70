package dev.verbena.examples.nvme;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.util.List;

/**
 * The contents of a disk: a mapped file, which may be one in memory, registered for RDMA. A disk that grows is mapped and
 * registered anew, while commands under way still use the region before. All threads can use a disk.
 */
final class Disk {
    private final FileChannel file;
    private final ProtectionDomain domain;
    private final VerbsArena arena;
    private volatile MemoryRegion region;

    /** Makes a disk that the arena closes. The file becomes as large as the disk. */
    Disk(long size, FileChannel file, ProtectionDomain domain, VerbsArena arena) throws IOException {
        this.file = file;
        this.domain = domain;
        this.arena = arena;
        region = map(size);
    }

    private MemoryRegion map(long size) throws IOException {
        MemorySegment contents = file.map(FileChannel.MapMode.READ_WRITE, 0, size & -Nvme.PAGE, arena);
        return domain.register(contents, List.of(AccessFlag.LOCAL_WRITE), arena);
    }

    long size() {
        return region.length();
    }

    void grow(long size) throws IOException {
        if (size < size() + Nvme.PAGE) {
            throw new IllegalArgumentException("size must be more than " + size() + ", got " + size);
        }
        region = map(size);
    }

    /** Adds a transfer to a batch: an RDMA read of the host's memory into the disk, or an RDMA write from the disk. */
    void transfer(SendBatch batch, long id, boolean toDisk, long offset, RemoteMemory host) {
        if (toDisk) {
            batch.read(id, region, offset, host.length(), host);
        } else {
            batch.write(id, region, offset, host.length(), host).unsignaled();
        }
    }

    MemorySegment part(long offset, long length) {
        return region.segment().asSlice(offset, length);
    }

    /**
     * Marks the pages that the adapter has written. The kernel sees only what a processor writes, and would not write the
     * pages back to the file.
     */
    void written(long offset, long length) {
        MemorySegment part = part(offset, length);
        for (long page = 0; page < length; page += Nvme.PAGE) {
            part.set(ValueLayout.JAVA_BYTE, page, part.get(ValueLayout.JAVA_BYTE, page));
        }
    }

    void flush() {
        region.segment().force();
    }
}
