package dev.verbena.verbs;

import dev.verbena.NativeFlag;

/** An operation of a queue pair that a completion counter can count ({@code enum ibv_qp_attach_comp_cntr_op}). */
public enum CountedOperation implements NativeFlag {
    /** Sends of this queue pair ({@code IBV_QP_ATTACH_COMP_CNTR_OP_SEND}). */
    SEND(1, "IBV_QP_ATTACH_COMP_CNTR_OP_SEND"),
    /** Receives of this queue pair ({@code IBV_QP_ATTACH_COMP_CNTR_OP_RECV}). */
    RECEIVE(1 << 1, "IBV_QP_ATTACH_COMP_CNTR_OP_RECV"),
    /** RDMA reads of this queue pair ({@code IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ}). */
    RDMA_READ(1 << 2, "IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ"),
    /** RDMA reads of the peer ({@code IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ}). */
    REMOTE_RDMA_READ(1 << 3, "IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ"),
    /** RDMA writes of this queue pair ({@code IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE}). */
    RDMA_WRITE(1 << 4, "IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE"),
    /** RDMA writes of the peer ({@code IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE}). */
    REMOTE_RDMA_WRITE(1 << 5, "IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE");

    private final int bit;
    private final String cName;

    CountedOperation(int bit, String cName) {
        this.bit = bit;
        this.cName = cName;
    }

    @Override
    public int bit() {
        return bit;
    }

    @Override
    public String cName() {
        return cName;
    }
}
