package dev.verbena.verbs;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;

/** A state of a work queue ({@code enum ibv_wq_state}). */
public enum WorkQueueState {
    /** The queue is new, and nothing can be posted ({@code IBV_WQS_RESET}). */
    RESET(rdma_h.IBV_WQS_RESET),
    /** The queue receives ({@code IBV_WQS_RDY}). */
    READY(rdma_h.IBV_WQS_RDY),
    /** The queue has failed, and posted receives complete as flushed ({@code IBV_WQS_ERR}). */
    ERROR(rdma_h.IBV_WQS_ERR),
    /** The state is unknown to the library ({@code IBV_WQS_UNKNOWN}), or its number to this release. */
    UNKNOWN(rdma_h.IBV_WQS_UNKNOWN);

    final int code;

    WorkQueueState(int code) {
        this.code = code;
    }

    static WorkQueueState of(int code) {
        return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
    }
}
