package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** A flag of a completion ({@code enum ibv_wc_flags}). */
public enum CompletionFlag {
    /** The first 40 bytes of the receive hold a global routing header ({@code IBV_WC_GRH}). */
    GRH(rdma_h.IBV_WC_GRH),
    /** Immediate data arrived ({@code IBV_WC_WITH_IMM}). */
    WITH_IMMEDIATE(rdma_h.IBV_WC_WITH_IMM),
    /** The adapter found the checksums right ({@code IBV_WC_IP_CSUM_OK}). */
    IP_CSUM_OK(rdma_h.IBV_WC_IP_CSUM_OK),
    /** A key was invalidated ({@code IBV_WC_WITH_INV}). */
    WITH_INVALIDATE(rdma_h.IBV_WC_WITH_INV),
    /** The list of tags must be synchronised ({@code IBV_WC_TM_SYNC_REQ}). */
    TM_SYNC_REQUEST(rdma_h.IBV_WC_TM_SYNC_REQ),
    /** A tag matched ({@code IBV_WC_TM_MATCH}). */
    TM_MATCH(rdma_h.IBV_WC_TM_MATCH),
    /** The data of tag matching is valid ({@code IBV_WC_TM_DATA_VALID}). */
    TM_DATA_VALID(rdma_h.IBV_WC_TM_DATA_VALID);

    private final int bit;

    CompletionFlag(int bit) {
        this.bit = bit;
    }

    /**
     * Returns the bit in C.
     *
     * @return a number with one bit set
     */
    public int bit() {
        return bit;
    }
}
