package dev.verbena.verbs.flow;

import dev.verbena.NativeFlag;

/** A property of a flow rule ({@code enum ibv_flow_flags}). */
public enum FlowFlag implements NativeFlag {
    /** Matched packets also go on to rules of a lower priority ({@code IBV_FLOW_ATTR_FLAGS_DONT_TRAP}). */
    DO_NOT_TRAP(1 << 1, "IBV_FLOW_ATTR_FLAGS_DONT_TRAP"),
    /** The rule matches packets that are sent ({@code IBV_FLOW_ATTR_FLAGS_EGRESS}). */
    EGRESS(1 << 2, "IBV_FLOW_ATTR_FLAGS_EGRESS");

    private final int bit;
    private final String cName;

    FlowFlag(int bit, String cName) {
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
