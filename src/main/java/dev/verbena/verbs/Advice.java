package dev.verbena.verbs;

import dev.verbena.NativeValue;

/** What an adapter is told about memory that is paged on demand ({@code enum ibv_advise_mr_advice}). */
public enum Advice implements NativeValue {
    /** It will be read: bring its pages in ({@code IBV_ADVISE_MR_ADVICE_PREFETCH}). */
    PREFETCH(0, "IBV_ADVISE_MR_ADVICE_PREFETCH"),
    /** It will be written to: bring its pages in for that ({@code IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE}). */
    PREFETCH_WRITE(1, "IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE"),
    /** Let the adapter know the pages that are in memory already ({@code IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT}). */
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
