package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** The extent of a flush ({@code enum ibv_selectivity_level}). */
public enum SelectivityLevel {
    /** The named range ({@code IBV_FLUSH_RANGE}). */
    RANGE(rdma_h.IBV_FLUSH_RANGE),
    /** The whole memory region ({@code IBV_FLUSH_MR}). */
    MEMORY_REGION(rdma_h.IBV_FLUSH_MR);

    final int code;

    SelectivityLevel(int code) {
        this.code = code;
    }
}
