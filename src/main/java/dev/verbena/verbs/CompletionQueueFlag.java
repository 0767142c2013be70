package dev.verbena.verbs;

import dev.verbena.NativeFlag;

/** A property of an extended completion queue ({@code enum ibv_create_cq_attr_flags}). */
public enum CompletionQueueFlag implements NativeFlag {
    /**
     * Only one thread uses the queue and the queue pairs that report to it, so that the driver needs no locks. All of
     * them belong to confined arenas ({@code IBV_CREATE_CQ_ATTR_SINGLE_THREADED}).
     */
    SINGLE_THREADED(1, "IBV_CREATE_CQ_ATTR_SINGLE_THREADED"),
    /**
     * The queue goes on, and loses completions, when more come than it holds
     * ({@code IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN}).
     */
    IGNORE_OVERRUN(1 << 1, "IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN");

    private final int bit;
    private final String cName;

    CompletionQueueFlag(int bit, String cName) {
        this.bit = bit;
        this.cName = cName;
    }

    @Override
    public int bit() {
        return bit;
    }

    @Override
    public String cName() {
        return cName;
    }
}
