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
    private static final Keys<RegionChange> KEYS = new Keys<>();
    static final Key<RegionChange, @Nullable MemorySegment> MEMORY = KEYS.key("memory", null);
    static final Key<RegionChange, @Nullable Set<AccessFlag>> ACCESS = KEYS.key("access", null);
    static final Key<RegionChange, @Nullable ProtectionDomain> DOMAIN = KEYS.key("domain", null);

    private RegionChange() {
        super(KEYS);
    }

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

    /**
     * Returns a copy that also changes the memory.
     *
     * @param other the segment that replaces the present one
     * @return a changed copy
     */
    public RegionChange memory(MemorySegment other) {
        return with(MEMORY, Objects.requireNonNull(other, "memory"));
    }

    /**
     * Returns a copy that also changes the access flags.
     *
     * @param flags all flags of the changed region
     * @return a changed copy
     */
    public RegionChange access(Collection<AccessFlag> flags) {
        return with(ACCESS, Registration.check(flags));
    }

    /**
     * Returns a copy that also changes the protection domain.
     *
     * @param other the protection domain
     * @return a changed copy
     */
    public RegionChange domain(ProtectionDomain other) {
        return with(DOMAIN, Objects.requireNonNull(other, "domain"));
    }
}
