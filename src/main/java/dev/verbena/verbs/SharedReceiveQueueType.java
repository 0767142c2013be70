package dev.verbena.verbs;

import dev.verbena.NativeValue;

/** The kind of a shared receive queue ({@code enum ibv_srq_type}). */
public enum SharedReceiveQueueType implements NativeValue {
    /** Receives for the queue pairs that name it ({@code IBV_SRQT_BASIC}). */
    BASIC(0, "IBV_SRQT_BASIC"),
    /** Receives for an extended reliable connection, whose senders name it ({@code IBV_SRQT_XRC}). */
    XRC(1, "IBV_SRQT_XRC"),
    /** Receives by tag ({@code IBV_SRQT_TM}). */
    TAG_MATCHING(2, "IBV_SRQT_TM"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    private static final SharedReceiveQueueType[] VALUES = values();

    private final int code;
    private final String cName;

    SharedReceiveQueueType(int code, String cName) {
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
    public static SharedReceiveQueueType of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}
