package dev.verbena.verbs;

import dev.verbena.internal.raw.ibv_gid_entry;
import java.lang.foreign.MemorySegment;
import java.net.NetworkInterface;
import java.net.SocketException;

/**
 * One entry of a port's GID table ({@code struct ibv_gid_entry}).
 *
 * @param gid the GID
 * @param port the port that it belongs to
 * @param index its index in the port's table, as address vectors name it
 * @param type how packets to it travel
 * @param networkDevice the name of the network device below, such as {@code eth0}; empty when there is none
 */
public record GidEntry(Gid gid, int port, int index, GidType type, String networkDevice) {
    static GidEntry read(MemorySegment entry) {
        return new GidEntry(
                Gid.read(entry, ibv_gid_entry.gid$offset()),
                ibv_gid_entry.port_num(entry),
                ibv_gid_entry.gid_index(entry),
                GidType.of(ibv_gid_entry.gid_type(entry)),
                networkDevice(ibv_gid_entry.ndev_ifindex(entry)));
    }

    private static String networkDevice(int index) {
        try {
            NetworkInterface found = index == 0 ? null : NetworkInterface.getByIndex(index);
            return found == null ? "" : found.getName();
        } catch (SocketException e) {
            return "";
        }
    }

    /** The lower, the better for reaching the port: see {@link Context#bestGid}. */
    int rank() {
        int kind = switch (type) {
            case ROCE_V2 -> 0;
            case IB -> 1;
            case ROCE_V1, UNKNOWN -> 2;
        };
        int address = gid.isIpv4Mapped() ? 0 : gid.isLinkLocal() ? 2 : 1;
        return kind * 3 + address;
    }

    /** For example {@code GID 1 of port 1: ::ffff:10.9.9.1, RoCE v2, on e0}. */
    @Override
    public String toString() {
        String kind = switch (type) {
            case IB -> "InfiniBand";
            case ROCE_V1 -> "RoCE v1";
            case ROCE_V2 -> "RoCE v2";
            case UNKNOWN -> "unknown type";
        };
        return "GID " + index + " of port " + port + ": " + gid + ", " + kind
                + (networkDevice.isEmpty() ? "" : ", on " + networkDevice);
    }
}
