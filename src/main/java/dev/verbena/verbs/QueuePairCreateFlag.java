package dev.verbena.verbs;

import dev.verbena.NativeFlag;

/** A property of a queue pair ({@code enum ibv_qp_create_flags}). */
public enum QueuePairCreateFlag implements NativeFlag {
    /** It does not receive the multicast messages it sends ({@code IBV_QP_CREATE_BLOCK_SELF_MCAST_LB}). */
    BLOCK_SELF_MULTICAST(1 << 1, "IBV_QP_CREATE_BLOCK_SELF_MCAST_LB"),
    /** Raw packets arrive with their frame check sequence ({@code IBV_QP_CREATE_SCATTER_FCS}). */
    SCATTER_FCS(1 << 8, "IBV_QP_CREATE_SCATTER_FCS"),
    /** Raw packets arrive without their VLAN tag ({@code IBV_QP_CREATE_CVLAN_STRIPPING}). */
    CVLAN_STRIPPING(1 << 9, "IBV_QP_CREATE_CVLAN_STRIPPING"),
    /**
     * Its datagrams carry another queue pair's number ({@code IBV_QP_CREATE_SOURCE_QPN}):
     * {@link QueuePairOptions#sourceNumber} sets it.
     */
    SOURCE_QPN(1 << 10, "IBV_QP_CREATE_SOURCE_QPN"),
    /** Writes to memory are padded to whole cache lines ({@code IBV_QP_CREATE_PCI_WRITE_END_PADDING}). */
    PCI_WRITE_END_PADDING(1 << 11, "IBV_QP_CREATE_PCI_WRITE_END_PADDING");

    private final int bit;
    private final String cName;

    QueuePairCreateFlag(int bit, String cName) {
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
