package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.Checks;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.LockedMemory;
import dev.verbena.internal.Memory;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * Memory that the device's driver has allocated for its adapter ({@code struct ibv_buf}). In a confidential virtual machine
 * this can be memory that the adapter reaches without bounce buffers; elsewhere it is plain memory. Register it with
 * {@link RegionOptions#of(DriverBuffer, long, long)}.
 *
 * <p>A buffer can't be closed while a memory region uses it. Once it is closed, its segment can't be accessed.
 *
 * <p>All threads can use a buffer of a shared arena; only the arena's thread can use one of a confined arena.
 *
 * {@snippet file="ObjectSnippets.java" region="driver-buffer"}
 */
public final class DriverBuffer extends ContextObject {
    private final ProtectionDomain domain;

    private final BorrowedMemory access;
    private final MemorySegment segment;

    private DriverBuffer(
            ObjectLifetime lifetime,
            ProtectionDomain domain,
            long address,
            BorrowedMemory access,
            MemorySegment segment) {
        super(lifetime, domain.context, address);
        this.domain = domain;
        this.access = access;
        this.segment = segment;
    }

    static DriverBuffer allocate(ProtectionDomain domain, long length, VerbsArena arena) {
        Checks.checkAtLeast("length of a buffer", length, 1);
        String arguments = domain + ", " + LockedMemory.inWords(length);
        return ObjectLifetime.create(arena, List.of(domain), (lifetime, scratch) -> {
            BorrowedMemory access = new BorrowedMemory(lifetime);
            MemorySegment handle = scratch.allocate(ValueLayout.JAVA_LONG);
            long start = Calls.pointer(Ibv.ALLOC_BUF, arguments, domain.address(), length, handle.address());
            long buffer = handle.get(ValueLayout.JAVA_LONG, 0);
            lifetime.destroyedBy(() -> Ibv.FREE_BUF.call(buffer));
            Memory.fill(start, length, (byte) 0); // as the JDK's arenas do
            return new DriverBuffer(lifetime, domain, buffer, access, access.segment(start, length));
        });
    }

    /** Ends the access of all threads to the segment, and frees the memory. */
    @CName("ibv_free_buf")
    @Override
    void destroy() {
        access.end();
        Ibv.FREE_BUF.call(address);
    }

    void checkDomain(ProtectionDomain wanted) {
        if (wanted != domain) {
            throw new IllegalArgumentException(
                    this + " can only be registered in the domain that allocated it, " + domain + ", not in " + wanted);
        }
    }

    RegionBacking backing(long offset, long length) {
        lifetime.checkOpen();
        MemorySegment part = segment.asSlice(offset, length);
        return RegionBacking.of(part, true, part.address()); // a region depends on its buffer, so the buffer stays
    }

    /**
     * Returns this memory as a segment, at the beginning of a page. Only this buffer's methods for regions register it
     * safely: other methods refuse the segment, because it can be freed.
     *
     * @return the segment, which can be accessed until this buffer is closed
     */
    public MemorySegment segment() {
        lifetime.checkOpen();
        return segment;
    }

    /**
     * Returns the length of this buffer.
     *
     * @return the number of bytes
     */
    public long length() {
        lifetime.checkOpen();
        return segment.byteSize();
    }

    /**
     * Returns the protection domain that allocated this buffer, the only one that can register it.
     *
     * @return the protection domain
     */
    public ProtectionDomain domain() {
        lifetime.checkOpen();
        return domain;
    }

    /**
     * Exports this memory as a DMA buffer for other drivers ({@code ibv_export_buf_dmabuf_fd}).
     *
     * @return a file descriptor, which the caller closes
     * @throws dev.verbena.UnsupportedVerbException if rdma-core is older than 65
     * @throws dev.verbena.VerbsException if this is plain memory, which is not a DMA buffer ({@code ENODATA})
     */
    @CName("ibv_export_buf_dmabuf_fd")
    public int exportDmaBuf() {
        try (var _ = lifetime.held()) {
            return Calls.number(
                    Ibv.EXPORT_BUF_DMABUF_FD,
                    this,
                    errno -> errno == Errno.ENODATA
                            ? "The driver allocated plain memory, which is not a DMA buffer"
                            : "",
                    address);
        }
    }

    /** Returns for example {@code 4 KiB of memory by the driver of mlx5_0}. */
    @Override
    public String toString() {
        return LockedMemory.inWords(segment.byteSize()) + " of memory by the driver of " + domain.context.name();
    }
}
