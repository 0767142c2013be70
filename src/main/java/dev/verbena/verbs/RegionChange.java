package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Changes of a registration, for {@link MemoryRegion#reregister} ({@code enum ibv_rereg_mr_flags}). Each option has a
 * method that returns a changed copy, and a method of the same name that reads it. A change is immutable: all threads
 * can use it.
 *
 * {@snippet file="ObjectSnippets.java" region="reregister"}
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
     * Returns a change to other memory ({@code IBV_REREG_MR_CHANGE_TRANSLATION}).
     *
     * @param memory the segment that replaces the present one; it must outlive the region, as when registering
     * @return a change
     */
    public static RegionChange of(MemorySegment memory) {
        return new RegionChange(Objects.requireNonNull(memory, "memory"), null, null);
    }

    /**
     * Returns a change to other access flags ({@code IBV_REREG_MR_CHANGE_ACCESS}).
     *
     * @param access all flags of the changed region
     * @return a change
     */
    public static RegionChange of(AccessFlag... access) {
        return new RegionChange(null, Registration.check(List.of(access)), null);
    }

    /**
     * Returns a change to another protection domain ({@code IBV_REREG_MR_CHANGE_PD}).
     *
     * @param domain the protection domain
     * @return a change
     */
    public static RegionChange of(ProtectionDomain domain) {
        return new RegionChange(null, null, Objects.requireNonNull(domain, "domain"));
    }

    /**
     * Returns the segment that replaces the present one.
     *
     * @return the segment; null if the memory stays
     */
    public @Nullable MemorySegment memory() {
        return memory;
    }

    /**
     * Returns a copy that also changes the memory.
     *
     * @param other the segment that replaces the present one
     * @return a changed copy
     */
    public RegionChange memory(MemorySegment other) {
        return new RegionChange(Objects.requireNonNull(other, "memory"), access, domain);
    }

    /**
     * Returns the flags of the changed region.
     *
     * @return all flags, unmodifiable; null if the flags stay
     */
    public @Nullable Set<AccessFlag> access() {
        return access;
    }

    /**
     * Returns a copy that also changes the access flags.
     *
     * @param flags all flags of the changed region
     * @return a changed copy
     */
    public RegionChange access(Collection<AccessFlag> flags) {
        return new RegionChange(memory, Registration.check(flags), domain);
    }

    /**
     * Returns the protection domain of the changed region.
     *
     * @return the protection domain; null if the domain stays
     */
    public @Nullable ProtectionDomain domain() {
        return domain;
    }

    /**
     * Returns a copy that also changes the protection domain.
     *
     * @param other the protection domain
     * @return a changed copy
     */
    public RegionChange domain(ProtectionDomain other) {
        return new RegionChange(memory, access, Objects.requireNonNull(other, "domain"));
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RegionChange change
                && Objects.equals(memory, change.memory)
                && Objects.equals(access, change.access)
                && domain == change.domain;
    }

    @Override
    public int hashCode() {
        return Objects.hash(memory, access, domain);
    }

    /** Returns the changes, for example {@code access [LOCAL_WRITE]}. */
    @Override
    public String toString() {
        return (memory == null ? "" : "memory " + memory + " ")
                + (access == null ? "" : "access " + access + " ")
                + (domain == null ? "" : domain);
    }
}
