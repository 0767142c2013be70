package dev.verbena.verbs.device;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.WireTime;
import dev.verbena.internal.raw.ibv_port_attr;
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
     * @return {@link PortState#ACTIVE} when the port works
     */
    public PortState state() {
        return PortState.of(ibv_port_attr.state(attributes));
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
    public Set<PortCapability> capabilities() {
        return EnumCodec.flags(PortCapability.class, PortCapability::bit, capabilityFlags());
    }

    /**
     * Returns the further capabilities of the port ({@code port_cap_flags2}).
     *
     * @return the capabilities that this release knows
     */
    public Set<PortCapability2> capabilities2() {
        return EnumCodec.flags(PortCapability2.class, PortCapability2::bit, capabilityFlags2());
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
}
