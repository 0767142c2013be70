package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.Ibv;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * The whole address space of this process, registered at once: implicit on-demand paging ({@code ibv_reg_mr} of
 * {@code NULL} and {@code SIZE_MAX} with {@code IBV_ACCESS_ON_DEMAND}). Nothing is pinned; the adapter brings pages in
 * when it uses them.
 *
 * <p>Work requests still name memory regions. {@link #region} makes one without a call into C, so that what holds for
 * all regions holds here: memory is not freed before its region is closed.
 */
public final class AddressSpace extends VerbsObject {
    private final ObjectLifetime lifetime;
    private static final Set<AccessFlag> FOR_PEERS = EnumSet.of(
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_ATOMIC,
            AccessFlag.FLUSH_GLOBAL,
            AccessFlag.FLUSH_PERSISTENT,
            AccessFlag.MW_BIND);

    private final ProtectionDomain domain;
    private final Set<AccessFlag> access;
    private final long structure;

    private AddressSpace(ObjectLifetime lifetime, ProtectionDomain domain, Set<AccessFlag> access, long structure) {
        super(lifetime);
        this.lifetime = lifetime;
        lifetime.destroyedBy(this::destroy);
        this.domain = domain;
        this.access = access;
        this.structure = structure;
    }

    static AddressSpace register(ProtectionDomain domain, Collection<AccessFlag> access, VerbsArena arena) {
        if (access.stream().anyMatch(FOR_PEERS::contains)) {
            throw new IllegalArgumentException("The whole address space can't be opened to peers, since they could "
                    + "change the virtual machine itself: register what is theirs, instead of " + access);
        }
        EnumSet<AccessFlag> flags = EnumSet.of(AccessFlag.ON_DEMAND);
        flags.addAll(Registration.check(access));
        return ObjectLifetime.create(
                arena,
                lifetime ->
                        new AddressSpace(lifetime, domain, Set.copyOf(flags), Registration.addressSpace(domain, flags)),
                domain);
    }

    @CName("ibv_dereg_mr")
    private void destroy() {
        VerbFailures.check(Ibv.DEREG_MR, Ibv.DEREG_MR.call(structure), toString());
    }

    ProtectionDomain domainEvenIfClosed() {
        return domain;
    }

    Set<AccessFlag> accessEvenIfClosed() {
        return access;
    }

    /**
     * The protection domain that it is registered in.
     *
     * @return the protection domain
     */
    public ProtectionDomain domain() {
        lifetime.checkOpen();
        return domain;
    }

    /**
     * A region over some memory, closed by this one's arena. No call into C is made.
     *
     * @param memory a native segment that outlives the region; see {@link ProtectionDomain#register(MemorySegment,
     *     Collection, VerbsArena)}
     * @return the region
     */
    public MemoryRegion region(MemorySegment memory) {
        return region(memory, arena());
    }

    /**
     * A region over some memory. No call into C is made.
     *
     * @param memory a native segment that outlives the region; see {@link ProtectionDomain#register(MemorySegment,
     *     Collection, VerbsArena)}
     * @param arena what will close it
     * @return the region
     */
    public MemoryRegion region(MemorySegment memory, VerbsArena arena) {
        Registration.check(memory, List.copyOf(access));
        return MemoryRegion.within(this, structure, memory, arena);
    }

    @Override
    public String toString() {
        return "the whole address space, registered in " + domain;
    }
}
