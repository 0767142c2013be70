package dev.verbena.verbs.device;

import dev.verbena.CName;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.WireTime;
import dev.verbena.internal.raw.ibv_port_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Set;

/**
 * The state of a port at the time of the query ({@code struct ibv_port_attr}, {@code ibv_query_port}).
 *
 * <p>An instance is a copy that does not change. All threads may use it.
 */
public final class Port {
    private final String device;
    private final int number;
    private final MemorySegment attributes;

    Port(String device, int number, MemorySegment attributes) {
        this.device = device;
        this.number = number;
        this.attributes = attributes;
    }

    /**
     * Returns the port's number.
     *
     * @return the number, from 1
     */
    public int number() {
        return number;
    }

    /**
     * Returns the logical state ({@code state}).
     *
     * @return {@link State#ACTIVE} when the port works
     */
    public State state() {
        return State.of(ibv_port_attr.state(attributes));
    }

    /**
     * Returns the physical state ({@code phys_state}).
     *
     * @return the number of the InfiniBand specification: 5 is link up, 3 is disabled
     */
    public int physicalState() {
        return Byte.toUnsignedInt(ibv_port_attr.phys_state(attributes));
    }

    /**
     * Returns the largest MTU that the port supports ({@code max_mtu}).
     *
     * @return the MTU
     */
    public Mtu maxMtu() {
        return Mtu.of(ibv_port_attr.max_mtu(attributes));
    }

    /**
     * Returns the MTU in use ({@code active_mtu}).
     *
     * @return the MTU
     */
    public Mtu activeMtu() {
        return Mtu.of(ibv_port_attr.active_mtu(attributes));
    }

    /**
     * Returns the length of the GID table ({@code gid_tbl_len}).
     *
     * @return the number of entries, most of which may be empty
     */
    public int gidTableLength() {
        return ibv_port_attr.gid_tbl_len(attributes);
    }

    /**
     * Returns the length of the table of partition keys ({@code pkey_tbl_len}).
     *
     * @return the number of entries
     */
    public int pkeyTableLength() {
        return Short.toUnsignedInt(ibv_port_attr.pkey_tbl_len(attributes));
    }

    /**
     * Returns the capabilities of the port as a flag word ({@code port_cap_flags}).
     *
     * @return bits of {@code enum ibv_port_cap_flags}, including those that this release does not know
     */
    public int capabilityFlags() {
        return ibv_port_attr.port_cap_flags(attributes);
    }

    /**
     * Returns the further capabilities of the port as a flag word ({@code port_cap_flags2}).
     *
     * @return bits of {@code enum ibv_port_cap_flags2}, including those that this release does not know
     */
    public int capabilityFlags2() {
        return Short.toUnsignedInt(ibv_port_attr.port_cap_flags2(attributes));
    }

    /**
     * Returns the capabilities of the port ({@code port_cap_flags}).
     *
     * @return the capabilities that this release knows
     */
    public Set<Capability> capabilities() {
        return EnumCodec.flags(Capability.class, Capability::bit, capabilityFlags());
    }

    /**
     * Returns the further capabilities of the port ({@code port_cap_flags2}).
     *
     * @return the capabilities that this release knows
     */
    public Set<Capability2> capabilities2() {
        return EnumCodec.flags(Capability2.class, Capability2::bit, capabilityFlags2());
    }

    /**
     * Returns the size of the largest message ({@code max_msg_sz}).
     *
     * @return the size in bytes
     */
    public long maxMessageSize() {
        return Integer.toUnsignedLong(ibv_port_attr.max_msg_sz(attributes));
    }

    /**
     * Returns the local identifier, which the subnet manager assigned ({@code lid}).
     *
     * @return the LID; 0 on Ethernet
     */
    public int lid() {
        return Short.toUnsignedInt(ibv_port_attr.lid(attributes));
    }

    /**
     * Returns the subnet manager's local identifier ({@code sm_lid}).
     *
     * @return the LID; 0 on Ethernet
     */
    public int subnetManagerLid() {
        return Short.toUnsignedInt(ibv_port_attr.sm_lid(attributes));
    }

    /**
     * Returns the service level to the subnet manager ({@code sm_sl}).
     *
     * @return the level, 0 to 15
     */
    public int subnetManagerServiceLevel() {
        return Byte.toUnsignedInt(ibv_port_attr.sm_sl(attributes));
    }

    /**
     * Returns the number of low bits of the LID that choose a path ({@code lmc}).
     *
     * @return the number of bits, 0 to 7
     */
    public int lidMaskControl() {
        return Byte.toUnsignedInt(ibv_port_attr.lmc(attributes));
    }

    /**
     * Returns the longest time that the subnet takes to deliver a packet ({@code subnet_timeout}).
     *
     * @return the time
     */
    public Duration subnetTimeout() {
        return WireTime.exponential(subnetTimeoutCode());
    }

    /**
     * Returns the code of the longest time that the subnet takes to deliver a packet ({@code subnet_timeout}).
     *
     * @return an exponent, 0 to 31: the time is 4.096 us times two to this power
     */
    public int subnetTimeoutCode() {
        return ibv_port_attr.subnet_timeout(attributes) & 31;
    }

    /**
     * Returns the code of the maximum number of virtual lanes ({@code max_vl_num}).
     *
     * @return the code
     */
    public int maxVirtualLanes() {
        return Byte.toUnsignedInt(ibv_port_attr.max_vl_num(attributes));
    }

    /**
     * Returns the subnet manager's reply to the initialisation of the port ({@code init_type_reply}).
     *
     * @return the code
     */
    public int initTypeReply() {
        return Byte.toUnsignedInt(ibv_port_attr.init_type_reply(attributes));
    }

    /**
     * Returns the number of packets that arrived with a wrong partition key ({@code bad_pkey_cntr}).
     *
     * @return the count
     */
    public int badPkeys() {
        return ibv_port_attr.bad_pkey_cntr(attributes);
    }

    /**
     * Returns the number of datagrams that arrived with a wrong queue key ({@code qkey_viol_cntr}).
     *
     * @return the count
     */
    public int qkeyViolations() {
        return ibv_port_attr.qkey_viol_cntr(attributes);
    }

    /**
     * Returns the link layer ({@code link_layer}).
     *
     * @return the link layer: Ethernet for RoCE and iWARP
     */
    public LinkLayer linkLayer() {
        return LinkLayer.of(Byte.toUnsignedInt(ibv_port_attr.link_layer(attributes)));
    }

    /**
     * Returns true if every packet must carry a global routing header ({@code IBV_QPF_GRH_REQUIRED}), as on RoCE.
     *
     * @return true if a GID index is mandatory
     */
    public boolean needsGlobalRouting() {
        return linkLayer() == LinkLayer.ETHERNET || (ibv_port_attr.flags(attributes) & 1) != 0;
    }

    /**
     * Returns the number of lanes of the link ({@code active_width}).
     *
     * @return the number, such as 4, or 0 for an unknown code
     */
    public int lanes() {
        return switch (widthCode()) {
            case 1 -> 1;
            case 2 -> 4;
            case 4 -> 8;
            case 8 -> 12;
            case 16 -> 2;
            default -> 0;
        };
    }

    /**
     * Returns the code of the number of lanes ({@code active_width}).
     *
     * @return the number of the InfiniBand specification: 1 is one lane, 2 is four
     */
    public int widthCode() {
        return Byte.toUnsignedInt(ibv_port_attr.active_width(attributes));
    }

    /**
     * Returns the name of the link's signalling rate (see {@link #speedCode}).
     *
     * @return a name, such as {@code HDR}, or the number of an unknown code
     */
    public String speedName() {
        int code = speedCode();
        return switch (code) {
            case 1 -> "SDR";
            case 2 -> "DDR";
            case 4 -> "QDR";
            case 8 -> "FDR10";
            case 16 -> "FDR";
            case 32 -> "EDR";
            case 64 -> "HDR";
            case 128 -> "NDR";
            case 256 -> "XDR";
            default -> "speed " + code;
        };
    }

    /**
     * Returns the data rate of the link: the number of lanes times the speed of one lane.
     *
     * @return the rate in Gbit/s, or 0 for an unknown code
     */
    public double gigabitsPerSecond() {
        double lane = switch (speedCode()) {
            case 1 -> 2.5;
            case 2 -> 5;
            case 4, 8 -> 10;
            case 16 -> 14;
            case 32 -> 25;
            case 64 -> 50;
            case 128 -> 100;
            case 256 -> 200;
            default -> 0;
        };
        return lane * lanes();
    }

    /**
     * Returns the code of the link's signalling rate ({@code active_speed_ex}, or {@code active_speed} where the kernel or
     * rdma-core does not have it). Before rdma-core 49, a link of XDR has the code of NDR.
     *
     * @return the number of the InfiniBand specification: 1 is SDR, 2.5 Gbit/s
     */
    public int speedCode() {
        int extended = ibv_port_attr.active_speed_ex(attributes);
        return extended != 0 ? extended : Byte.toUnsignedInt(ibv_port_attr.active_speed(attributes));
    }

    /** Returns text such as {@code port 1 of rxe0: ACTIVE, Ethernet, MTU 1024 (of 4096), 2.5 Gbit/s (1x SDR)}. */
    @Override
    public String toString() {
        String layer = switch (linkLayer()) {
            case ETHERNET -> "Ethernet";
            case INFINIBAND, UNSPECIFIED -> "InfiniBand, LID " + lid();
            case UNKNOWN -> "unknown link layer";
        };
        String speed = gigabitsPerSecond() == 0
                ? speedName()
                : String.format(
                        java.util.Locale.ROOT,
                        "%s Gbit/s (%dx %s)",
                        gigabitsPerSecond() % 1 == 0 ? String.valueOf((long) gigabitsPerSecond()) : gigabitsPerSecond(),
                        lanes(),
                        speedName());
        return "port " + number + " of " + device + ": " + state() + ", " + layer + ", MTU "
                + activeMtu().bytes() + " (of " + maxMtu().bytes() + "), " + speed;
    }

    /** The logical state of a port ({@code enum ibv_port_state}). */
    public enum State {
        /** Not defined ({@code IBV_PORT_NOP}). */
        NOP(rdma_h.IBV_PORT_NOP, "no state change (NOP)"),
        /** No link ({@code IBV_PORT_DOWN}). */
        DOWN(rdma_h.IBV_PORT_DOWN, "down"),
        /** The link is up, but the subnet manager has not configured the port yet ({@code IBV_PORT_INIT}). */
        INIT(rdma_h.IBV_PORT_INIT, "init"),
        /** The port is configured, but not active yet ({@code IBV_PORT_ARMED}). */
        ARMED(rdma_h.IBV_PORT_ARMED, "armed"),
        /** The port works ({@code IBV_PORT_ACTIVE}). */
        ACTIVE(rdma_h.IBV_PORT_ACTIVE, "active"),
        /** The link is temporarily down ({@code IBV_PORT_ACTIVE_DEFER}). */
        ACTIVE_DEFER(rdma_h.IBV_PORT_ACTIVE_DEFER, "active defer"),
        /** A number that this release does not know. */
        UNKNOWN(-1, "unknown");

        private final int code;
        private final String meaning;

        State(int code, String meaning) {
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
         * Returns the description that the C tools print ({@code ibv_port_state_str}).
         *
         * @return a description, such as {@code no state change (NOP)}
         */
        @CName("ibv_port_state_str")
        public String meaning() {
            return meaning;
        }

        static State of(int code) {
            return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
        }
    }

    /** The link layer below RDMA on a port ({@code IBV_LINK_LAYER_*}). */
    public enum LinkLayer {
        /** Not reported, which means InfiniBand ({@code IBV_LINK_LAYER_UNSPECIFIED}). */
        UNSPECIFIED(rdma_h.IBV_LINK_LAYER_UNSPECIFIED),
        /** InfiniBand ({@code IBV_LINK_LAYER_INFINIBAND}). */
        INFINIBAND(rdma_h.IBV_LINK_LAYER_INFINIBAND),
        /** Ethernet: RoCE or iWARP ({@code IBV_LINK_LAYER_ETHERNET}). */
        ETHERNET(rdma_h.IBV_LINK_LAYER_ETHERNET),
        /** A number that this release does not know. */
        UNKNOWN(-1);

        final int code;

        LinkLayer(int code) {
            this.code = code;
        }

        static LinkLayer of(int code) {
            for (LinkLayer value : values()) {
                if (value.code == code) {
                    return value;
                }
            }
            return UNKNOWN;
        }
    }

    /** A capability of a port ({@code enum ibv_port_cap_flags}). */
    public enum Capability {
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
        /** The port has {@link Capability2} too ({@code IBV_PORT_CAP_MASK2_SUP}). */
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

        Capability(int bit) {
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

    /** A further capability of a port ({@code enum ibv_port_cap_flags2}). */
    public enum Capability2 {
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

        Capability2(int bit) {
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
}
