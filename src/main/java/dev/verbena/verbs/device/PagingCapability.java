package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;

/** How a device can page memory in ({@code enum ibv_odp_general_caps}). */
public enum PagingCapability implements NativeFlag {
    /** Memory regions can be registered without pinning them: see {@link dev.verbena.verbs.AccessFlag#ON_DEMAND} ({@code IBV_ODP_SUPPORT}). */
    ON_DEMAND(1, "IBV_ODP_SUPPORT"),
    /** One region can stand for the whole address space ({@code IBV_ODP_SUPPORT_IMPLICIT}). */
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
