package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** The unit of a completion counter ({@code enum ibv_comp_cntr_type}). */
public enum CompletionCounterUnit {
    /** Completed work requests ({@code IBV_COMP_CNTR_TYPE_WRS}). */
    WORK_REQUESTS(rdma_h.IBV_COMP_CNTR_TYPE_WRS),
    /** Bytes of completed work requests ({@code IBV_COMP_CNTR_TYPE_BYTES}). */
    BYTES(rdma_h.IBV_COMP_CNTR_TYPE_BYTES);

    final int code;

    CompletionCounterUnit(int code) {
        this.code = code;
    }
}
