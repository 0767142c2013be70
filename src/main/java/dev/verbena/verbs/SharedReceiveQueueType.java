package dev.verbena.verbs;

import dev.verbena.NativeValue;

/** A type of shared receive queues ({@code enum ibv_srq_type}). */
public enum SharedReceiveQueueType implements NativeValue {
    /** A queue of the queue pairs that name it ({@code IBV_SRQT_BASIC}). */
    BASIC(0, "IBV_SRQT_BASIC"),
    /** A queue of extended reliable connections, whose senders name it ({@code IBV_SRQT_XRC}). */
    XRC(1, "IBV_SRQT_XRC"),
    /** A queue that finds receives by tag ({@code IBV_SRQT_TM}). */
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
     * Returns the type with a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static SharedReceiveQueueType of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}
