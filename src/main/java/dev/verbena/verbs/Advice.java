package dev.verbena.verbs;

import dev.verbena.NativeValue;

/** Advice to an adapter about memory that is paged in on demand ({@code enum ibv_advise_mr_advice}). */
public enum Advice implements NativeValue {
    /** Bring pages in for reading ({@code IBV_ADVISE_MR_ADVICE_PREFETCH}). */
    PREFETCH(0, "IBV_ADVISE_MR_ADVICE_PREFETCH"),
    /** Bring pages in for writing ({@code IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE}). */
    PREFETCH_WRITE(1, "IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE"),
    /** Map the pages that are in memory already, and bring in no others ({@code IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT}). */
    PREFETCH_NO_FAULT(2, "IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT");

    private final int code;
    private final String cName;

    Advice(int code, String cName) {
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
