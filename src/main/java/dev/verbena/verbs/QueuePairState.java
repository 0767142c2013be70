package dev.verbena.verbs;

import dev.verbena.NativeValue;

/** A state of a queue pair ({@code enum ibv_qp_state}). */
public enum QueuePairState implements NativeValue {
    /** The queue pair is new or was reset, and nothing can be posted ({@code IBV_QPS_RESET}). */
    RESET(0, "IBV_QPS_RESET"),
    /** Receives can be posted, but no message is received yet ({@code IBV_QPS_INIT}). */
    INIT(1, "IBV_QPS_INIT"),
    /** The queue pair is ready to receive ({@code IBV_QPS_RTR}). */
    RTR(2, "IBV_QPS_RTR"),
    /** The queue pair is ready to receive and to send ({@code IBV_QPS_RTS}). */
    RTS(3, "IBV_QPS_RTS"),
    /** The send queue drains before attributes change ({@code IBV_QPS_SQD}). */
    SQD(4, "IBV_QPS_SQD"),
    /** The send queue of an unreliable queue pair has failed; receiving goes on ({@code IBV_QPS_SQE}). */
    SQE(5, "IBV_QPS_SQE"),
    /** The queue pair has failed, and all posted requests complete as flushed ({@code IBV_QPS_ERR}). */
    ERR(6, "IBV_QPS_ERR"),
    /** A number that this release does not know. */
    UNKNOWN(7, "");

    private static final QueuePairState[] VALUES = values();

    private final int code;
    private final String cName;

    QueuePairState(int code, String cName) {
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
    public static QueuePairState of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}
