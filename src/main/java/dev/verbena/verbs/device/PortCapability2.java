package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;

/** A further capability of a port ({@code enum ibv_port_cap_flags2}). */
public enum PortCapability2 implements NativeFlag {
    /** The node's description can be set ({@code IBV_PORT_SET_NODE_DESC_SUP}). */
    SET_NODE_DESCRIPTION(1, "IBV_PORT_SET_NODE_DESC_SUP"),
    /** The port reports extended information ({@code IBV_PORT_INFO_EXT_SUP}). */
    PORT_INFO_EXTENDED(1 << 1, "IBV_PORT_INFO_EXT_SUP"),
    /** The port can appear as many virtual ports ({@code IBV_PORT_VIRT_SUP}). */
    VIRTUALISATION(1 << 2, "IBV_PORT_VIRT_SUP"),
    /** The port reports the states of all ports of a switch ({@code IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP}). */
    SWITCH_PORT_STATE_TABLE(1 << 3, "IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP"),
    /** The link can have two lanes ({@code IBV_PORT_LINK_WIDTH_2X_SUP}). */
    LINK_WIDTH_2X(1 << 4, "IBV_PORT_LINK_WIDTH_2X_SUP"),
    /** The port has the speed HDR ({@code IBV_PORT_LINK_SPEED_HDR_SUP}). */
    LINK_SPEED_HDR(1 << 5, "IBV_PORT_LINK_SPEED_HDR_SUP"),
    /** The port has the speed NDR ({@code IBV_PORT_LINK_SPEED_NDR_SUP}). */
    LINK_SPEED_NDR(1 << 10, "IBV_PORT_LINK_SPEED_NDR_SUP"),
    /** The port has the speed XDR ({@code IBV_PORT_LINK_SPEED_XDR_SUP}). */
    LINK_SPEED_XDR(1 << 12, "IBV_PORT_LINK_SPEED_XDR_SUP");

    private final int bit;
    private final String cName;

    PortCapability2(int bit, String cName) {
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
