package dev.verbena.verbs.address;

import dev.verbena.NativeValue;

/** The protocol of packets to a GID ({@code enum ibv_gid_type}). */
public enum GidType implements NativeValue {
    /** InfiniBand ({@code IBV_GID_TYPE_IB}). */
    IB(0, "IBV_GID_TYPE_IB"),
    /** RoCE v1, within one Ethernet segment ({@code IBV_GID_TYPE_ROCE_V1}). */
    ROCE_V1(1, "IBV_GID_TYPE_ROCE_V1"),
    /** RoCE v2, over UDP and IP ({@code IBV_GID_TYPE_ROCE_V2}). */
    ROCE_V2(2, "IBV_GID_TYPE_ROCE_V2"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    private static final GidType[] VALUES = values();

    private final int code;
    private final String cName;

    GidType(int code, String cName) {
        this.code = code;
        this.cName = cName;
    }

    @Override
    public int code() {
        return code;
    }

    @Override
    public String cName() {
        return cName;
    }

    /**
     * Returns the constant for a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static GidType of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}
