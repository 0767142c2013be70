package dev.verbena.verbs.device;

import dev.verbena.CName;
import dev.verbena.NativeValue;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** The transport of a queue pair ({@code enum ibv_qp_type}). */
public enum QueuePairType implements NativeValue {
    /** Reliable connection ({@code IBV_QPT_RC}). */
    RC(2, "IBV_QPT_RC"),
    /** Unreliable connection ({@code IBV_QPT_UC}). */
    UC(3, "IBV_QPT_UC"),
    /** Unreliable datagram ({@code IBV_QPT_UD}). */
    UD(4, "IBV_QPT_UD"),
    /** Whole Ethernet frames ({@code IBV_QPT_RAW_PACKET}). */
    RAW_PACKET(8, "IBV_QPT_RAW_PACKET"),
    /** The sending half of an extended reliable connection ({@code IBV_QPT_XRC_SEND}). */
    XRC_SEND(9, "IBV_QPT_XRC_SEND"),
    /** The receiving half of an extended reliable connection ({@code IBV_QPT_XRC_RECV}). */
    XRC_RECV(10, "IBV_QPT_XRC_RECV"),
    /** What a driver defines for itself ({@code IBV_QPT_DRIVER}). */
    DRIVER(0xff, "IBV_QPT_DRIVER"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    private static final QueuePairType[] VALUES = values();

    private final int code;
    private final String cName;

    QueuePairType(int code, String cName) {
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
     * The constant for a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static QueuePairType of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }

    /** The types in one of the device's capabilities, which has a bit for each. */
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
     * Whether one of the device's capabilities is for this type.
     *
     * @param bits the types, as C has them: a bit for each
     * @return true if this one's bit is set; false for numbers that have none, such as that of {@link #DRIVER}
     */
    @CName("ibv_is_qpt_supported")
    public boolean isIn(int bits) {
        return code >= 0 && code < Integer.SIZE && (bits & 1 << code) != 0;
    }
}
