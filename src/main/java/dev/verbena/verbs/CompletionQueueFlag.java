package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** A property of an extended completion queue ({@code enum ibv_create_cq_attr_flags}). */
public enum CompletionQueueFlag {
    /**
     * Only one thread uses the queue and the queue pairs that report to it, so that the driver needs no locks. All of
     * them belong to confined arenas ({@code IBV_CREATE_CQ_ATTR_SINGLE_THREADED}).
     */
    SINGLE_THREADED(rdma_h.IBV_CREATE_CQ_ATTR_SINGLE_THREADED),
    /**
     * The queue goes on, and loses completions, when more come than it holds
     * ({@code IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN}).
     */
    IGNORE_OVERRUN(rdma_h.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);

    final int bit;

    CompletionQueueFlag(int bit) {
        this.bit = bit;
    }
}
