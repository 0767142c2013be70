package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.internal.raw.ibv_mr_init_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The memory that {@link RegionOptions} name: each kind is registered by a function of its own. */
sealed interface RegionSource
        permits Registration.Segment, Registration.Buffer, Registration.Device, Registration.DmaBuf {
    /** Checks rights, which C does not check or answers with a bare number. */
    default Set<AccessFlag> check(Collection<AccessFlag> access) {
        return Registration.check(access);
    }

    /**
     * Checks that a domain can register this memory with these options.
     *
     * @return the object that the memory belongs to; null if the memory belongs to no object
     */
    default @Nullable VerbsObject checkIn(ProtectionDomain domain, RegionOptions options) {
        return null;
    }

    /**
     * Returns this memory as regions see it.
     *
     * @param address the address of the first byte; empty for this memory's own address
     */
    RegionBacking backing(OptionalLong address);

    /** Returns true if the oldest function for this memory knows no other address of the first byte. */
    default boolean keepsAddress() {
        return false;
    }

    /** Registers this memory by the oldest function that can, and returns the {@code struct ibv_mr}. */
    long register(ProtectionDomain domain, RegionBacking backing, Set<AccessFlag> flags);

    /** Writes the fields of a {@code struct ibv_mr_init_attr} that describe this memory. C has no such fields for device memory. */
    default void write(MemorySegment init, InitAttributes attributes, RegionBacking backing) {
        attributes
                .pointer(ibv_mr_init_attr.addr$offset(), backing.segment().address())
                .has(rdma_h.IBV_REG_MR_MASK_ADDR);
    }
}
