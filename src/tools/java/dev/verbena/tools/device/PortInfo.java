package dev.verbena.tools.device;

import dev.verbena.verbs.Context;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.device.Mtu;
import dev.verbena.verbs.device.Port;
import java.io.PrintStream;
import java.util.HexFormat;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Prints the attributes of a port in the format of {@code ibv_devinfo}. */
final class PortInfo {
    private final Context context;
    private final Port port;
    private final PrintStream out;

    PortInfo(Context context, Port port, PrintStream out) {
        this.context = context;
        this.port = port;
        this.out = out;
    }

    void print(boolean all) {
        line("\t\tport:\t%d", port.number());
        line("\t\t\tstate:\t\t\t%s", DeviceInfo.coded(state(), port.state().code()));
        line("\t\t\tmax_mtu:\t\t%s", mtu(port.maxMtu()));
        line("\t\t\tactive_mtu:\t\t%s", mtu(port.activeMtu()));
        line("\t\t\tsm_lid:\t\t\t%d", port.subnetManagerLid());
        line("\t\t\tport_lid:\t\t%d", port.lid());
        line("\t\t\tport_lmc:\t\t0x%02x", port.lidMaskControl());
        line("\t\t\tlink_layer:\t\t%s", layer());
        if (!all) {
            return;
        }
        line("\t\t\tmax_msg_sz:\t\t0x%x", port.maxMessageSize());
        line("\t\t\tport_cap_flags:\t\t0x%08x", port.capabilityFlags());
        line("\t\t\tport_cap_flags2:\t0x%04x", port.capabilityFlags2());
        line("\t\t\tmax_vl_num:\t\t%s (%d)", virtualLanes(), port.maxVirtualLanes());
        line("\t\t\tbad_pkey_cntr:\t\t0x%x", port.badPkeys());
        line("\t\t\tqkey_viol_cntr:\t\t0x%x", port.qkeyViolations());
        line("\t\t\tsm_sl:\t\t\t%d", port.subnetManagerServiceLevel());
        line("\t\t\tpkey_tbl_len:\t\t%d", port.pkeyTableLength());
        line("\t\t\tgid_tbl_len:\t\t%d", port.gidTableLength());
        line("\t\t\tsubnet_timeout:\t\t%d", port.subnetTimeoutCode());
        line("\t\t\tinit_type_reply:\t%d", port.initTypeReply());
        line("\t\t\tactive_width:\t\t%sX (%d)", port.lanes() == 0 ? "invalid width" : port.lanes(), port.widthCode());
        line("\t\t\tactive_speed:\t\t%s (%d)", speed(), port.speedCode());
        if (port.linkLayer() != Port.LinkLayer.UNKNOWN) {
            line("\t\t\tphys_state:\t\t%s (%d)", physicalState(), port.physicalState());
        }
        for (GidEntry entry : context.gids()) {
            if (entry.port() == port.number()) {
                line("\t\t\tGID[%3d]:\t\t%s", entry.index(), gid(entry));
            }
        }
    }

    private void line(String format, Object... values) {
        DeviceInfo.line(out, format, values);
    }

    private String state() {
        return port.state() == Port.State.UNKNOWN ? "invalid state" : "PORT_" + port.state();
    }

    private static String mtu(Mtu mtu) {
        return DeviceInfo.coded(mtu == Mtu.UNKNOWN ? "invalid MTU" : String.valueOf(mtu.bytes()), mtu.code());
    }

    private String layer() {
        return switch (port.linkLayer()) {
            case UNSPECIFIED, INFINIBAND -> "InfiniBand";
            case ETHERNET -> "Ethernet";
            case UNKNOWN -> "Unknown";
        };
    }

    private String virtualLanes() {
        return switch (port.maxVirtualLanes()) {
            case 1 -> "1";
            case 2 -> "2";
            case 3 -> "4";
            case 4 -> "8";
            case 5 -> "15";
            default -> "invalid value";
        };
    }

    private String speed() {
        return switch (port.speedCode()) {
            case 0 -> "";
            case 1 -> "2.5 Gbps";
            case 2 -> "5.0 Gbps";
            case 4, 8 -> "10.0 Gbps";
            case 16 -> "14.0 Gbps";
            case 32 -> "25.0 Gbps";
            case 64 -> "50.0 Gbps";
            case 128 -> "100.0 Gbps";
            case 256 -> "200.0 Gbps";
            default -> "invalid speed";
        };
    }

    /** Returns the name of a physical state. The C tool spells one of them wrong, too. */
    private String physicalState() {
        return switch (port.physicalState()) {
            case 1 -> "SLEEP";
            case 2 -> "POLLING";
            case 3 -> "DISABLED";
            case 4 -> "PORT_CONFIGURATION TRAINNING";
            case 5 -> "LINK_UP";
            case 6 -> "LINK_ERROR_RECOVERY";
            case 7 -> "PHY TEST";
            default -> "invalid physical state";
        };
    }

    private String gid(GidEntry entry) {
        if (entry.type() == GidEntry.Type.ROCE_V2) {
            return Gids.text(entry.gid()) + ", RoCE v2";
        }
        byte[] bytes = entry.gid().toBytes();
        String groups = IntStream.range(0, 8)
                .mapToObj(i -> HexFormat.of().formatHex(bytes, 2 * i, 2 * i + 2))
                .collect(Collectors.joining(":"));
        return groups
                + (entry.type() == GidEntry.Type.IB && port.linkLayer() == Port.LinkLayer.ETHERNET
                        ? ", IB/RoCE v1"
                        : entry.type() == GidEntry.Type.ROCE_V1 ? ", RoCE v1" : "");
    }
}
