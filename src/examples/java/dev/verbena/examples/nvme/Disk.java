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
import java.util.Arrays;
import java.util.List;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The contents of a disk: memory of this process, or a mapped file, in extents that are registered for RDMA. A disk grows by
 * further extents, while hosts read and write it. All threads can use a disk.
 */
final class Disk {
    private static final int EXTENT_SHIFT = 26;
    private static final long EXTENT = 1 << EXTENT_SHIFT;

    private final ProtectionDomain domain;
    private final VerbsArena arena;
    private final @Nullable FileChannel file;
    private volatile MemoryRegion[] extents = {};

    /** Makes a disk that the arena closes: of memory, or of a file, which is made as large as the disk. */
    Disk(long size, @Nullable FileChannel file, ProtectionDomain domain, VerbsArena arena) throws IOException {
        this.file = file;
        this.domain = domain;
        this.arena = arena;
        grow(size);
    }

    long size() {
        return extents.length * EXTENT;
    }

    boolean isFile() {
        return file != null;
    }

    void grow(long size) throws IOException {
        if (size <= size() || size % EXTENT != 0) {
            throw new IllegalArgumentException(
                    "size must be a multiple of " + EXTENT + " and more than " + size() + ", got " + size);
        }
        MemoryRegion[] grown = Arrays.copyOf(extents, (int) (size >> EXTENT_SHIFT));
        for (int i = extents.length; i < grown.length; i++) {
            MemorySegment memory = file == null
                    ? arena.allocate(EXTENT, Nvme.PAGE)
                    : file.map(FileChannel.MapMode.READ_WRITE, i * EXTENT, EXTENT, arena);
            grown[i] = domain.register(memory, List.of(AccessFlag.LOCAL_WRITE), arena);
        }
        extents = grown;
    }

    /** Adds a transfer to a batch: an RDMA read of the host's memory into the disk, or an RDMA write from the disk. */
    void transfer(SendBatch batch, long id, boolean toDisk, long offset, RemoteMemory host) {
        int index = (int) (offset >> EXTENT_SHIFT);
        long within = offset % EXTENT;
        long first = Math.min(host.length(), EXTENT - within);
        if (toDisk) {
            batch.read(id, extents[index], within, first, host);
        } else {
            batch.write(id, extents[index], within, first, host).unsignaled();
        }
        if (first < host.length()) {
            batch.and(extents[index + 1].slice(0, host.length() - first));
        }
    }

    void write(long offset, MemorySegment data) {
        each(offset, data.byteSize(), (part, at) -> part.copyFrom(data.asSlice(at, part.byteSize())));
    }

    void zero(long offset, long length) {
        each(offset, length, (part, at) -> part.fill((byte) 0));
    }

    /**
     * Marks the pages of a file that the adapter has written. The kernel sees only what a processor writes, and would not
     * write the pages back to the file.
     */
    void written(long offset, long length) {
        if (isFile()) {
            each(offset, length, (part, at) -> {
                for (long page = 0; page < part.byteSize(); page += Nvme.PAGE) {
                    part.set(ValueLayout.JAVA_BYTE, page, part.get(ValueLayout.JAVA_BYTE, page));
                }
            });
        }
    }

    void flush() {
        if (isFile()) {
            each(0, size(), (part, at) -> part.force());
        }
    }

    /** Hands over a range of the disk, in as many parts as it has extents, and where each part begins in the range. */
    private void each(long offset, long length, ObjLongConsumer<MemorySegment> action) {
        for (long done = 0; done < length; ) {
            long at = offset + done;
            long part = Math.min(length - done, EXTENT - at % EXTENT);
            MemoryRegion extent = extents[(int) (at >> EXTENT_SHIFT)];
            action.accept(extent.segment().asSlice(at % EXTENT, part), done);
            done += part;
        }
    }
}
