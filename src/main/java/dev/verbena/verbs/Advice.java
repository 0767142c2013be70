package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** Advice to an adapter about memory that is paged in on demand ({@code enum ibv_advise_mr_advice}). */
public enum Advice {
    /** Bring pages in for reading ({@code IBV_ADVISE_MR_ADVICE_PREFETCH}). */
    PREFETCH(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH),
    /** Bring pages in for writing ({@code IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE}). */
    PREFETCH_WRITE(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE),
    /** Map the pages that are in memory already, and bring in no others ({@code IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT}). */
    PREFETCH_NO_FAULT(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT);

    final int code;

    Advice(int code) {
        this.code = code;
    }
}
