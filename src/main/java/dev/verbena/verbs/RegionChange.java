package dev.verbena.verbs;

import dev.verbena.internal.Options;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Changes of a registration, for {@link MemoryRegion#reregister} ({@code enum ibv_rereg_mr_flags}). Each option has a
 * method that returns a changed copy. A change is immutable: all threads can use it.
 *
 * {@snippet file="ObjectSnippets.java" region="reregister"}
 */
public final class RegionChange extends Options<RegionChange> {
    private @Nullable MemorySegment memory;
    private @Nullable Set<AccessFlag> access;
    private @Nullable ProtectionDomain domain;

    private RegionChange() {}

    /**
     * Returns a change to other memory ({@code IBV_REREG_MR_CHANGE_TRANSLATION}).
     *
     * @param memory the segment that replaces the present one; it must outlive the region, as when registering
     * @return a change
     */
    public static RegionChange of(MemorySegment memory) {
        return new RegionChange().memory(memory);
    }

    /**
     * Returns a change to other access flags ({@code IBV_REREG_MR_CHANGE_ACCESS}).
     *
     * @param access all flags of the changed region
     * @return a change
     */
    public static RegionChange of(AccessFlag... access) {
        return new RegionChange().access(List.of(access));
    }

    /**
     * Returns a change to another protection domain ({@code IBV_REREG_MR_CHANGE_PD}).
     *
     * @param domain the protection domain
     * @return a change
     */
    public static RegionChange of(ProtectionDomain domain) {
        return new RegionChange().domain(domain);
    }

    @Nullable
    MemorySegment memory() {
        return memory;
    }

    /**
     * Returns a copy that also changes the memory.
     *
     * @param other the segment that replaces the present one
     * @return a changed copy
     */
    public RegionChange memory(MemorySegment other) {
        return with(copy -> copy.memory = Objects.requireNonNull(other, "memory"));
    }

    @Nullable
    Set<AccessFlag> access() {
        return access;
    }

    /**
     * Returns a copy that also changes the access flags.
     *
     * @param flags all flags of the changed region
     * @return a changed copy
     */
    public RegionChange access(Collection<AccessFlag> flags) {
        return with(copy -> copy.access = Registration.check(flags));
    }

    @Nullable
    ProtectionDomain domain() {
        return domain;
    }

    /**
     * Returns a copy that also changes the protection domain.
     *
     * @param other the protection domain
     * @return a changed copy
     */
    public RegionChange domain(ProtectionDomain other) {
        return with(copy -> copy.domain = Objects.requireNonNull(other, "domain"));
    }

    @Override
    protected List<Option> options() {
        return List.of(option("memory", memory, null), option("access", access, null), option("domain", domain, null));
    }
}
