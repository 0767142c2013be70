package dev.verbena.verbs;

import dev.verbena.NativeValue;

/** A state of a work queue ({@code enum ibv_wq_state}). */
public enum WorkQueueState implements NativeValue {
    /** The queue is new, and nothing can be posted ({@code IBV_WQS_RESET}). */
    RESET(0, "IBV_WQS_RESET"),
    /** The queue receives ({@code IBV_WQS_RDY}). */
    READY(1, "IBV_WQS_RDY"),
    /** The queue has failed, and posted receives complete as flushed ({@code IBV_WQS_ERR}). */
    ERROR(2, "IBV_WQS_ERR"),
    /** The state is unknown to the library ({@code IBV_WQS_UNKNOWN}), or its number to this release. */
    UNKNOWN(3, "IBV_WQS_UNKNOWN");

    private static final WorkQueueState[] VALUES = values();

    private final int code;
    private final String cName;

    WorkQueueState(int code, String cName) {
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
     * Returns the state with a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static WorkQueueState of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}
