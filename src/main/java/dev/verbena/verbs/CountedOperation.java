package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** An operation of a queue pair that a completion counter can count ({@code enum ibv_qp_attach_comp_cntr_op}). */
public enum CountedOperation {
    /** Sends of this queue pair ({@code IBV_QP_ATTACH_COMP_CNTR_OP_SEND}). */
    SEND(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_SEND),
    /** Receives of this queue pair ({@code IBV_QP_ATTACH_COMP_CNTR_OP_RECV}). */
    RECEIVE(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RECV),
    /** RDMA reads of this queue pair ({@code IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ}). */
    RDMA_READ(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ),
    /** RDMA reads of the peer ({@code IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ}). */
    REMOTE_RDMA_READ(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ),
    /** RDMA writes of this queue pair ({@code IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE}). */
    RDMA_WRITE(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE),
    /** RDMA writes of the peer ({@code IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE}). */
    REMOTE_RDMA_WRITE(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE);

    final int bit;

    CountedOperation(int bit) {
        this.bit = bit;
    }
}
