package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** A type of shared receive queues ({@code enum ibv_srq_type}). */
public enum SharedReceiveQueueType {
    /** A queue of the queue pairs that name it ({@code IBV_SRQT_BASIC}). */
    BASIC(rdma_h.IBV_SRQT_BASIC),
    /** A queue of extended reliable connections, whose senders name it ({@code IBV_SRQT_XRC}). */
    XRC(rdma_h.IBV_SRQT_XRC),
    /** A queue that finds receives by tag ({@code IBV_SRQT_TM}). */
    TAG_MATCHING(rdma_h.IBV_SRQT_TM);

    final int code;

    SharedReceiveQueueType(int code) {
        this.code = code;
    }
}
