package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;
import dev.verbena.internal.raw.ibv_port_attr;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/** A port of a device, as it was when it was asked for ({@code struct ibv_port_attr}, {@code ibv_query_port}). */
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
     * The port's number.
     *
     * @return 1 or more
     */
    public int number() {
        return number;
    }

    /**
     * The logical state ({@code state}).
     *
     * @return {@link PortState#ACTIVE} when the port works
     */
    public PortState state() {
        return PortState.of(ibv_port_attr.state(attributes));
    }

    /**
     * The physical state ({@code phys_state}).
     *
     * @return the number that the InfiniBand specification gives it: 5 is link up, 3 is disabled
     */
    public int physicalState() {
        return Byte.toUnsignedInt(ibv_port_attr.phys_state(attributes));
    }

    /**
     * The largest MTU that the port can have ({@code max_mtu}).
     *
     * @return the MTU
     */
    public Mtu maxMtu() {
        return Mtu.of(ibv_port_attr.max_mtu(attributes));
    }

    /**
     * The MTU that the port has now ({@code active_mtu}).
     *
     * @return the MTU
     */
    public Mtu activeMtu() {
        return Mtu.of(ibv_port_attr.active_mtu(attributes));
    }

    /**
     * The length of the GID table ({@code gid_tbl_len}).
     *
     * @return the number of entries, most of which may be empty
     */
    public int gidTableLength() {
        return ibv_port_attr.gid_tbl_len(attributes);
    }

    /**
     * The length of the table of partition keys ({@code pkey_tbl_len}).
     *
     * @return the number of entries
     */
    public int pkeyTableLength() {
        return Short.toUnsignedInt(ibv_port_attr.pkey_tbl_len(attributes));
    }

    /**
     * What the port can do ({@code port_cap_flags}).
     *
     * @return bits of {@code enum ibv_port_cap_flags}
     */
    public int capabilityFlags() {
        return ibv_port_attr.port_cap_flags(attributes);
    }

    /**
     * What else the port can do ({@code port_cap_flags2}).
     *
     * @return bits of {@code enum ibv_port_cap_flags2}
     */
    public int capabilityFlags2() {
        return Short.toUnsignedInt(ibv_port_attr.port_cap_flags2(attributes));
    }

    /**
     * What the port can do ({@code port_cap_flags}).
     *
     * @return the capabilities that this release knows
     */
    public Set<PortCapability> capabilities() {
        return NativeFlag.of(PortCapability.class, capabilityFlags());
    }

    /**
     * What else the port can do ({@code port_cap_flags2}).
     *
     * @return the capabilities that this release knows
     */
    public Set<PortCapability2> capabilities2() {
        return NativeFlag.of(PortCapability2.class, capabilityFlags2());
    }

    /**
     * The largest message ({@code max_msg_sz}).
     *
     * @return bytes
     */
    public long maxMessageSize() {
        return Integer.toUnsignedLong(ibv_port_attr.max_msg_sz(attributes));
    }

    /**
     * The local identifier that the subnet manager gave ({@code lid}).
     *
     * @return the LID; 0 on Ethernet
     */
    public int lid() {
        return Short.toUnsignedInt(ibv_port_attr.lid(attributes));
    }

    /**
     * The subnet manager's local identifier ({@code sm_lid}).
     *
     * @return the LID; 0 on Ethernet
     */
    public int subnetManagerLid() {
        return Short.toUnsignedInt(ibv_port_attr.sm_lid(attributes));
    }

    /**
     * The service level to the subnet manager ({@code sm_sl}).
     *
     * @return 0 to 15
     */
    public int subnetManagerServiceLevel() {
        return Byte.toUnsignedInt(ibv_port_attr.sm_sl(attributes));
    }

    /**
     * How many low bits of the LID choose a path ({@code lmc}).
     *
     * @return 0 to 7
     */
    public int lidMaskControl() {
        return Byte.toUnsignedInt(ibv_port_attr.lmc(attributes));
    }

    /**
     * How long the subnet may take to deliver a packet ({@code subnet_timeout}).
     *
     * @return 4.096 us times two to this power
     */
    public int subnetTimeout() {
        return Byte.toUnsignedInt(ibv_port_attr.subnet_timeout(attributes));
    }

    /**
     * The code for the number of virtual lanes ({@code max_vl_num}).
     *
     * @return the code
     */
    public int maxVirtualLanes() {
        return Byte.toUnsignedInt(ibv_port_attr.max_vl_num(attributes));
    }

    /**
     * What the subnet manager answered to the port's initialisation ({@code init_type_reply}).
     *
     * @return the code
     */
    public int initTypeReply() {
        return Byte.toUnsignedInt(ibv_port_attr.init_type_reply(attributes));
    }

    /**
     * How many packets came with a wrong partition key ({@code bad_pkey_cntr}).
     *
     * @return the count
     */
    public int badPkeys() {
        return ibv_port_attr.bad_pkey_cntr(attributes);
    }

    /**
     * How many datagrams came with a wrong key ({@code qkey_viol_cntr}).
     *
     * @return the count
     */
    public int qkeyViolations() {
        return ibv_port_attr.qkey_viol_cntr(attributes);
    }

    /**
     * What runs below ({@code link_layer}).
     *
     * @return Ethernet for RoCE and iWARP
     */
    public LinkLayer linkLayer() {
        return LinkLayer.of(Byte.toUnsignedInt(ibv_port_attr.link_layer(attributes)));
    }

    /**
     * Whether every packet must carry a global routing header ({@code IBV_QPF_GRH_REQUIRED}), as on RoCE.
     *
     * @return true where a GID index is mandatory
     */
    public boolean needsGlobalRouting() {
        return linkLayer() == LinkLayer.ETHERNET || (ibv_port_attr.flags(attributes) & 1) != 0;
    }

    /**
     * How many lanes the link has ({@code active_width}).
     *
     * @return for example 4, or 0 when the code is not known
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
     * The code of how many lanes the link has ({@code active_width}).
     *
     * @return the number that the InfiniBand specification gives it: 1 is one lane, 2 is four
     */
    public int widthCode() {
        return Byte.toUnsignedInt(ibv_port_attr.active_width(attributes));
    }

    /**
     * The generation of the link's signalling ({@code active_speed}).
     *
     * @return for example {@code HDR}, or the code's number when it is not known
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
            default -> "speed " + code;
        };
    }

    /**
     * What the link can carry: lanes times the speed of one.
     *
     * @return Gbit/s, or 0 when a code is not known
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
            default -> 0;
        };
        return lane * lanes();
    }

    /**
     * The code of the link's signalling ({@code active_speed}).
     *
     * @return the number that the InfiniBand specification gives it: 1 is SDR, 2.5 Gbit/s
     */
    public int speedCode() {
        return Byte.toUnsignedInt(ibv_port_attr.active_speed(attributes));
    }

    /** For example {@code port 1 of rxe0: ACTIVE, Ethernet, MTU 1024 (of 4096), 2.5 Gbit/s (1x SDR)}. */
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
