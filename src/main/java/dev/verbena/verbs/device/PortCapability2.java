package dev.verbena.verbs.device;

import dev.verbena.internal.raw.rdma_h;

/** A further capability of a port ({@code enum ibv_port_cap_flags2}). */
public enum PortCapability2 {
    /** The node's description can be set ({@code IBV_PORT_SET_NODE_DESC_SUP}). */
    SET_NODE_DESCRIPTION(rdma_h.IBV_PORT_SET_NODE_DESC_SUP),
    /** The port reports extended information ({@code IBV_PORT_INFO_EXT_SUP}). */
    PORT_INFO_EXTENDED(rdma_h.IBV_PORT_INFO_EXT_SUP),
    /** The port can appear as many virtual ports ({@code IBV_PORT_VIRT_SUP}). */
    VIRTUALISATION(rdma_h.IBV_PORT_VIRT_SUP),
    /** The port reports the states of all ports of a switch ({@code IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP}). */
    SWITCH_PORT_STATE_TABLE(rdma_h.IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP),
    /** The link can have two lanes ({@code IBV_PORT_LINK_WIDTH_2X_SUP}). */
    LINK_WIDTH_2X(rdma_h.IBV_PORT_LINK_WIDTH_2X_SUP),
    /** The port has the speed HDR ({@code IBV_PORT_LINK_SPEED_HDR_SUP}). */
    LINK_SPEED_HDR(rdma_h.IBV_PORT_LINK_SPEED_HDR_SUP),
    /** The port has the speed NDR ({@code IBV_PORT_LINK_SPEED_NDR_SUP}). */
    LINK_SPEED_NDR(rdma_h.IBV_PORT_LINK_SPEED_NDR_SUP),
    /** The port has the speed XDR ({@code IBV_PORT_LINK_SPEED_XDR_SUP}). */
    LINK_SPEED_XDR(rdma_h.IBV_PORT_LINK_SPEED_XDR_SUP);

    private final int bit;

    PortCapability2(int bit) {
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
