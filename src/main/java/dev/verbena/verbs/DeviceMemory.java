package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Checks;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.LockedMemory;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_alloc_dm_attr;
import dev.verbena.internal.raw.ibv_dm;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;

/**
 * Memory of the adapter itself ({@code struct ibv_dm}). Device memory is small, and the adapter reaches it faster than
 * main memory. Register it with
 * {@link RegionOptions#of(DeviceMemory, long, long)}. {@link #read} and {@link #write} copy from and to it.
 *
 * <p>All threads can use device memory of a shared arena; only the arena's thread can use that of a confined arena.
 *
 * {@snippet file="ObjectSnippets.java" region="device-memory"}
 */
public final class DeviceMemory extends ContextObject {
    private final long length;
    private final boolean isImported;

    private DeviceMemory(ObjectLifetime lifetime, Context context, long address, long length, boolean isImported) {
        super(lifetime, context, address);
        this.length = length;
        this.isImported = isImported;
    }

    static DeviceMemory allocate(Context context, long length, long alignment, VerbsArena arena) {
        checkLength(length);
        if (Long.bitCount(alignment) != 1 || alignment < 0) {
            throw new IllegalArgumentException("alignment must be a power of two, got " + alignment);
        }
        return ObjectLifetime.create(arena, List.of(context), (lifetime, scratch) -> {
            MemorySegment wanted = ibv_alloc_dm_attr.allocate(scratch);
            ibv_alloc_dm_attr.length(wanted, length);
            ibv_alloc_dm_attr.log_align_req(wanted, Long.numberOfTrailingZeros(alignment));
            String words = context.name() + ", " + LockedMemory.inWords(length);
            CFunction allocate = context.function(ContextVerb.ALLOC_DM);
            long memory = Calls.pointer(allocate, words, context.address(), wanted.address());
            return new DeviceMemory(lifetime, context, memory, length, false);
        });
    }

    static DeviceMemory imported(Context context, int handle, long length, VerbsArena arena) {
        checkLength(length);
        return ObjectLifetime.create(arena, List.of(context), lifetime -> {
            String words = context.name() + ", handle " + handle;
            long memory = Calls.pointer(Ibv.IMPORT_DM, words, context.address(), handle);
            return new DeviceMemory(lifetime, context, memory, length, true);
        });
    }

    private static void checkLength(long length) {
        Checks.checkAtLeast("length of device memory", length, 1);
    }

    @CName({"ibv_free_dm", "ibv_unimport_dm"})
    @Override
    void destroy() {
        if (isImported) {
            Ibv.UNIMPORT_DM.call(address);
        } else {
            Calls.run(context.function(ContextVerb.FREE_DM), this, address);
        }
    }

    void checkRange(long offset, long size) {
        Objects.checkFromIndexSize(offset, size, length);
    }

    /**
     * Returns the length of this memory.
     *
     * @return the number of bytes
     */
    public long length() {
        lifetime.checkOpen();
        return length;
    }

    /**
     * Returns the kernel's number for this memory ({@code handle}). A process that shares the device can
     * {@linkplain Context#importDeviceMemory import} the memory by it.
     *
     * @return the handle
     */
    public int handle() {
        try (var _ = lifetime.held()) {
            return ibv_dm.handle(struct());
        }
    }

    /**
     * Copies a segment into this memory ({@code ibv_memcpy_to_dm}).
     *
     * @param offset the offset in this memory
     * @param source the segment to copy, of any kind
     * @throws IndexOutOfBoundsException if the segment does not fit
     */
    @CName("ibv_memcpy_to_dm")
    public void write(long offset, MemorySegment source) {
        checkRange(offset, source.byteSize());
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment copy =
                    scratch.allocate(Math.max(1, source.byteSize())).copyFrom(source);
            try (var _ = lifetime.held()) {
                CFunction copier = CFunction.at("ibv_memcpy_to_dm", ibv_dm.memcpy_to_dm(struct()));
                Calls.run(copier, this + ", offset " + offset, address, offset, copy.address(), source.byteSize());
            }
        }
    }

    /**
     * Copies from this memory into a segment ({@code ibv_memcpy_from_dm}).
     *
     * @param offset the offset in this memory
     * @param target the segment to fill, of any kind that is not read-only
     * @throws IllegalArgumentException if the segment is read-only
     * @throws IndexOutOfBoundsException if the segment is longer than the memory behind the offset
     */
    @CName("ibv_memcpy_from_dm")
    public void read(long offset, MemorySegment target) {
        checkRange(offset, target.byteSize());
        if (target.isReadOnly()) {
            throw new IllegalArgumentException("target segment is read-only");
        }
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment copy = scratch.allocate(Math.max(1, target.byteSize()));
            try (var _ = lifetime.held()) {
                CFunction copier = CFunction.at("ibv_memcpy_from_dm", ibv_dm.memcpy_from_dm(struct()));
                Calls.run(copier, this + ", offset " + offset, copy.address(), address, offset, target.byteSize());
            }
            target.copyFrom(copy.asSlice(0, target.byteSize()));
        }
    }

    /**
     * Exports this memory as a DMA buffer for other drivers ({@code ibv_dm_export_dmabuf_fd}).
     *
     * @return a file descriptor, which the caller closes
     * @throws dev.verbena.UnsupportedVerbException if rdma-core is older than 62, or the device does not support the
     *     export
     */
    @CName("ibv_dm_export_dmabuf_fd")
    public int exportDmaBuf() {
        try (var _ = lifetime.held()) {
            Failures.require(Ibv.DM_EXPORT_DMABUF_FD, toString());
            int descriptor = (int) Ibv.DM_EXPORT_DMABUF_FD.call(address);
            if (descriptor < 0) {
                int errno = CFunction.errno();
                throw Failures.failure(
                        Ibv.DM_EXPORT_DMABUF_FD.name(), errno > 0 ? errno : Errno.EOPNOTSUPP, toString(), "");
            }
            return descriptor;
        }
    }

    private MemorySegment struct() {
        return MemorySegment.ofAddress(address).reinterpret(ibv_dm.sizeof());
    }

    /** Returns for example {@code 4 KiB of device memory of mlx5_0}. */
    @Override
    public String toString() {
        return LockedMemory.inWords(length) + " of device memory of " + context.name();
    }
}
