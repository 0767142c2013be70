package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** A state of a queue pair ({@code enum ibv_qp_state}). */
public enum QueuePairState {
    /** The queue pair is new or was reset, and nothing can be posted ({@code IBV_QPS_RESET}). */
    RESET(rdma_h.IBV_QPS_RESET),
    /** Receives can be posted, but no message is received yet ({@code IBV_QPS_INIT}). */
    INIT(rdma_h.IBV_QPS_INIT),
    /** The queue pair is ready to receive ({@code IBV_QPS_RTR}). */
    RTR(rdma_h.IBV_QPS_RTR),
    /** The queue pair is ready to receive and to send ({@code IBV_QPS_RTS}). */
    RTS(rdma_h.IBV_QPS_RTS),
    /** The send queue drains before attributes change ({@code IBV_QPS_SQD}). */
    SQD(rdma_h.IBV_QPS_SQD),
    /** The send queue of an unreliable queue pair has failed; receiving goes on ({@code IBV_QPS_SQE}). */
    SQE(rdma_h.IBV_QPS_SQE),
    /** The queue pair has failed, and all posted requests complete as flushed ({@code IBV_QPS_ERR}). */
    ERR(rdma_h.IBV_QPS_ERR),
    /** A number that this release does not know. */
    UNKNOWN(7);

    private final int code;

    QueuePairState(int code) {
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
     * Returns the state with a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static QueuePairState of(int code) {
        for (QueuePairState state : values()) {
            if (state.code == code) {
                return state;
            }
        }
        return UNKNOWN;
    }
}
