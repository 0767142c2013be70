package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;

/** A capability of a device for raw packets ({@code enum ibv_raw_packet_caps}). */
public enum RawPacketCapability implements NativeFlag {
    /** Removal of the VLAN tag ({@code IBV_RAW_PACKET_CAP_CVLAN_STRIPPING}). */
    CVLAN_STRIPPING(1, "IBV_RAW_PACKET_CAP_CVLAN_STRIPPING"),
    /** Delivery of the frame check sequence ({@code IBV_RAW_PACKET_CAP_SCATTER_FCS}). */
    SCATTER_FCS(1 << 1, "IBV_RAW_PACKET_CAP_SCATTER_FCS"),
    /** Computation of checksums ({@code IBV_RAW_PACKET_CAP_IP_CSUM}). */
    IP_CSUM(1 << 2, "IBV_RAW_PACKET_CAP_IP_CSUM"),
    /** Delay of packets, instead of their loss, while no receive is posted ({@code IBV_RAW_PACKET_CAP_DELAY_DROP}). */
    DELAY_DROP(1 << 3, "IBV_RAW_PACKET_CAP_DELAY_DROP");

    private final int bit;
    private final String cName;

    RawPacketCapability(int bit, String cName) {
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
