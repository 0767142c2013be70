package dev.verbena.verbs;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Checks;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.LockedMemory;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.raw.ibv_mr_init_attr;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.DeviceCapability;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Registers memory of each kind. */
final class Registration {
    private static final long WHOLE_ADDRESS_SPACE = -1L; // SIZE_MAX

    private Registration() {}

    /** Registers memory by the function that all releases of rdma-core have. */
    static MemoryRegion plain(
            ProtectionDomain domain, MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena) {
        Set<AccessFlag> flags = check(memory, access);
        RegionBacking backing = RegionBacking.of(memory, false, memory.address());
        return MemoryRegion.over(
                arena, backing, flags, domain, () -> register(domain, memory, memory.address(), flags));
    }

    /** Registers memory of any kind, whose owner the region closes if there is one. */
    static MemoryRegion owned(ProtectionDomain domain, RegionOptions options, VerbsArena arena) {
        MemoryRegion made = with(domain, options, arena);
        made.closesOwner(options.owner());
        return made;
    }

    /** Registers memory of any kind, by the oldest function that knows its kind and its options. */
    static MemoryRegion with(ProtectionDomain domain, RegionOptions options, VerbsArena arena) {
        RegionSource source = options.source();
        Set<AccessFlag> flags = source.check(RegionOptions.ACCESS.of(options));
        List<VerbsObject> others = new ArrayList<>();
        DmaHandle hints = RegionOptions.HINTS.of(options);
        if (hints != null) {
            hints.checkIn(domain.context, QueuePairCreation.DOMAIN);
            others.add(hints);
        }
        VerbsObject keeper = source.checkIn(domain, options);
        if (keeper != null) {
            others.add(keeper);
        }
        RegionBacking backing = options.backing();
        String arguments = options.toString();
        return MemoryRegion.over(
                arena,
                backing,
                flags,
                domain,
                () -> options.needsExtended()
                        ? extended(domain, options, arguments)
                        : source.register(domain, backing, flags),
                others.toArray(new VerbsObject[0]));
    }

    private static long extended(ProtectionDomain domain, RegionOptions options, String arguments) {
        try (Arena scratch = Arena.ofConfined()) {
            long init = options.write(scratch).address();
            return Calls.pointer(Ibv.REG_MR_EX, arguments, errno -> hint(options, errno), domain.address(), init);
        }
    }

    private static String hint(RegionOptions options, int errno) {
        return switch (errno) {
            case Errno.ENOMEM, Errno.EAGAIN -> LockedMemory.hint();
            case Errno.EBADF -> "The file descriptor is not open";
            case Errno.EINVAL ->
                options.source().keepsAddress() && options.address().isPresent()
                        ? "A driver's buffer that is a DMA buffer keeps its own address"
                        : "";
            default -> "";
        };
    }

    /** Registers the whole address space, and returns the {@code struct ibv_mr}. */
    static long addressSpace(ProtectionDomain domain, Set<AccessFlag> flags) {
        return register(domain, 0, WHOLE_ADDRESS_SPACE, 0, flags, "the whole address space, " + flags);
    }

    static MemoryRegion nothing(ProtectionDomain domain, VerbsArena arena) {
        return MemoryRegion.over(
                arena,
                RegionBacking.NOTHING,
                Set.of(AccessFlag.LOCAL_WRITE),
                domain,
                () -> Calls.pointer(domain.context.function(ContextVerb.ALLOC_NULL_MR), domain, domain.address()));
    }

    static MemoryRegion imported(ProtectionDomain domain, int handle, long address, VerbsArena arena) {
        return MemoryRegion.imported(
                arena,
                domain,
                address,
                () -> Calls.pointer(Ibv.IMPORT_MR, domain + ", handle " + handle, domain.address(), handle));
    }

    /** Registers a segment, and returns the {@code struct ibv_mr}. */
    static long register(ProtectionDomain domain, MemorySegment memory, long address, Set<AccessFlag> flags) {
        String arguments = LockedMemory.inWords(memory.byteSize()) + " at 0x" + Long.toHexString(memory.address())
                + (address == memory.address() ? "" : " as 0x" + Long.toHexString(address)) + ", " + flags;
        return register(domain, memory.address(), memory.byteSize(), address, flags, arguments);
    }

    private static long register(
            ProtectionDomain domain, long start, long length, long address, Set<AccessFlag> flags, String arguments) {
        long region = Ibv.REG_MR_IOVA2.call(domain.address(), start, length, address, AccessFlag.bits(flags));
        if (region == 0) {
            throw refused(domain, CFunction.errno(), start, address, flags, arguments);
        }
        return region;
    }

    private static VerbsException refused(
            ProtectionDomain domain, int errno, long start, long address, Set<AccessFlag> flags, String arguments) {
        if (errno == Errno.EINVAL || Errno.meansUnsupported(errno)) {
            AccessFlag missing = missing(domain, flags);
            if (missing != null) {
                return new UnsupportedVerbException(
                        "ibv_reg_mr",
                        arguments,
                        errno,
                        "This device or kernel does not support "
                                + (missing == AccessFlag.ON_DEMAND ? "on-demand paging (ON_DEMAND)" : missing)
                                + ": register memory without it");
            }
        }
        if (flags.contains(AccessFlag.ON_DEMAND) && (errno == Errno.EINVAL || Errno.meansUnsupported(errno))) {
            return Failures.failure(
                    "ibv_reg_mr",
                    errno,
                    arguments,
                    "This device or kernel may not support on-demand paging of the whole address space");
        }
        if (flags.contains(AccessFlag.FLUSH_PERSISTENT) && errno == Errno.EINVAL) {
            return Failures.failure(
                    "ibv_reg_mr",
                    errno,
                    arguments,
                    "FLUSH_PERSISTENT needs persistent memory, such as a file mapped from a DAX file system");
        }
        String hint = switch (errno) {
            case Errno.ENOMEM, Errno.EAGAIN -> LockedMemory.hint();
            case Errno.EFAULT ->
                "The memory is not mapped, or it is mapped read-only and the access flags include writing. Linux "
                        + "before 6.2 refuses all files that are mapped READ_ONLY: map them PRIVATE";
            case Errno.EINVAL ->
                start != address
                        ? "Both addresses must have the same offset within their pages: align the memory to a "
                                + "page, most often 4096 bytes, to register it at 0"
                        : "This device or kernel does not support one of these access flags";
            default -> "";
        };
        return Failures.failure("ibv_reg_mr", errno, arguments, hint);
    }

    /** Returns the first of the flags that the device says it does not have, or null. */
    private static @Nullable AccessFlag missing(ProtectionDomain domain, Set<AccessFlag> flags) {
        DeviceAttributes device;
        try {
            device = domain.context.queries().attributes();
        } catch (VerbsException gone) {
            return null; // the registration's own failure is the one to report
        }
        Set<DeviceCapability> capabilities = device.capabilities();
        for (AccessFlag flag : flags) {
            boolean has = switch (flag) {
                case ON_DEMAND -> device.onDemandPaging().isSupported();
                case FLUSH_GLOBAL -> capabilities.contains(DeviceCapability.FLUSH_GLOBAL);
                case FLUSH_PERSISTENT -> capabilities.contains(DeviceCapability.FLUSH_PERSISTENT);
                default -> true;
            };
            if (!has) {
                return flag;
            }
        }
        return null;
    }

    /** Checks memory and rights, which C does not check or answers with a bare number. */
    static Set<AccessFlag> check(MemorySegment memory, Collection<AccessFlag> access) {
        Set<AccessFlag> flags = check(access);
        if (memory.byteSize() == 0) {
            throw new IllegalArgumentException("an empty segment can't be registered");
        }
        if (memory.isReadOnly() && flags.contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException("a read-only segment can't be registered with LOCAL_WRITE");
        }
        return flags;
    }

    static Set<AccessFlag> check(Collection<AccessFlag> access) {
        Set<AccessFlag> flags = EnumSet.noneOf(AccessFlag.class);
        flags.addAll(access);
        if (!flags.contains(AccessFlag.LOCAL_WRITE)
                && (flags.contains(AccessFlag.REMOTE_WRITE) || flags.contains(AccessFlag.REMOTE_ATOMIC))) {
            throw new IllegalArgumentException("REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE as well, got " + flags);
        }
        if (flags.contains(AccessFlag.ZERO_BASED)) {
            throw new IllegalArgumentException(
                    "ZERO_BASED is for memory windows: some drivers ignore it for a region. "
                            + "RegionOptions.of(memory).address(0) registers memory whose addresses begin at 0 with all drivers");
        }
        return Collections.unmodifiableSet(flags);
    }

    static void checkLength(long length) {
        Checks.checkAtLeast("length of a memory region", length, 1);
    }

    /**
     * A segment.
     *
     * @param foreign true if the caller makes sure that the memory outlives the region
     * @param owner frees the memory, and is closed with the region; null if the caller frees it
     */
    record Segment(
            MemorySegment memory, boolean foreign, @Nullable AutoCloseable owner) implements RegionSource {
        @Override
        public Set<AccessFlag> check(Collection<AccessFlag> access) {
            return Registration.check(memory, access);
        }

        @Override
        public RegionBacking backing(OptionalLong address) {
            return RegionBacking.of(memory, foreign, address.orElse(memory.address()));
        }

        @Override
        public long register(ProtectionDomain domain, RegionBacking backing, Set<AccessFlag> flags) {
            return Registration.register(domain, memory, backing.address(), flags);
        }

        @Override
        public String toString() {
            return RegionBacking.of(memory, foreign, memory.address()).toString();
        }
    }

    /** A part of a driver's buffer. */
    record Buffer(DriverBuffer buffer, long offset, long length) implements RegionSource {
        @Override
        public VerbsObject checkIn(ProtectionDomain domain, RegionOptions options) {
            buffer.checkDomain(domain);
            return buffer;
        }

        @Override
        public RegionBacking backing(OptionalLong address) {
            RegionBacking own = buffer.backing(offset, length);
            return address.isEmpty() ? own : RegionBacking.of(own.segment(), true, address.getAsLong());
        }

        @Override
        public boolean keepsAddress() {
            return true;
        }

        @Override
        public long register(ProtectionDomain domain, RegionBacking backing, Set<AccessFlag> flags) {
            return Calls.pointer(
                    Ibv.REG_BUF_MR,
                    this + ", " + flags,
                    errno -> errno == Errno.ENOMEM ? LockedMemory.hint() : "",
                    domain.address(),
                    buffer.address(),
                    backing.address(),
                    length,
                    AccessFlag.bits(flags));
        }

        @Override
        public void write(MemorySegment init, InitAttributes attributes, RegionBacking backing) {
            RegionSource.super.write(init, attributes, backing);
            attributes.pointer(ibv_mr_init_attr.buf$offset(), buffer.address()).has(rdma_h.IBV_REG_MR_MASK_BUF);
        }

        @Override
        public String toString() {
            return buffer + ", offset " + offset + ", " + length + " bytes";
        }
    }

    /** A part of device memory, whose first byte has the address 0. */
    record Device(DeviceMemory memory, long offset, long length) implements RegionSource {
        @Override
        public VerbsObject checkIn(ProtectionDomain domain, RegionOptions options) {
            if (RegionOptions.HINTS.of(options) != null || options.address().isPresent()) {
                throw new IllegalArgumentException(
                        "device memory begins at the address 0 and takes no hints, got " + options);
            }
            memory.checkRange(offset, length);
            memory.checkIn(domain.context, QueuePairCreation.DOMAIN);
            return memory;
        }

        @Override
        public RegionBacking backing(OptionalLong address) {
            return RegionBacking.elsewhere("device memory", 0, length);
        }

        @Override
        public long register(ProtectionDomain domain, RegionBacking backing, Set<AccessFlag> flags) {
            return Calls.pointer(
                    domain.context.function(ContextVerb.REG_DM_MR),
                    this + ", " + flags,
                    domain.address(),
                    memory.address(),
                    offset,
                    length,
                    AccessFlag.bits(flags) | AccessFlag.ZERO_BASED.bit); // C knows device memory only with this flag
        }

        @Override
        public String toString() {
            return memory + ", offset " + offset + ", " + length + " bytes";
        }
    }

    /** A part of another driver's DMA buffer. */
    record DmaBuf(int descriptor, long offset, long length) implements RegionSource {
        @Override
        public RegionBacking backing(OptionalLong address) {
            return RegionBacking.elsewhere("DMA buffer " + descriptor, address.orElse(offset), length);
        }

        @Override
        public long register(ProtectionDomain domain, RegionBacking backing, Set<AccessFlag> flags) {
            return Calls.pointer(
                    Ibv.REG_DMABUF_MR,
                    backing + ", offset " + offset + ", " + flags,
                    errno -> errno == Errno.EBADF ? "The file descriptor is not open" : "",
                    domain.address(),
                    offset,
                    length,
                    backing.address(),
                    descriptor,
                    AccessFlag.bits(flags));
        }

        @Override
        public void write(MemorySegment init, InitAttributes attributes, RegionBacking backing) {
            ibv_mr_init_attr.fd(init, descriptor);
            ibv_mr_init_attr.fd_offset(init, offset);
            attributes.has(rdma_h.IBV_REG_MR_MASK_FD | rdma_h.IBV_REG_MR_MASK_FD_OFFSET);
        }

        @Override
        public String toString() {
            return "DMA buffer " + descriptor + ", offset " + offset + ", " + length + " bytes";
        }
    }
}
