package dev.verbena.verbs;

import dev.verbena.NativeValue;

/** The unit of a completion counter ({@code enum ibv_comp_cntr_type}). */
public enum CompletionCounterUnit implements NativeValue {
    /** Completed work requests ({@code IBV_COMP_CNTR_TYPE_WRS}). */
    WORK_REQUESTS(0, "IBV_COMP_CNTR_TYPE_WRS"),
    /** Bytes of completed work requests ({@code IBV_COMP_CNTR_TYPE_BYTES}). */
    BYTES(1, "IBV_COMP_CNTR_TYPE_BYTES");

    private final int code;
    private final String cName;

    CompletionCounterUnit(int code, String cName) {
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
}
