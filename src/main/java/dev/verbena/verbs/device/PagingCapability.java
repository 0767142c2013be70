package dev.verbena.verbs.device;

import dev.verbena.internal.raw.rdma_h;

/** A kind of memory region that a device can page in on demand ({@code enum ibv_odp_general_caps}). */
public enum PagingCapability {
    /** A region whose memory is not pinned: see {@link dev.verbena.verbs.AccessFlag#ON_DEMAND} ({@code IBV_ODP_SUPPORT}). */
    ON_DEMAND(rdma_h.IBV_ODP_SUPPORT),
    /** A region over the whole address space ({@code IBV_ODP_SUPPORT_IMPLICIT}). */
    IMPLICIT(rdma_h.IBV_ODP_SUPPORT_IMPLICIT);

    final int bit;

    PagingCapability(int bit) {
        this.bit = bit;
    }
}
