package dev.verbena.verbs.address;

/**
 * An entry of a port's GID table ({@code struct ibv_gid_entry}).
 *
 * @param gid the GID
 * @param port the number of the port
 * @param index the index in the port's table, which address vectors name
 * @param type the protocol of packets to the GID
 * @param networkDevice the name of the network device below, such as {@code eth0}; empty for none
 */
public record GidEntry(Gid gid, int port, int index, GidType type, String networkDevice) {
    /** Returns the entry as text, such as {@code GID 1 of port 1: ::ffff:10.9.9.1, RoCE v2, on e0}. */
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
