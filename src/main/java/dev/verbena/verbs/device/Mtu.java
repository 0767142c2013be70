package dev.verbena.verbs.device;

import dev.verbena.internal.raw.rdma_h;

/** The largest payload of one packet ({@code enum ibv_mtu}). */
public enum Mtu {
    /** 256 bytes ({@code IBV_MTU_256}). */
    BYTES_256(rdma_h.IBV_MTU_256),
    /** 512 bytes ({@code IBV_MTU_512}). */
    BYTES_512(rdma_h.IBV_MTU_512),
    /** 1,024 bytes ({@code IBV_MTU_1024}). */
    BYTES_1024(rdma_h.IBV_MTU_1024),
    /** 2,048 bytes ({@code IBV_MTU_2048}). */
    BYTES_2048(rdma_h.IBV_MTU_2048),
    /** 4,096 bytes ({@code IBV_MTU_4096}). */
    BYTES_4096(rdma_h.IBV_MTU_4096),
    /** A number that this release does not know. */
    UNKNOWN(0);

    private static final Mtu[] VALUES = values();

    private final int code;

    Mtu(int code) {
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
    public static Mtu of(int code) {
        for (Mtu mtu : values()) {
            if (mtu.code == code) {
                return mtu;
            }
        }
        return UNKNOWN;
    }

    /**
     * Returns the size in bytes.
     *
     * @return the size, such as 1024; 0 for {@link #UNKNOWN}
     */
    public int bytes() {
        return this == UNKNOWN ? 0 : 128 << code;
    }

    /**
     * Returns the constant for a size.
     *
     * @param bytes 256, 512, 1024, 2048 or 4096
     * @return the constant
     * @throws IllegalArgumentException for any other size
     */
    public static Mtu ofBytes(int bytes) {
        for (Mtu mtu : VALUES) {
            if (mtu != UNKNOWN && mtu.bytes() == bytes) {
                return mtu;
            }
        }
        throw new IllegalArgumentException("MTU must be 256, 512, 1024, 2048 or 4096 bytes, got " + bytes);
    }
}
