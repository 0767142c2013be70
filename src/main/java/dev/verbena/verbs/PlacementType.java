package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** The place that earlier writes must have reached when a flush completes ({@code enum ibv_placement_type}). */
public enum PlacementType {
    /** The memory that the peer's whole machine sees ({@code IBV_FLUSH_GLOBAL}). */
    GLOBAL(rdma_h.IBV_FLUSH_GLOBAL),
    /** The memory that survives a loss of power ({@code IBV_FLUSH_PERSISTENT}). */
    PERSISTENT(rdma_h.IBV_FLUSH_PERSISTENT);

    final int bit;

    PlacementType(int bit) {
        this.bit = bit;
    }
}
