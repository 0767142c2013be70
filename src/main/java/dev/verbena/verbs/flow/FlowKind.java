package dev.verbena.verbs.flow;

import dev.verbena.internal.raw.rdma_h;

/** The kind of a flow rule, which selects packets ({@code enum ibv_flow_attr_type}). */
public enum FlowKind {
    /** A rule for the packets that its specifications match ({@code IBV_FLOW_ATTR_NORMAL}). */
    NORMAL(rdma_h.IBV_FLOW_ATTR_NORMAL),
    /** A rule for all packets that no other rule takes ({@code IBV_FLOW_ATTR_ALL_DEFAULT}). */
    ALL_DEFAULT(rdma_h.IBV_FLOW_ATTR_ALL_DEFAULT),
    /** A rule for all multicast packets that no other rule takes ({@code IBV_FLOW_ATTR_MC_DEFAULT}). */
    MULTICAST_DEFAULT(rdma_h.IBV_FLOW_ATTR_MC_DEFAULT),
    /** A rule for a copy of all packets ({@code IBV_FLOW_ATTR_SNIFFER}). */
    SNIFFER(rdma_h.IBV_FLOW_ATTR_SNIFFER);

    final int code;

    FlowKind(int code) {
        this.code = code;
    }
}
