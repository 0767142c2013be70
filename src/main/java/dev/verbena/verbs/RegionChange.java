package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What is to be different about a registration ({@code enum ibv_rereg_mr_flags}): begin with one of the static methods,
 * and add to it. For {@link MemoryRegion#reregister}.
 */
public final class RegionChange {
    private final @Nullable MemorySegment memory;
    private final @Nullable Set<AccessFlag> access;
    private final @Nullable ProtectionDomain domain;

    private RegionChange(
            @Nullable MemorySegment memory, @Nullable Set<AccessFlag> access, @Nullable ProtectionDomain domain) {
        this.memory = memory;
        this.access = access;
        this.domain = domain;
    }

    /**
     * Other memory ({@code IBV_REREG_MR_CHANGE_TRANSLATION}).
     *
     * @param memory the segment that takes the place of the present one; it must outlive the region, as when registering
     * @return a change
     */
    public static RegionChange of(MemorySegment memory) {
        return new RegionChange(Objects.requireNonNull(memory, "memory"), null, null);
    }

    /**
     * Other access flags ({@code IBV_REREG_MR_CHANGE_ACCESS}).
     *
     * @param access all flags that it is to have
     * @return a change
     */
    public static RegionChange of(AccessFlag... access) {
        return new RegionChange(null, Registration.check(List.of(access)), null);
    }

    /**
     * Another protection domain ({@code IBV_REREG_MR_CHANGE_PD}).
     *
     * @param domain the protection domain
     * @return a change
     */
    public static RegionChange of(ProtectionDomain domain) {
        return new RegionChange(null, null, Objects.requireNonNull(domain, "domain"));
    }

    /**
     * The same change, and other memory.
     *
     * @param other the segment that takes the place of the present one
     * @return a changed copy
     */
    public RegionChange memory(MemorySegment other) {
        return new RegionChange(Objects.requireNonNull(other, "memory"), access, domain);
    }

    /**
     * The same change, and other access flags.
     *
     * @param flags all flags that it is to have
     * @return a changed copy
     */
    public RegionChange access(Collection<AccessFlag> flags) {
        return new RegionChange(memory, Registration.check(flags), domain);
    }

    /**
     * The same change, and another protection domain.
     *
     * @param other the protection domain
     * @return a changed copy
     */
    public RegionChange domain(ProtectionDomain other) {
        return new RegionChange(memory, access, Objects.requireNonNull(other, "domain"));
    }

    @Nullable
    MemorySegment memory() {
        return memory;
    }

    @Nullable
    Set<AccessFlag> access() {
        return access;
    }

    @Nullable
    ProtectionDomain domain() {
        return domain;
    }
}
