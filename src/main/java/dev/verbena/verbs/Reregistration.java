package dev.verbena.verbs;

import static dev.verbena.verbs.RegionChange.ACCESS;
import static dev.verbena.verbs.RegionChange.DOMAIN;
import static dev.verbena.verbs.RegionChange.MEMORY;

import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A call of {@code ibv_rereg_mr}. It runs instead of the old region's deregistration, when no other thread can use that
 * region, and while the new region is being made. The memory has an owner at all times: the old region, or the new one.
 */
final class Reregistration {
    private final MemoryRegion old;
    private final RegionBacking backing;
    private final Set<AccessFlag> access;
    private final ProtectionDomain domain;
    private final RegionChange wanted;
    private final VerbsObject[] others;
    /** The {@code struct ibv_mr} after C has changed it; 0 before the call, and after a failure. */
    private long structure;

    private @Nullable VerbsException failure;

    private Reregistration(
            MemoryRegion old,
            RegionBacking backing,
            Set<AccessFlag> access,
            ProtectionDomain domain,
            RegionChange wanted,
            VerbsObject[] others) {
        this.old = old;
        this.backing = backing;
        this.access = access;
        this.domain = domain;
        this.wanted = wanted;
        this.others = others;
    }

    static Reregistration of(
            MemoryRegion old,
            ProtectionDomain domain,
            RegionBacking backing,
            Set<AccessFlag> access,
            RegionChange wanted,
            VerbsObject[] others) {
        ProtectionDomain other = DOMAIN.of(wanted);
        if (other != null) {
            other.checkIn(domain.context, QueuePairCreation.DOMAIN);
        }
        MemorySegment memory = MEMORY.of(wanted);
        Set<AccessFlag> changed = ACCESS.of(wanted);
        Set<AccessFlag> flags = changed == null ? access : changed;
        if (memory != null || changed != null) {
            Registration.check(memory == null ? backing.segment() : memory, flags);
        }
        return new Reregistration(
                old,
                memory == null ? backing : RegionBacking.of(memory, false, memory.address()),
                flags,
                other == null ? domain : other,
                wanted,
                others);
    }

    /**
     * Makes the changed region. The caller keeps the arena from closing. The memory and the protection domain of the changed
     * region are kept from closing before C uses them, and until the region exists.
     */
    MemoryRegion run() {
        return MemoryRegion.over(
                old.arena(),
                backing,
                access,
                domain,
                () -> {
                    old.closeBy(this::call);
                    if (failure != null) {
                        throw failure;
                    }
                    return structure;
                },
                others);
    }

    /** Calls C instead of deregistering the old region. Throws if the old region is unchanged. */
    private void call(long region) {
        int result = (int) Ibv.REREG_MR.call(
                region,
                flags(),
                DOMAIN.of(wanted) == null ? 0 : domain.address(),
                MEMORY.of(wanted) == null ? 0 : backing.segment().address(),
                MEMORY.of(wanted) == null ? 0 : backing.length(),
                ACCESS.of(wanted) == null ? 0 : AccessFlag.bits(access));
        // The JDK's child processes leave the memory alone, so a protection against fork() that stays does no harm.
        if (result == 0 || RegionChangeError.of(result) == RegionChangeError.DO_FORK_OLD) {
            structure = region;
        } else {
            failed(result, region, CFunction.errno());
        }
    }

    private void failed(int result, long region, int errno) {
        RegionChangeError error = RegionChangeError.of(result);
        boolean untouched = error == RegionChangeError.INPUT
                || error == RegionChangeError.DONT_FORK_NEW
                || Errno.meansUnsupported(errno); // C reports this before it changes anything
        String said =
                (error == RegionChangeError.UNKNOWN ? "C returned " + result : "IBV_REREG_MR_ERR_" + error) + ". ";
        int number = errno > 0 ? errno : Errno.EINVAL;
        if (untouched) {
            String limit = domain.context.limits().hint(DriverLimits.Part.REREGISTRATION, errno, "");
            throw Failures.failure(
                    Ibv.REREG_MR.name(),
                    number,
                    old.toString(),
                    said + "The region is unchanged" + (limit.isEmpty() ? "" : ". " + limit));
        }
        Calls.run(Ibv.DEREG_MR, old, region);
        failure = Failures.failure(
                Ibv.REREG_MR.name(),
                number,
                old.toString(),
                said + "The region was lost and is closed: register the memory again");
    }

    private int flags() {
        return (MEMORY.of(wanted) == null ? 0 : rdma_h.IBV_REREG_MR_CHANGE_TRANSLATION)
                | (DOMAIN.of(wanted) == null ? 0 : rdma_h.IBV_REREG_MR_CHANGE_PD)
                | (ACCESS.of(wanted) == null ? 0 : rdma_h.IBV_REREG_MR_CHANGE_ACCESS);
    }
}
