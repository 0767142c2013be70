package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** The unit that a counter counts ({@code enum ibv_counter_description}). */
public enum CounterKind {
    /** Packets ({@code IBV_COUNTER_PACKETS}). */
    PACKETS(rdma_h.IBV_COUNTER_PACKETS),
    /** Bytes ({@code IBV_COUNTER_BYTES}). */
    BYTES(rdma_h.IBV_COUNTER_BYTES);

    final int code;

    CounterKind(int code) {
        this.code = code;
    }
}
