package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;

/** A capability of tag matching ({@code enum ibv_tm_cap_flags}). */
public enum TagMatchingCapability implements NativeFlag {
    /** Tag matching on reliable connections ({@code IBV_TM_CAP_RC}). */
    RC(1, "IBV_TM_CAP_RC");

    private final int bit;
    private final String cName;

    TagMatchingCapability(int bit, String cName) {
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
