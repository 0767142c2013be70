package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;

/** An operation on memory that is paged in on demand ({@code enum ibv_odp_transport_cap_bits}). */
public enum PagedOperation implements NativeFlag {
    /** Sends ({@code IBV_ODP_SUPPORT_SEND}). */
    SEND(1, "IBV_ODP_SUPPORT_SEND"),
    /** Receives ({@code IBV_ODP_SUPPORT_RECV}). */
    RECEIVE(1 << 1, "IBV_ODP_SUPPORT_RECV"),
    /** RDMA writes ({@code IBV_ODP_SUPPORT_WRITE}). */
    WRITE(1 << 2, "IBV_ODP_SUPPORT_WRITE"),
    /** RDMA reads ({@code IBV_ODP_SUPPORT_READ}). */
    READ(1 << 3, "IBV_ODP_SUPPORT_READ"),
    /** Atomics ({@code IBV_ODP_SUPPORT_ATOMIC}). */
    ATOMIC(1 << 4, "IBV_ODP_SUPPORT_ATOMIC"),
    /** Receives of a shared receive queue ({@code IBV_ODP_SUPPORT_SRQ_RECV}). */
    SHARED_RECEIVE(1 << 5, "IBV_ODP_SUPPORT_SRQ_RECV"),
    /** Flushes ({@code IBV_ODP_SUPPORT_FLUSH}). */
    FLUSH(1 << 6, "IBV_ODP_SUPPORT_FLUSH"),
    /** Atomic writes ({@code IBV_ODP_SUPPORT_ATOMIC_WRITE}). */
    ATOMIC_WRITE(1 << 7, "IBV_ODP_SUPPORT_ATOMIC_WRITE");

    private final int bit;
    private final String cName;

    PagedOperation(int bit, String cName) {
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
