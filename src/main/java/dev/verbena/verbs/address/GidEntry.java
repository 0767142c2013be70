package dev.verbena.verbs.address;

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
