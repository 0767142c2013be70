package dev.verbena.verbs.flow;

import dev.verbena.NativeValue;

/** The kind of a flow rule, which selects packets ({@code enum ibv_flow_attr_type}). */
public enum FlowKind implements NativeValue {
    /** A rule for the packets that its specifications match ({@code IBV_FLOW_ATTR_NORMAL}). */
    NORMAL(0, "IBV_FLOW_ATTR_NORMAL"),
    /** A rule for all packets that no other rule takes ({@code IBV_FLOW_ATTR_ALL_DEFAULT}). */
    ALL_DEFAULT(1, "IBV_FLOW_ATTR_ALL_DEFAULT"),
    /** A rule for all multicast packets that no other rule takes ({@code IBV_FLOW_ATTR_MC_DEFAULT}). */
    MULTICAST_DEFAULT(2, "IBV_FLOW_ATTR_MC_DEFAULT"),
    /** A rule for a copy of all packets ({@code IBV_FLOW_ATTR_SNIFFER}). */
    SNIFFER(3, "IBV_FLOW_ATTR_SNIFFER");

    private final int code;
    private final String cName;

    FlowKind(int code, String cName) {
        this.code = code;
        this.cName = cName;
    }

    @Override
    public int code() {
        return code;
    }

    @Override
    public String cName() {
        return cName;
    }
}
