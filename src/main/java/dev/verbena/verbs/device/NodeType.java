package dev.verbena.verbs.device;

import dev.verbena.CName;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;

/** The kind of node that a device is ({@code enum ibv_node_type}). */
public enum NodeType {
    /** A channel adapter: InfiniBand or RoCE ({@code IBV_NODE_CA}). */
    CA(rdma_h.IBV_NODE_CA, "InfiniBand channel adapter"),
    /** A switch ({@code IBV_NODE_SWITCH}). */
    SWITCH(rdma_h.IBV_NODE_SWITCH, "InfiniBand switch"),
    /** A router ({@code IBV_NODE_ROUTER}). */
    ROUTER(rdma_h.IBV_NODE_ROUTER, "InfiniBand router"),
    /** An iWARP adapter ({@code IBV_NODE_RNIC}). */
    RNIC(rdma_h.IBV_NODE_RNIC, "iWARP NIC"),
    /** A Cisco usNIC ({@code IBV_NODE_USNIC}). */
    USNIC(rdma_h.IBV_NODE_USNIC, "usNIC"),
    /** A Cisco usNIC over UDP ({@code IBV_NODE_USNIC_UDP}). */
    USNIC_UDP(rdma_h.IBV_NODE_USNIC_UDP, "usNIC UDP"),
    /** A node of no specified kind ({@code IBV_NODE_UNSPECIFIED}). */
    UNSPECIFIED(rdma_h.IBV_NODE_UNSPECIFIED, "unspecified"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "unknown");

    private final int code;
    private final String meaning;

    NodeType(int code, String meaning) {
        this.code = code;
        this.meaning = meaning;
    }

    /**
     * Returns the number in C.
     *
     * @return the value of the C constant
     */
    public int code() {
        return code;
    }

    /**
     * Returns the description that the C tools print ({@code ibv_node_type_str}).
     *
     * @return a description, such as {@code InfiniBand channel adapter}
     */
    @CName("ibv_node_type_str")
    public String meaning() {
        return meaning;
    }

    /**
     * Returns the constant for a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static NodeType of(int code) {
        return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
    }
}
