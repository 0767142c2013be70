package dev.verbena.verbs.device;

import dev.verbena.internal.raw.rdma_h;

/** A capability of a device for raw packets ({@code enum ibv_raw_packet_caps}). */
public enum RawPacketCapability {
    /** Removal of the VLAN tag ({@code IBV_RAW_PACKET_CAP_CVLAN_STRIPPING}). */
    CVLAN_STRIPPING(rdma_h.IBV_RAW_PACKET_CAP_CVLAN_STRIPPING),
    /** Delivery of the frame check sequence ({@code IBV_RAW_PACKET_CAP_SCATTER_FCS}). */
    SCATTER_FCS(rdma_h.IBV_RAW_PACKET_CAP_SCATTER_FCS),
    /** Computation of checksums ({@code IBV_RAW_PACKET_CAP_IP_CSUM}). */
    IP_CSUM(rdma_h.IBV_RAW_PACKET_CAP_IP_CSUM),
    /** Delay of packets, instead of their loss, while no receive is posted ({@code IBV_RAW_PACKET_CAP_DELAY_DROP}). */
    DELAY_DROP(rdma_h.IBV_RAW_PACKET_CAP_DELAY_DROP);

    final int bit;

    RawPacketCapability(int bit) {
        this.bit = bit;
    }
}
