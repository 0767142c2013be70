package dev.verbena.verbs.device;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * A capability of a device ({@code enum ibv_device_cap_flags}, and the macros for the bits of {@code device_cap_flags_ex}
 * from 32 on).
 */
public enum DeviceCapability {
    /** The number of work requests of a queue pair can be changed ({@code IBV_DEVICE_RESIZE_MAX_WR}). */
    RESIZE_MAX_WR(0, "IBV_DEVICE_RESIZE_MAX_WR"),
    /** Ports count packets with wrong partition keys ({@code IBV_DEVICE_BAD_PKEY_CNTR}). */
    BAD_PKEY_COUNTER(1, "IBV_DEVICE_BAD_PKEY_CNTR"),
    /** Ports count datagrams with wrong keys ({@code IBV_DEVICE_BAD_QKEY_CNTR}). */
    BAD_QKEY_COUNTER(2, "IBV_DEVICE_BAD_QKEY_CNTR"),
    /** Raw packets can be multicast ({@code IBV_DEVICE_RAW_MULTI}). */
    RAW_MULTICAST(3, "IBV_DEVICE_RAW_MULTI"),
    /** Connections can migrate to another path ({@code IBV_DEVICE_AUTO_PATH_MIG}). */
    AUTOMATIC_MIGRATION(4, "IBV_DEVICE_AUTO_PATH_MIG"),
    /** A queue pair can change its port ({@code IBV_DEVICE_CHANGE_PHY_PORT}). */
    CHANGE_PHYSICAL_PORT(5, "IBV_DEVICE_CHANGE_PHY_PORT"),
    /** A datagram must leave by the port of its queue pair ({@code IBV_DEVICE_UD_AV_PORT_ENFORCE}). */
    ADDRESS_PORT_ENFORCED(6, "IBV_DEVICE_UD_AV_PORT_ENFORCE"),
    /** A change of state can name the current state ({@code IBV_DEVICE_CURR_QP_STATE_MOD}). */
    CURRENT_STATE_MODIFIER(7, "IBV_DEVICE_CURR_QP_STATE_MOD"),
    /** A port can be shut down ({@code IBV_DEVICE_SHUTDOWN_PORT}). */
    SHUTDOWN_PORT(8, "IBV_DEVICE_SHUTDOWN_PORT"),
    /** The kind of initialisation can be set ({@code IBV_DEVICE_INIT_TYPE}). */
    INIT_TYPE(9, "IBV_DEVICE_INIT_TYPE"),
    /** A port that becomes active raises an event ({@code IBV_DEVICE_PORT_ACTIVE_EVENT}). */
    PORT_ACTIVE_EVENT(10, "IBV_DEVICE_PORT_ACTIVE_EVENT"),
    /** The device reports the GUID of the system ({@code IBV_DEVICE_SYS_IMAGE_GUID}). */
    SYSTEM_IMAGE_GUID(11, "IBV_DEVICE_SYS_IMAGE_GUID"),
    /** The device tells a sender that no receive is posted ({@code IBV_DEVICE_RC_RNR_NAK_GEN}). */
    RNR_NAK(12, "IBV_DEVICE_RC_RNR_NAK_GEN"),
    /** A shared receive queue can be resized ({@code IBV_DEVICE_SRQ_RESIZE}). */
    SHARED_RECEIVE_RESIZE(13, "IBV_DEVICE_SRQ_RESIZE"),
    /** A notification can wait for several completions ({@code IBV_DEVICE_N_NOTIFY_CQ}). */
    NOTIFY_COUNT(14, "IBV_DEVICE_N_NOTIFY_CQ"),
    /** The device has memory windows ({@code IBV_DEVICE_MEM_WINDOW}). */
    MEMORY_WINDOW(17, "IBV_DEVICE_MEM_WINDOW"),
    /** The device computes checksums of IP over datagrams ({@code IBV_DEVICE_UD_IP_CSUM}). */
    UD_IP_CSUM(18, "IBV_DEVICE_UD_IP_CSUM"),
    /** The device has extended reliable connections ({@code IBV_DEVICE_XRC}). */
    XRC(20, "IBV_DEVICE_XRC"),
    /** The device has fast registration, and sends that invalidate keys ({@code IBV_DEVICE_MEM_MGT_EXTENSIONS}). */
    MEMORY_MANAGEMENT(21, "IBV_DEVICE_MEM_MGT_EXTENSIONS"),
    /** The device has memory windows of type 2A ({@code IBV_DEVICE_MEM_WINDOW_TYPE_2A}). */
    MEMORY_WINDOW_2A(23, "IBV_DEVICE_MEM_WINDOW_TYPE_2A"),
    /** The device has memory windows of type 2B ({@code IBV_DEVICE_MEM_WINDOW_TYPE_2B}). */
    MEMORY_WINDOW_2B(24, "IBV_DEVICE_MEM_WINDOW_TYPE_2B"),
    /** The device computes checksums of IP over connections ({@code IBV_DEVICE_RC_IP_CSUM}). */
    RC_IP_CSUM(25, "IBV_DEVICE_RC_IP_CSUM"),
    /** The device computes checksums of raw packets ({@code IBV_DEVICE_RAW_IP_CSUM}). */
    RAW_IP_CSUM(26, "IBV_DEVICE_RAW_IP_CSUM"),
    /** The device has flow steering ({@code IBV_DEVICE_MANAGED_FLOW_STEERING}). */
    FLOW_STEERING(29, "IBV_DEVICE_MANAGED_FLOW_STEERING"),
    /** Raw packets can arrive with their frame check sequence ({@code IBV_DEVICE_RAW_SCATTER_FCS}). */
    RAW_SCATTER_FCS(34, "IBV_DEVICE_RAW_SCATTER_FCS"),
    /** Writes to memory can be padded to whole cache lines ({@code IBV_DEVICE_PCI_WRITE_END_PADDING}). */
    PCI_WRITE_END_PADDING(36, "IBV_DEVICE_PCI_WRITE_END_PADDING"),
    /** Peers can flush writes, so that the whole system sees them ({@code IB_UVERBS_DEVICE_FLUSH_GLOBAL}). */
    FLUSH_GLOBAL(38, "IB_UVERBS_DEVICE_FLUSH_GLOBAL"),
    /** Peers can flush writes to persistent memory ({@code IB_UVERBS_DEVICE_FLUSH_PERSISTENT}). */
    FLUSH_PERSISTENT(39, "IB_UVERBS_DEVICE_FLUSH_PERSISTENT"),
    /** The device has atomic writes ({@code IB_UVERBS_DEVICE_ATOMIC_WRITE}). */
    ATOMIC_WRITE(40, "IB_UVERBS_DEVICE_ATOMIC_WRITE"),
    /** Memory of a confidential guest goes through bounce buffers ({@code IBV_DEVICE_CC_DMA_BOUNCE}). */
    DMA_BOUNCE(41, "IBV_DEVICE_CC_DMA_BOUNCE");

    private final long bit;
    private final String cName;

    DeviceCapability(int position, String cName) {
        this.bit = 1L << position;
        this.cName = cName;
    }

    /**
     * Returns the bit in C.
     *
     * @return a number with one of 64 bits set
     */
    public long bit() {
        return bit;
    }

    /**
     * Returns the constant's name in C.
     *
     * @return a name, such as {@code IBV_DEVICE_XRC}
     */
    public String cName() {
        return cName;
    }

    /**
     * Returns the capabilities of a flag word. Bits that this release does not know are left out.
     *
     * @param bits the flag word
     * @return the capabilities, unmodifiable
     */
    public static Set<DeviceCapability> of(long bits) {
        EnumSet<DeviceCapability> set = EnumSet.noneOf(DeviceCapability.class);
        for (DeviceCapability capability : values()) {
            if ((bits & capability.bit) != 0) {
                set.add(capability);
            }
        }
        return Collections.unmodifiableSet(set);
    }
}
