package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Checks;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.LockedMemory;
import dev.verbena.internal.NewerStructs;
import dev.verbena.internal.failures.Failures;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** How memory of each kind is registered. */
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
        return MemoryRegion.over(arena, backing, flags, domain, () -> register(domain, memory, address, flags));
    }

    static MemoryRegion foreign(
            ProtectionDomain domain, MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena) {
        Set<AccessFlag> flags = check(memory, access);
        RegionBacking backing = RegionBacking.of(memory, true, memory.address());
        return MemoryRegion.over(
                arena, backing, flags, domain, () -> register(domain, memory, memory.address(), flags));
    }

    static MemoryRegion hinted(
            ProtectionDomain domain,
            MemorySegment memory,
            Collection<AccessFlag> access,
            DmaHandle handle,
            VerbsArena arena) {
        Set<AccessFlag> flags = check(memory, access);
        RegionBacking backing = RegionBacking.of(memory, false, memory.address());
        String arguments = backing + ", " + flags + ", " + handle;
        return MemoryRegion.over(
                arena,
                backing,
                flags,
                domain,
                () -> {
                    Failures.require(Ibv.REG_MR_EX, arguments);
                    try (Arena scratch = Arena.ofConfined()) {
                        MemorySegment init = NewerStructs.registration(
                                scratch, memory.address(), memory.byteSize(), NativeFlag.bits(flags), handle.address());
                        return VerbFailures.pointer(
                                Ibv.REG_MR_EX, Ibv.REG_MR_EX.call(domain.address(), init.address()), arguments);
                    }
                },
                handle);
    }

    /** The memory region structure of the whole address space. */
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
                    domain.address(), offset, length, address, descriptor, NativeFlag.bits(flags));
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
        RegionBacking backing = RegionBacking.elsewhere("device memory", 0, length);
        int bits = NativeFlag.bits(flags) | AccessFlag.ZERO_BASED.bit(); // it knows no other way, and asks to be told
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
        long region = Ibv.REG_MR_IOVA2.call(domain.address(), start, length, address, NativeFlag.bits(flags));
        if (region == 0) {
            throw refused(CFunction.errno(), start, address, flags, arguments);
        }
        return region;
    }

    private static VerbsException refused(
            int errno, long start, long address, Set<AccessFlag> flags, String arguments) {
        if (flags.contains(AccessFlag.ON_DEMAND) && (errno == Errno.EINVAL || Errno.meansUnsupported(errno))) {
            return VerbFailures.failure(
                    "ibv_reg_mr",
                    errno,
                    arguments,
                    "This device or kernel may have no on-demand paging, or not for the whole address space");
        }
        String hint = switch (errno) {
            case Errno.ENOMEM, Errno.EAGAIN -> LockedMemory.hint();
            case Errno.EFAULT ->
                "The memory is not mapped, or mapped read-only and to be written to. Linux before 6.2 "
                        + "refuses all files that are mapped READ_ONLY: map them PRIVATE";
            case Errno.EINVAL ->
                start != address
                        ? "Both addresses must have the same offset within their pages: align the memory to 4096 "
                                + "(or what the page size is) to register it at 0"
                        : "This device or kernel does not take one of these access flags";
            default -> "";
        };
        return VerbFailures.failure("ibv_reg_mr", errno, arguments, hint);
    }

    /** What C would refuse with a bare number, or take and regret. */
    static Set<AccessFlag> check(MemorySegment memory, Collection<AccessFlag> access) {
        Set<AccessFlag> flags = check(access);
        if (memory.byteSize() == 0) {
            throw new IllegalArgumentException("An empty segment can't be registered");
        }
        if (memory.isReadOnly() && flags.contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException("The segment is read-only: it can't be registered with LOCAL_WRITE");
        }
        return flags;
    }

    static Set<AccessFlag> check(Collection<AccessFlag> access) {
        Set<AccessFlag> flags = EnumSet.noneOf(AccessFlag.class);
        flags.addAll(access);
        if (!flags.contains(AccessFlag.LOCAL_WRITE)
                && (flags.contains(AccessFlag.REMOTE_WRITE) || flags.contains(AccessFlag.REMOTE_ATOMIC))) {
            throw new IllegalArgumentException("REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE as well: " + flags);
        }
        if (flags.contains(AccessFlag.ZERO_BASED)) {
            throw new IllegalArgumentException(
                    "ZERO_BASED is for memory windows: some drivers take it for a region and "
                            + "ignore it. registerAt(memory, 0, ...) registers memory that begins at zero with all of them");
        }
        return Collections.unmodifiableSet(flags);
    }

    private static void checkLength(long length) {
        Checks.checkAtLeast("length of a memory region", length, 1);
    }
}
