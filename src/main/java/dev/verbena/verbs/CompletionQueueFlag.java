package dev.verbena.verbs;

import dev.verbena.NativeFlag;

/** What is special about an extended completion queue ({@code enum ibv_create_cq_attr_flags}). */
public enum CompletionQueueFlag implements NativeFlag {
    /**
     * One thread only uses it and the queue pairs that report to it, so that the driver needs no locks: all of them
     * belong to confined arenas ({@code IBV_CREATE_CQ_ATTR_SINGLE_THREADED}).
     */
    SINGLE_THREADED(1, "IBV_CREATE_CQ_ATTR_SINGLE_THREADED"),
    /**
     * When more completions come than it holds, some are lost and it goes on
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
