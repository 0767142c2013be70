package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** A property of a queue pair ({@code enum ibv_qp_create_flags}). */
public enum QueuePairCreateFlag {
    /** It does not receive the multicast messages it sends ({@code IBV_QP_CREATE_BLOCK_SELF_MCAST_LB}). */
    BLOCK_SELF_MULTICAST(rdma_h.IBV_QP_CREATE_BLOCK_SELF_MCAST_LB),
    /** Raw packets arrive with their frame check sequence ({@code IBV_QP_CREATE_SCATTER_FCS}). */
    SCATTER_FCS(rdma_h.IBV_QP_CREATE_SCATTER_FCS),
    /** Raw packets arrive without their VLAN tag ({@code IBV_QP_CREATE_CVLAN_STRIPPING}). */
    CVLAN_STRIPPING(rdma_h.IBV_QP_CREATE_CVLAN_STRIPPING),
    /**
     * Its datagrams carry another queue pair's number ({@code IBV_QP_CREATE_SOURCE_QPN}):
     * {@link QueuePairOptions#sourceNumber} sets it.
     */
    SOURCE_QPN(rdma_h.IBV_QP_CREATE_SOURCE_QPN),
    /** Writes to memory are padded to whole cache lines ({@code IBV_QP_CREATE_PCI_WRITE_END_PADDING}). */
    PCI_WRITE_END_PADDING(rdma_h.IBV_QP_CREATE_PCI_WRITE_END_PADDING);

    final int bit;

    QueuePairCreateFlag(int bit) {
        this.bit = bit;
    }
}
