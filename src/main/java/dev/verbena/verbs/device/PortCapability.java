package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;

/** A capability of a port ({@code enum ibv_port_cap_flags}). */
public enum PortCapability implements NativeFlag {
    /** The subnet manager runs on the port ({@code IBV_PORT_SM}). */
    SUBNET_MANAGER(1 << 1, "IBV_PORT_SM"),
    /** The port has a notice queue ({@code IBV_PORT_NOTICE_SUP}). */
    NOTICE(1 << 2, "IBV_PORT_NOTICE_SUP"),
    /** The port sends traps ({@code IBV_PORT_TRAP_SUP}). */
    TRAP(1 << 3, "IBV_PORT_TRAP_SUP"),
    /** The port has optional values of inter-packet delay ({@code IBV_PORT_OPT_IPD_SUP}). */
    INTER_PACKET_DELAY(1 << 4, "IBV_PORT_OPT_IPD_SUP"),
    /** Connections can migrate to another path ({@code IBV_PORT_AUTO_MIGR_SUP}). */
    AUTOMATIC_MIGRATION(1 << 5, "IBV_PORT_AUTO_MIGR_SUP"),
    /** The port maps service levels to virtual lanes ({@code IBV_PORT_SL_MAP_SUP}). */
    SERVICE_LEVEL_MAPPING(1 << 6, "IBV_PORT_SL_MAP_SUP"),
    /** The port keeps management keys over a reset ({@code IBV_PORT_MKEY_NVRAM}). */
    MKEY_NVRAM(1 << 7, "IBV_PORT_MKEY_NVRAM"),
    /** The port keeps partition keys over a reset ({@code IBV_PORT_PKEY_NVRAM}). */
    PKEY_NVRAM(1 << 8, "IBV_PORT_PKEY_NVRAM"),
    /** The lamp of the port can be lit ({@code IBV_PORT_LED_INFO_SUP}). */
    LED_INFO(1 << 9, "IBV_PORT_LED_INFO_SUP"),
    /** The port reports the GUID of the system ({@code IBV_PORT_SYS_IMAGE_GUID_SUP}). */
    SYSTEM_IMAGE_GUID(1 << 11, "IBV_PORT_SYS_IMAGE_GUID_SUP"),
    /** A switch traps wrong partition keys for the port ({@code IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP}). */
    PKEY_SWITCH_TRAP(1 << 12, "IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP"),
    /** The port has speeds from FDR on ({@code IBV_PORT_EXTENDED_SPEEDS_SUP}). */
    EXTENDED_SPEEDS(1 << 14, "IBV_PORT_EXTENDED_SPEEDS_SUP"),
    /** The port has {@link PortCapability2} too ({@code IBV_PORT_CAP_MASK2_SUP}). */
    CAPABILITY_MASK_2(1 << 15, "IBV_PORT_CAP_MASK2_SUP"),
    /** The port has communication management ({@code IBV_PORT_CM_SUP}). */
    COMMUNICATION_MANAGEMENT(1 << 16, "IBV_PORT_CM_SUP"),
    /** The port tunnels SNMP ({@code IBV_PORT_SNMP_TUNNEL_SUP}). */
    SNMP_TUNNEL(1 << 17, "IBV_PORT_SNMP_TUNNEL_SUP"),
    /** The port can be initialised anew ({@code IBV_PORT_REINIT_SUP}). */
    REINITIALISATION(1 << 18, "IBV_PORT_REINIT_SUP"),
    /** The port has device management ({@code IBV_PORT_DEVICE_MGMT_SUP}). */
    DEVICE_MANAGEMENT(1 << 19, "IBV_PORT_DEVICE_MGMT_SUP"),
    /** The port has a management class of its vendor ({@code IBV_PORT_VENDOR_CLASS_SUP}). */
    VENDOR_CLASS(1 << 20, "IBV_PORT_VENDOR_CLASS_SUP"),
    /** Notices can travel by a direct route ({@code IBV_PORT_DR_NOTICE_SUP}). */
    DIRECT_ROUTE_NOTICE(1 << 21, "IBV_PORT_DR_NOTICE_SUP"),
    /** The port gives notice when its capabilities change ({@code IBV_PORT_CAP_MASK_NOTICE_SUP}). */
    CAPABILITY_MASK_NOTICE(1 << 22, "IBV_PORT_CAP_MASK_NOTICE_SUP"),
    /** The port has boot management ({@code IBV_PORT_BOOT_MGMT_SUP}). */
    BOOT_MANAGEMENT(1 << 23, "IBV_PORT_BOOT_MGMT_SUP"),
    /** The port measures the time of a round trip over the link ({@code IBV_PORT_LINK_LATENCY_SUP}). */
    LINK_LATENCY(1 << 24, "IBV_PORT_LINK_LATENCY_SUP"),
    /** The port can ask clients to register anew with the subnet manager ({@code IBV_PORT_CLIENT_REG_SUP}). */
    CLIENT_REREGISTRATION(1 << 25, "IBV_PORT_CLIENT_REG_SUP"),
    /** The GIDs of the port are derived from IP addresses ({@code IBV_PORT_IP_BASED_GIDS}). */
    IP_BASED_GIDS(1 << 26, "IBV_PORT_IP_BASED_GIDS");

    private final int bit;
    private final String cName;

    PortCapability(int bit, String cName) {
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
