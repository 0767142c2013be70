package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * The whole address space of this process, registered at once by implicit on-demand paging ({@code ibv_reg_mr} of
 * {@code NULL} and {@code SIZE_MAX} with {@code IBV_ACCESS_ON_DEMAND}). No memory is pinned: the adapter loads pages
 * when it uses them.
 *
 * <p>Work requests still name memory regions. {@link #region} makes a region without a call into C. As with all
 * regions, memory is not freed before its region is closed. A request that names a closed region is not posted. Closing a
 * region does not stop requests that were posted before: wait for their completions first.
 *
 * <p>All threads can use an address space of a shared arena; only the arena's thread can use one of a confined arena.
 *
 * {@snippet file="ObjectSnippets.java" region="address-space"}
 */
public final class AddressSpace extends ContextObject {
    final ProtectionDomain domain;
    final Set<AccessFlag> access;

    private AddressSpace(ObjectLifetime lifetime, ProtectionDomain domain, Set<AccessFlag> access, long structure) {
        super(lifetime, domain.context, structure);
        this.domain = domain;
        this.access = access;
    }

    /** Returns the rights of peers. A constant needs an initialiser, which a full stack would break for good. */
    private static Set<AccessFlag> forPeers() {
        return EnumSet.of(
                AccessFlag.REMOTE_READ,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.REMOTE_ATOMIC,
                AccessFlag.FLUSH_GLOBAL,
                AccessFlag.FLUSH_PERSISTENT,
                AccessFlag.MW_BIND);
    }

    static AddressSpace register(ProtectionDomain domain, Collection<AccessFlag> access, VerbsArena arena) {
        if (access.stream().anyMatch(forPeers()::contains)) {
            throw new IllegalArgumentException(
                    "peers can't get rights over the whole address space, where they could change "
                            + "the virtual machine itself: register their memory alone, got " + access);
        }
        EnumSet<AccessFlag> flags = EnumSet.of(AccessFlag.ON_DEMAND);
        flags.addAll(Registration.check(access));
        return ObjectLifetime.create(arena, List.of(domain), lifetime -> {
            long region = Registration.addressSpace(domain, flags);
            return new AddressSpace(lifetime, domain, Set.copyOf(flags), region);
        });
    }

    @CName("ibv_dereg_mr")
    @Override
    void destroy() {
        Calls.run(Ibv.DEREG_MR, this, address);
    }

    /**
     * Returns the protection domain that the address space is registered in.
     *
     * @return the protection domain
     */
    public ProtectionDomain domain() {
        lifetime.checkOpen();
        return domain;
    }

    /**
     * Makes a region over memory, closed by this object's arena. This does not call C.
     *
     * @param memory a native segment that outlives the region; see {@link ProtectionDomain#register(MemorySegment,
     *     Collection, VerbsArena)}
     * @return the region
     */
    public MemoryRegion region(MemorySegment memory) {
        return region(memory, arena());
    }

    /**
     * Makes a region over memory. This does not call C.
     *
     * @param memory a native segment that outlives the region; see {@link ProtectionDomain#register(MemorySegment,
     *     Collection, VerbsArena)}
     * @param arena the arena that will close the region
     * @return the region
     */
    public MemoryRegion region(MemorySegment memory, VerbsArena arena) {
        Registration.check(memory, List.copyOf(access));
        return MemoryRegion.within(this, address, memory, arena);
    }

    /** Returns for example {@code the whole address space, registered in protection domain of rxe0}. */
    @Override
    public String toString() {
        return "the whole address space, registered in " + domain;
    }
}
