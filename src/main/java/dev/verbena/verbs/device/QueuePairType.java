package dev.verbena.verbs.device;

import dev.verbena.CName;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** The transport of a queue pair ({@code enum ibv_qp_type}). */
public enum QueuePairType {
    /** Reliable connection ({@code IBV_QPT_RC}). */
    RC(rdma_h.IBV_QPT_RC),
    /** Unreliable connection ({@code IBV_QPT_UC}). */
    UC(rdma_h.IBV_QPT_UC),
    /** Unreliable datagram ({@code IBV_QPT_UD}). */
    UD(rdma_h.IBV_QPT_UD),
    /** Whole Ethernet frames ({@code IBV_QPT_RAW_PACKET}). */
    RAW_PACKET(rdma_h.IBV_QPT_RAW_PACKET),
    /** The sending half of an extended reliable connection ({@code IBV_QPT_XRC_SEND}). */
    XRC_SEND(rdma_h.IBV_QPT_XRC_SEND),
    /** The receiving half of an extended reliable connection ({@code IBV_QPT_XRC_RECV}). */
    XRC_RECV(rdma_h.IBV_QPT_XRC_RECV),
    /** A transport that a driver defines ({@code IBV_QPT_DRIVER}). */
    DRIVER(rdma_h.IBV_QPT_DRIVER),
    /** A number that this release does not know. */
    UNKNOWN(-1);

    private static final QueuePairType[] VALUES = values();

    private final int code;

    QueuePairType(int code) {
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
    public static QueuePairType of(int code) {
        return EnumCodec.find(VALUES, value -> value.code, code, UNKNOWN);
    }

    /** Returns the types of a word that has a bit for each type. */
    static Set<QueuePairType> set(int bits) {
        EnumSet<QueuePairType> set = EnumSet.noneOf(QueuePairType.class);
        for (QueuePairType type : VALUES) {
            if (type.isIn(bits)) {
                set.add(type);
            }
        }
        return Collections.unmodifiableSet(set);
    }

    /**
     * Returns true if a set of types in C contains this type.
     *
     * @param bits a word with a bit for each type
     * @return true if the bit of this type is set; false for types without a bit, such as {@link #DRIVER}
     */
    @CName("ibv_is_qpt_supported")
    public boolean isIn(int bits) {
        return code >= 0 && code < Integer.SIZE && (bits & 1 << code) != 0;
    }
}
