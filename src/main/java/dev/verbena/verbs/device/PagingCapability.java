package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;

/** A kind of memory region that a device can page in on demand ({@code enum ibv_odp_general_caps}). */
public enum PagingCapability implements NativeFlag {
    /** A region whose memory is not pinned: see {@link dev.verbena.verbs.AccessFlag#ON_DEMAND} ({@code IBV_ODP_SUPPORT}). */
    ON_DEMAND(1, "IBV_ODP_SUPPORT"),
    /** A region over the whole address space ({@code IBV_ODP_SUPPORT_IMPLICIT}). */
    IMPLICIT(1 << 1, "IBV_ODP_SUPPORT_IMPLICIT");

    private final int bit;
    private final String cName;

    PagingCapability(int bit, String cName) {
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
