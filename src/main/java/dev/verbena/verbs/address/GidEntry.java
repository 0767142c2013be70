package dev.verbena.verbs.address;

import dev.verbena.internal.raw.rdma_h;

/**
 * An entry of a port's GID table ({@code struct ibv_gid_entry}).
 *
 * @param gid the GID
 * @param port the number of the port
 * @param index the index in the port's table, which address vectors name
 * @param type the protocol of packets to the GID
 * @param networkDevice the name of the network device below, such as {@code eth0}; empty for none
 */
public record GidEntry(Gid gid, int port, int index, Type type, String networkDevice) {
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

    /** The protocol of packets to a GID ({@code enum ibv_gid_type}). */
    public enum Type {
        /** InfiniBand ({@code IBV_GID_TYPE_IB}). */
        IB(rdma_h.IBV_GID_TYPE_IB),
        /** RoCE v1, within one Ethernet segment ({@code IBV_GID_TYPE_ROCE_V1}). */
        ROCE_V1(rdma_h.IBV_GID_TYPE_ROCE_V1),
        /** RoCE v2, over UDP and IP ({@code IBV_GID_TYPE_ROCE_V2}). */
        ROCE_V2(rdma_h.IBV_GID_TYPE_ROCE_V2),
        /** A number that this release does not know. */
        UNKNOWN(-1);

        private final int code;

        Type(int code) {
            this.code = code;
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
         * Returns the constant for a number.
         *
         * @param code the number in C
         * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
         */
        public static Type of(int code) {
            for (Type value : values()) {
                if (value.code == code) {
                    return value;
                }
            }
            return UNKNOWN;
        }
    }
}
