package dev.verbena.verbs;

import dev.verbena.NativeFlag;

/** A flag of a completion ({@code enum ibv_wc_flags}). */
public enum CompletionFlag implements NativeFlag {
    /** The first 40 bytes of the receive hold a global routing header ({@code IBV_WC_GRH}). */
    GRH(1, "IBV_WC_GRH"),
    /** Immediate data arrived ({@code IBV_WC_WITH_IMM}). */
    WITH_IMMEDIATE(1 << 1, "IBV_WC_WITH_IMM"),
    /** The adapter found the checksums right ({@code IBV_WC_IP_CSUM_OK}). */
    IP_CSUM_OK(1 << 2, "IBV_WC_IP_CSUM_OK"),
    /** A key was invalidated ({@code IBV_WC_WITH_INV}). */
    WITH_INVALIDATE(1 << 3, "IBV_WC_WITH_INV"),
    /** The list of tags must be synchronised ({@code IBV_WC_TM_SYNC_REQ}). */
    TM_SYNC_REQUEST(1 << 4, "IBV_WC_TM_SYNC_REQ"),
    /** A tag matched ({@code IBV_WC_TM_MATCH}). */
    TM_MATCH(1 << 5, "IBV_WC_TM_MATCH"),
    /** The data of tag matching is valid ({@code IBV_WC_TM_DATA_VALID}). */
    TM_DATA_VALID(1 << 6, "IBV_WC_TM_DATA_VALID");

    private final int bit;
    private final String cName;

    CompletionFlag(int bit, String cName) {
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
