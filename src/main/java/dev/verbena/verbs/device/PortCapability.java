package dev.verbena.verbs.device;

import dev.verbena.internal.raw.rdma_h;

/** A capability of a port ({@code enum ibv_port_cap_flags}). */
public enum PortCapability {
    /** The subnet manager runs on the port ({@code IBV_PORT_SM}). */
    SUBNET_MANAGER(rdma_h.IBV_PORT_SM),
    /** The port has a notice queue ({@code IBV_PORT_NOTICE_SUP}). */
    NOTICE(rdma_h.IBV_PORT_NOTICE_SUP),
    /** The port sends traps ({@code IBV_PORT_TRAP_SUP}). */
    TRAP(rdma_h.IBV_PORT_TRAP_SUP),
    /** The port has optional values of inter-packet delay ({@code IBV_PORT_OPT_IPD_SUP}). */
    INTER_PACKET_DELAY(rdma_h.IBV_PORT_OPT_IPD_SUP),
    /** Connections can migrate to another path ({@code IBV_PORT_AUTO_MIGR_SUP}). */
    AUTOMATIC_MIGRATION(rdma_h.IBV_PORT_AUTO_MIGR_SUP),
    /** The port maps service levels to virtual lanes ({@code IBV_PORT_SL_MAP_SUP}). */
    SERVICE_LEVEL_MAPPING(rdma_h.IBV_PORT_SL_MAP_SUP),
    /** The port keeps management keys over a reset ({@code IBV_PORT_MKEY_NVRAM}). */
    MKEY_NVRAM(rdma_h.IBV_PORT_MKEY_NVRAM),
    /** The port keeps partition keys over a reset ({@code IBV_PORT_PKEY_NVRAM}). */
    PKEY_NVRAM(rdma_h.IBV_PORT_PKEY_NVRAM),
    /** The lamp of the port can be lit ({@code IBV_PORT_LED_INFO_SUP}). */
    LED_INFO(rdma_h.IBV_PORT_LED_INFO_SUP),
    /** The port reports the GUID of the system ({@code IBV_PORT_SYS_IMAGE_GUID_SUP}). */
    SYSTEM_IMAGE_GUID(rdma_h.IBV_PORT_SYS_IMAGE_GUID_SUP),
    /** A switch traps wrong partition keys for the port ({@code IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP}). */
    PKEY_SWITCH_TRAP(rdma_h.IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP),
    /** The port has speeds from FDR on ({@code IBV_PORT_EXTENDED_SPEEDS_SUP}). */
    EXTENDED_SPEEDS(rdma_h.IBV_PORT_EXTENDED_SPEEDS_SUP),
    /** The port has {@link PortCapability2} too ({@code IBV_PORT_CAP_MASK2_SUP}). */
    CAPABILITY_MASK_2(rdma_h.IBV_PORT_CAP_MASK2_SUP),
    /** The port has communication management ({@code IBV_PORT_CM_SUP}). */
    COMMUNICATION_MANAGEMENT(rdma_h.IBV_PORT_CM_SUP),
    /** The port tunnels SNMP ({@code IBV_PORT_SNMP_TUNNEL_SUP}). */
    SNMP_TUNNEL(rdma_h.IBV_PORT_SNMP_TUNNEL_SUP),
    /** The port can be initialised anew ({@code IBV_PORT_REINIT_SUP}). */
    REINITIALISATION(rdma_h.IBV_PORT_REINIT_SUP),
    /** The port has device management ({@code IBV_PORT_DEVICE_MGMT_SUP}). */
    DEVICE_MANAGEMENT(rdma_h.IBV_PORT_DEVICE_MGMT_SUP),
    /** The port has a management class of its vendor ({@code IBV_PORT_VENDOR_CLASS_SUP}). */
    VENDOR_CLASS(rdma_h.IBV_PORT_VENDOR_CLASS_SUP),
    /** Notices can travel by a direct route ({@code IBV_PORT_DR_NOTICE_SUP}). */
    DIRECT_ROUTE_NOTICE(rdma_h.IBV_PORT_DR_NOTICE_SUP),
    /** The port gives notice when its capabilities change ({@code IBV_PORT_CAP_MASK_NOTICE_SUP}). */
    CAPABILITY_MASK_NOTICE(rdma_h.IBV_PORT_CAP_MASK_NOTICE_SUP),
    /** The port has boot management ({@code IBV_PORT_BOOT_MGMT_SUP}). */
    BOOT_MANAGEMENT(rdma_h.IBV_PORT_BOOT_MGMT_SUP),
    /** The port measures the time of a round trip over the link ({@code IBV_PORT_LINK_LATENCY_SUP}). */
    LINK_LATENCY(rdma_h.IBV_PORT_LINK_LATENCY_SUP),
    /** The port can ask clients to register anew with the subnet manager ({@code IBV_PORT_CLIENT_REG_SUP}). */
    CLIENT_REREGISTRATION(rdma_h.IBV_PORT_CLIENT_REG_SUP),
    /** The GIDs of the port are derived from IP addresses ({@code IBV_PORT_IP_BASED_GIDS}). */
    IP_BASED_GIDS(rdma_h.IBV_PORT_IP_BASED_GIDS);

    private final int bit;

    PortCapability(int bit) {
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
