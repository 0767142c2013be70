package dev.verbena.verbs.address;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;

/** The protocol of packets to a GID ({@code enum ibv_gid_type}). */
public enum GidType {
    /** InfiniBand ({@code IBV_GID_TYPE_IB}). */
    IB(rdma_h.IBV_GID_TYPE_IB),
    /** RoCE v1, within one Ethernet segment ({@code IBV_GID_TYPE_ROCE_V1}). */
    ROCE_V1(rdma_h.IBV_GID_TYPE_ROCE_V1),
    /** RoCE v2, over UDP and IP ({@code IBV_GID_TYPE_ROCE_V2}). */
    ROCE_V2(rdma_h.IBV_GID_TYPE_ROCE_V2),
    /** A number that this release does not know. */
    UNKNOWN(-1);

    private final int code;

    GidType(int code) {
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
    public static GidType of(int code) {
        return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
    }
}
