package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.ibv_mr_init_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Options of a memory region ({@code struct ibv_mr_init_attr}). Begin with {@link #of(MemorySegment)}, {@link
 * #of(DriverBuffer, long, long)} or {@link #dmaBuf}. Each option has a method that returns a changed copy.
 * Options never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="region-options"}
 */
public final class RegionOptions extends Options<RegionOptions> {
    private static final int NO_DESCRIPTOR = -1;

    /** The memory to register: a segment, a driver's buffer or the descriptor of a DMA buffer. */
    private record Source(
            @Nullable MemorySegment memory, @Nullable DriverBuffer buffer, int descriptor, long offset, long length) {
        @Override
        public String toString() {
            if (memory != null) {
                return RegionBacking.of(memory, false, memory.address()).toString();
            }
            return (buffer == null ? "DMA buffer " + descriptor : buffer) + ", offset " + offset + ", " + length
                    + " bytes";
        }
    }

    private final Source source;
    private OptionalLong address = OptionalLong.empty();
    private Set<AccessFlag> access = Set.of();
    private @Nullable DmaHandle hints;

    private RegionOptions(Source source) {
        this.source = source;
    }

    /**
     * Returns options for a region of a segment that only this process's requests can read.
     *
     * @param memory a native segment that outlives the registration
     * @return options for {@link ProtectionDomain#register(RegionOptions)}
     */
    public static RegionOptions of(MemorySegment memory) {
        return new RegionOptions(new Source(memory, null, NO_DESCRIPTOR, 0, memory.byteSize())).frozen();
    }

    /**
     * Returns options for a region of a driver's buffer that only this process's requests can read.
     *
     * @param buffer a buffer of the protection domain that registers it
     * @param offset the offset in the buffer at which the region begins
     * @param length the number of bytes
     * @return options for {@link ProtectionDomain#register(RegionOptions)}
     * @throws IndexOutOfBoundsException if the buffer is shorter
     */
    public static RegionOptions of(DriverBuffer buffer, long offset, long length) {
        Registration.checkLength(length);
        Objects.checkFromIndexSize(offset, length, buffer.length());
        return new RegionOptions(new Source(null, buffer, NO_DESCRIPTOR, offset, length)).frozen();
    }

    /**
     * Returns options for a region of another driver's DMA buffer that only this process's requests can read.
     *
     * @param descriptor the file descriptor of the DMA buffer; it can be closed after the registration
     * @param offset the offset in the buffer at which the region begins
     * @param length the number of bytes
     * @return options for {@link ProtectionDomain#register(RegionOptions)}
     */
    public static RegionOptions dmaBuf(int descriptor, long offset, long length) {
        Registration.checkLength(length);
        Checks.checkAtLeast("file descriptor", descriptor, 0);
        Checks.checkAtLeast("offset", offset, 0);
        return new RegionOptions(new Source(null, null, descriptor, offset, length)).frozen();
    }

    @Nullable
    MemorySegment memory() {
        return source.memory;
    }

    @Nullable
    DriverBuffer buffer() {
        return source.buffer;
    }

    OptionalLong address() {
        return address;
    }

    /**
     * Returns a copy with another address of the first byte for work requests and peers ({@code iova}).
     *
     * @param first the address, which has the same offset within a page as the memory; by default the memory's own address,
     *     or the offset in a DMA buffer
     * @return a changed copy
     */
    public RegionOptions address(long first) {
        RegionOptions copy = copy();
        copy.address = OptionalLong.of(first);
        return copy.frozen();
    }

    Set<AccessFlag> access() {
        return access;
    }

    /**
     * Returns a copy with these rights of the adapter and of peers, and no others ({@code access}).
     *
     * @param flags the flags; none by default: the adapter can always read
     * @return a changed copy
     * @throws IllegalArgumentException if peers may write and {@link AccessFlag#LOCAL_WRITE} is missing
     */
    public RegionOptions access(Collection<AccessFlag> flags) {
        RegionOptions copy = copy();
        copy.access = Registration.check(flags);
        return copy.frozen();
    }

    @Nullable
    DmaHandle hints() {
        return hints;
    }

    /**
     * Returns a copy with hints for the bus ({@code dmah}).
     *
     * @param handle the hints; none by default
     * @return a changed copy
     */
    public RegionOptions hints(DmaHandle handle) {
        RegionOptions copy = copy();
        copy.hints = Objects.requireNonNull(handle, "hints");
        return copy.frozen();
    }

    RegionBacking backing() {
        if (source.memory != null) {
            return RegionBacking.of(source.memory, false, address.orElse(source.memory.address()));
        }
        if (source.buffer != null) {
            RegionBacking own = source.buffer.backing(source.offset, source.length);
            return address.isEmpty() ? own : RegionBacking.of(own.segment(), true, address.getAsLong());
        }
        return RegionBacking.elsewhere("DMA buffer " + source.descriptor, address.orElse(source.offset), source.length);
    }

    /** Allocates a {@code struct ibv_mr_init_attr} with these options. */
    MemorySegment write(Arena scratch) {
        MemorySegment init = ibv_mr_init_attr.allocate(scratch);
        RegionBacking backing = backing();
        long mask = 0;
        ibv_mr_init_attr.length(init, source.length);
        ibv_mr_init_attr.access(init, AccessFlag.bits(access));
        if (source.memory == null && source.buffer == null) {
            mask |= rdma_h.IBV_REG_MR_MASK_FD | rdma_h.IBV_REG_MR_MASK_FD_OFFSET;
            ibv_mr_init_attr.fd(init, source.descriptor);
            ibv_mr_init_attr.fd_offset(init, source.offset);
        } else {
            mask |= rdma_h.IBV_REG_MR_MASK_ADDR;
            ibv_mr_init_attr.addr(init, backing.segment());
        }
        if (source.buffer != null) {
            mask |= rdma_h.IBV_REG_MR_MASK_BUF;
            ibv_mr_init_attr.buf(init, MemorySegment.ofAddress(source.buffer.address()));
        }
        if (source.buffer == null || address.isPresent()) { // C derives the address of a driver's buffer
            mask |= rdma_h.IBV_REG_MR_MASK_IOVA;
            ibv_mr_init_attr.iova(init, backing.address());
        }
        if (hints != null) {
            mask |= rdma_h.IBV_REG_MR_MASK_DMAH;
            ibv_mr_init_attr.dmah(init, MemorySegment.ofAddress(hints.address()));
        }
        ibv_mr_init_attr.comp_mask(init, mask);
        return init;
    }

    @Override
    protected List<Option> options() {
        return List.of(
                option("memory", source, null),
                option("as", address.isEmpty() ? "itself" : "0x" + Long.toHexString(address.getAsLong()), "itself"),
                option("access", access, null),
                option("hints", hints, null));
    }
}
