package dev.verbena.verbs.flow;

import dev.verbena.internal.raw.rdma_h;

/** A property of a flow rule ({@code enum ibv_flow_flags}). */
public enum FlowFlag {
    /** Matched packets also go on to rules of a lower priority ({@code IBV_FLOW_ATTR_FLAGS_DONT_TRAP}). */
    DO_NOT_TRAP(rdma_h.IBV_FLOW_ATTR_FLAGS_DONT_TRAP),
    /** The rule matches packets that are sent ({@code IBV_FLOW_ATTR_FLAGS_EGRESS}). */
    EGRESS(rdma_h.IBV_FLOW_ATTR_FLAGS_EGRESS);

    final int bit;

    FlowFlag(int bit) {
        this.bit = bit;
    }
}
