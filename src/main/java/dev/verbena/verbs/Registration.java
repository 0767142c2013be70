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
import dev.verbena.internal.failures.Failures;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.DeviceCapability;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Registers memory of each kind. */
final class Registration {
    private static final long WHOLE_ADDRESS_SPACE = -1L; // SIZE_MAX

    private Registration() {}

    static MemoryRegion plain(
            ProtectionDomain domain, MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena) {
        return at(domain, memory, memory.address(), access, arena);
    }

    static MemoryRegion at(
            ProtectionDomain domain,
            MemorySegment memory,
            long address,
            Collection<AccessFlag> access,
            VerbsArena arena) {
        Set<AccessFlag> flags = check(memory, access);
        RegionBacking backing = RegionBacking.of(memory, false, address);
        // A lambda expression that captures a number makes the JDK spin three classes more.
        return MemoryRegion.over(
                arena, backing, flags, domain, () -> register(domain, memory, backing.address(), flags));
    }

    static MemoryRegion foreign(
            ProtectionDomain domain, MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena) {
        Set<AccessFlag> flags = check(memory, access);
        RegionBacking backing = RegionBacking.of(memory, true, memory.address());
        return MemoryRegion.over(
                arena, backing, flags, domain, () -> register(domain, memory, memory.address(), flags));
    }

    /** Registers memory of any kind by {@code ibv_reg_mr_ex}. */
    static MemoryRegion extended(ProtectionDomain domain, RegionOptions options, VerbsArena arena) {
        Set<AccessFlag> flags =
                options.memory() == null ? check(options.access()) : check(options.memory(), options.access());
        List<VerbsObject> others = new ArrayList<>();
        DmaHandle hints = options.hints();
        if (hints != null) {
            QueuePairCreation.checkContext(domain.contextEvenIfClosed(), hints.contextEvenIfClosed(), hints);
            others.add(hints);
        }
        DriverBuffer buffer = options.buffer();
        if (buffer != null) {
            buffer.checkDomain(domain);
            others.add(buffer);
        }
        RegionBacking backing = options.backing();
        String arguments = options.toString();
        return MemoryRegion.over(
                arena,
                backing,
                flags,
                domain,
                () -> {
                    Failures.require(Ibv.REG_MR_EX, arguments);
                    try (Arena scratch = Arena.ofConfined()) {
                        MemorySegment init = options.write(scratch);
                        long region = Ibv.REG_MR_EX.call(domain.address(), init.address());
                        return VerbFailures.pointer(Ibv.REG_MR_EX, region, arguments, hint(options, CFunction.errno()));
                    }
                },
                others.toArray(new VerbsObject[0]));
    }

    private static String hint(RegionOptions options, int errno) {
        return switch (errno) {
            case Errno.ENOMEM, Errno.EAGAIN -> LockedMemory.hint();
            case Errno.EBADF -> "The file descriptor is not open";
            case Errno.EINVAL ->
                options.buffer() != null && options.address().isPresent()
                        ? "A driver's buffer that is a DMA buffer keeps its own address"
                        : "";
            default -> "";
        };
    }

    static MemoryRegion buffer(
            ProtectionDomain domain,
            DriverBuffer buffer,
            long offset,
            long length,
            Collection<AccessFlag> access,
            VerbsArena arena) {
        Set<AccessFlag> flags = check(access);
        checkLength(length);
        buffer.checkDomain(domain);
        RegionBacking backing = buffer.backing(offset, length);
        String arguments = buffer + ", offset " + offset + ", " + length + " bytes, " + flags;
        return MemoryRegion.over(
                arena,
                backing,
                flags,
                domain,
                () -> {
                    long region = Ibv.REG_BUF_MR.call(
                            domain.address(), buffer.address(), backing.address(), length, AccessFlag.bits(flags));
                    return VerbFailures.pointer(
                            Ibv.REG_BUF_MR,
                            region,
                            arguments,
                            CFunction.errno() == Errno.ENOMEM ? LockedMemory.hint() : "");
                },
                buffer);
    }

    /** Registers the whole address space, and returns the {@code struct ibv_mr}. */
    static long addressSpace(ProtectionDomain domain, Set<AccessFlag> flags) {
        return register(domain, 0, WHOLE_ADDRESS_SPACE, 0, flags, "the whole address space, " + flags);
    }

    static MemoryRegion dmaBuf(
            ProtectionDomain domain,
            int descriptor,
            long offset,
            long length,
            long address,
            Collection<AccessFlag> access,
            VerbsArena arena) {
        Set<AccessFlag> flags = check(access);
        checkLength(length);
        Checks.checkAtLeast("file descriptor", descriptor, 0);
        Checks.checkAtLeast("offset", offset, 0);
        RegionBacking backing = RegionBacking.elsewhere("DMA buffer " + descriptor, address, length);
        return MemoryRegion.over(arena, backing, flags, domain, () -> {
            long region = Ibv.REG_DMABUF_MR.call(
                    domain.address(), offset, length, address, descriptor, AccessFlag.bits(flags));
            return VerbFailures.pointer(
                    Ibv.REG_DMABUF_MR,
                    region,
                    backing + ", offset " + offset + ", " + flags,
                    CFunction.errno() == Errno.EBADF ? "The file descriptor is not open" : "");
        });
    }

    static MemoryRegion nothing(ProtectionDomain domain, VerbsArena arena) {
        return MemoryRegion.over(
                arena,
                RegionBacking.NOTHING,
                Set.of(AccessFlag.LOCAL_WRITE),
                domain,
                () -> VerbFailures.pointer(
                        ContextVerb.ALLOC_NULL_MR, domain.contextEvenIfClosed(), domain.toString(), domain.address()));
    }

    static MemoryRegion device(
            ProtectionDomain domain,
            DeviceMemory memory,
            long offset,
            long length,
            Collection<AccessFlag> access,
            VerbsArena arena) {
        Set<AccessFlag> flags = check(access);
        checkLength(length);
        memory.checkRange(offset, length);
        QueuePairCreation.checkContext(domain.contextEvenIfClosed(), memory.contextEvenIfClosed(), memory);
        RegionBacking backing = RegionBacking.elsewhere("device memory", 0, length);
        int bits = AccessFlag.bits(flags) | AccessFlag.ZERO_BASED.bit; // C knows device memory only with this flag
        return MemoryRegion.over(
                arena,
                backing,
                flags,
                domain,
                () -> VerbFailures.pointer(
                        ContextVerb.REG_DM_MR,
                        domain.contextEvenIfClosed(),
                        memory + ", offset " + offset + ", " + length + " bytes, " + flags,
                        domain.address(),
                        memory.address(),
                        offset,
                        length,
                        bits),
                memory);
    }

    static MemoryRegion imported(ProtectionDomain domain, int handle, long address, VerbsArena arena) {
        return MemoryRegion.imported(
                arena,
                domain,
                address,
                () -> VerbFailures.pointer(
                        Ibv.IMPORT_MR, Ibv.IMPORT_MR.call(domain.address(), handle), domain + ", handle " + handle));
    }

    private static long register(ProtectionDomain domain, MemorySegment memory, long address, Set<AccessFlag> flags) {
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
            return VerbFailures.failure(
                    "ibv_reg_mr",
                    errno,
                    arguments,
                    "This device or kernel may not support on-demand paging of the whole address space");
        }
        if (flags.contains(AccessFlag.FLUSH_PERSISTENT) && errno == Errno.EINVAL) {
            return VerbFailures.failure(
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
        return VerbFailures.failure("ibv_reg_mr", errno, arguments, hint);
    }

    /** Returns the first of the flags that the device says it does not have, or null. */
    private static @Nullable AccessFlag missing(ProtectionDomain domain, Set<AccessFlag> flags) {
        DeviceAttributes device;
        try {
            device = domain.contextEvenIfClosed().queries().attributes();
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
            throw new IllegalArgumentException("ZERO_BASED is for memory windows: some drivers ignore it for a region. "
                    + "registerAt(memory, 0, ...) registers memory whose addresses begin at 0 with all drivers");
        }
        return Collections.unmodifiableSet(flags);
    }

    static void checkLength(long length) {
        Checks.checkAtLeast("length of a memory region", length, 1);
    }
}
