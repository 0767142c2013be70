package dev.verbena.verbs;

import dev.verbena.VerbsArena;
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
 * Options of a memory region ({@code struct ibv_mr_init_attr}). Begin with the method for the kind of memory: {@link
 * #of(MemorySegment)}, {@link #foreign}, {@link #of(DriverBuffer, long, long)}, {@link #of(DeviceMemory, long, long)} or
 * {@link #dmaBuf}. Each option has a method that returns a changed copy. Options never change, so all threads can use
 * them.
 *
 * {@snippet file="ObjectSnippets.java" region="region-options"}
 */
public final class RegionOptions extends Options<RegionOptions> {
    /** The address of the first byte for work requests and peers; null for the memory's own address. */
    private record Start(@Nullable Long address) {
        @Override
        public String toString() {
            return address == null ? "itself" : "0x" + Long.toHexString(address);
        }
    }

    private static final Keys<RegionOptions> KEYS = new Keys<>();
    private static final Key<RegionOptions, @Nullable RegionSource> SOURCE = KEYS.always("memory", null);
    private static final Key<RegionOptions, Start> ADDRESS = KEYS.key("as", new Start(null));
    static final Key<RegionOptions, Set<AccessFlag>> ACCESS = KEYS.always("access", Set.of());
    static final Key<RegionOptions, @Nullable DmaHandle> HINTS = KEYS.key("hints", null);

    private RegionOptions() {
        super(KEYS);
    }

    private static RegionOptions of(RegionSource source) {
        return new RegionOptions().with(SOURCE, source);
    }

    /**
     * Returns options for a region of a segment that only this process's requests can read.
     *
     * @param memory a native segment that outlives the registration
     * @return options for {@link ProtectionDomain#register(RegionOptions)}
     */
    public static RegionOptions of(MemorySegment memory) {
        return of(new Registration.Segment(memory, false, null));
    }

    /**
     * Returns options for a region of memory that this library can't keep from being freed: of a closable arena of the JDK, or
     * of a buffer that another library frees by hand. The caller makes sure that the memory is freed after the region is
     * closed. Otherwise the adapter writes into memory that others use by then.
     *
     * @param memory a native segment, not empty
     * @return options for {@link ProtectionDomain#register(RegionOptions)}
     */
    public static RegionOptions foreign(MemorySegment memory) {
        return of(new Registration.Segment(memory, true, null));
    }

    /**
     * Returns options for a region of memory that its owner frees, for example a buffer of Netty or of Arrow. The region closes
     * the owner when it is closed itself, once the adapter does not use the memory any more. For a direct buffer of Netty that
     * is {@code RegionOptions.foreign(MemorySegment.ofBuffer(buffer.nioBuffer()), buffer::release)}.
     *
     * <p>Register these options once, and take a reference that is the region's own: nobody else may free the memory. If the
     * registration fails, the owner is not closed. What the owner throws is thrown by the close of the region, which stays
     * closed then.
     *
     * @param memory a native segment, not empty
     * @param owner frees the memory, in the thread that closes the region. It returns soon, and closes no arena of verbs
     * @return options for {@link ProtectionDomain#register(RegionOptions)}
     * @throws IllegalArgumentException if the owner is a {@link VerbsArena}, whose memory needs no owner
     */
    public static RegionOptions foreign(MemorySegment memory, AutoCloseable owner) {
        if (Objects.requireNonNull(owner, "owner") instanceof VerbsArena) {
            throw new IllegalArgumentException(
                    "owner must not be a VerbsArena, which waits for the region itself: use RegionOptions.of(memory)");
        }
        return of(new Registration.Segment(memory, true, owner));
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
        return of(new Registration.Buffer(buffer, offset, length));
    }

    /**
     * Returns options for a region of device memory that only this process's requests can read. The first byte has the
     * address 0, and the region has no {@link MemoryRegion#segment}. Neither an address nor hints can be chosen.
     *
     * @param memory device memory of the context that registers it
     * @param offset the offset in the device memory at which the region begins
     * @param length the number of bytes
     * @return options for {@link ProtectionDomain#register(RegionOptions)}
     */
    public static RegionOptions of(DeviceMemory memory, long offset, long length) {
        Registration.checkLength(length);
        return of(new Registration.Device(memory, offset, length));
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
        return of(new Registration.DmaBuf(descriptor, offset, length));
    }

    RegionSource source() {
        return Objects.requireNonNull(SOURCE.of(this));
    }

    /** Returns the owner of the memory, which the region closes; null if there is none. */
    @Nullable
    AutoCloseable owner() {
        return source() instanceof Registration.Segment part ? part.owner() : null;
    }

    /** Returns the segment. Throws if the memory is of another kind, or has an address or hints of its own. */
    Registration.Segment plainMemory() {
        if (source() instanceof Registration.Segment part && address().isEmpty() && HINTS.of(this) == null) {
            return part;
        }
        throw new IllegalArgumentException(
                "a node registers RegionOptions.of(memory) or foreign(memory), without address and hints, got " + this);
    }

    OptionalLong address() {
        Long address = ADDRESS.of(this).address;
        return address == null ? OptionalLong.empty() : OptionalLong.of(address);
    }

    /**
     * Returns a copy with another address of the first byte for work requests and peers ({@code iova}).
     * {@link MemoryRegion#address} and {@link MemoryRegion#remote} then return this address; 0 makes all addresses offsets.
     *
     * @param first the address, which has the same offset within a page as the memory; by default the memory's own address,
     *     or the offset in a DMA buffer
     * @return a changed copy
     */
    public RegionOptions address(long first) {
        return with(ADDRESS, new Start(first));
    }

    /**
     * Returns a copy with these rights of the adapter and of peers, and no others ({@code access}).
     *
     * @param flags the flags; none by default: the adapter can always read
     * @return a changed copy
     * @throws IllegalArgumentException if peers may write and {@link AccessFlag#LOCAL_WRITE} is missing
     */
    public RegionOptions access(Collection<AccessFlag> flags) {
        return with(ACCESS, Registration.check(flags));
    }

    /**
     * Returns a copy with these rights of the adapter and of peers, and no others ({@code access}).
     *
     * @param flags the flags; none by default: the adapter can always read
     * @return a changed copy
     * @throws IllegalArgumentException if peers may write and {@link AccessFlag#LOCAL_WRITE} is missing
     */
    public RegionOptions access(AccessFlag... flags) {
        return access(List.of(flags));
    }

    /**
     * Returns a copy with hints for the bus ({@code dmah}). Registering then needs rdma-core 59.
     *
     * @param handle the hints; none by default
     * @return a changed copy
     */
    public RegionOptions hints(DmaHandle handle) {
        return with(HINTS, Objects.requireNonNull(handle, "hints"));
    }

    RegionBacking backing() {
        return source().backing(address());
    }

    /** Returns true if only the function that knows all options, of rdma-core 59, can register the memory with these. */
    boolean needsExtended() {
        return HINTS.of(this) != null || (source().keepsAddress() && address().isPresent());
    }

    /** Allocates a {@code struct ibv_mr_init_attr} with these options. C does not describe device memory by it. */
    MemorySegment write(Arena scratch) {
        MemorySegment init = ibv_mr_init_attr.allocate(scratch);
        RegionBacking backing = backing();
        ibv_mr_init_attr.length(init, backing.length());
        ibv_mr_init_attr.access(init, AccessFlag.bits(ACCESS.of(this)));
        InitAttributes attributes = new InitAttributes(init)
                .optional(rdma_h.IBV_REG_MR_MASK_DMAH, ibv_mr_init_attr.dmah$offset(), HINTS.of(this));
        source().write(init, attributes, backing);
        if (!source().keepsAddress() || address().isPresent()) { // C derives the address of a driver's buffer
            ibv_mr_init_attr.iova(init, backing.address());
            attributes.has(rdma_h.IBV_REG_MR_MASK_IOVA);
        }
        ibv_mr_init_attr.comp_mask(init, attributes.mask());
        return init;
    }
}
