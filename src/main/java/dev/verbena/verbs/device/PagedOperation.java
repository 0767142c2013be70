package dev.verbena.verbs.device;

import dev.verbena.internal.raw.rdma_h;

/** An operation on memory that is paged in on demand ({@code enum ibv_odp_transport_cap_bits}). */
public enum PagedOperation {
    /** Sends ({@code IBV_ODP_SUPPORT_SEND}). */
    SEND(rdma_h.IBV_ODP_SUPPORT_SEND),
    /** Receives ({@code IBV_ODP_SUPPORT_RECV}). */
    RECEIVE(rdma_h.IBV_ODP_SUPPORT_RECV),
    /** RDMA writes ({@code IBV_ODP_SUPPORT_WRITE}). */
    WRITE(rdma_h.IBV_ODP_SUPPORT_WRITE),
    /** RDMA reads ({@code IBV_ODP_SUPPORT_READ}). */
    READ(rdma_h.IBV_ODP_SUPPORT_READ),
    /** Atomics ({@code IBV_ODP_SUPPORT_ATOMIC}). */
    ATOMIC(rdma_h.IBV_ODP_SUPPORT_ATOMIC),
    /** Receives of a shared receive queue ({@code IBV_ODP_SUPPORT_SRQ_RECV}). */
    SHARED_RECEIVE(rdma_h.IBV_ODP_SUPPORT_SRQ_RECV),
    /** Flushes ({@code IBV_ODP_SUPPORT_FLUSH}). */
    FLUSH(rdma_h.IBV_ODP_SUPPORT_FLUSH),
    /** Atomic writes ({@code IBV_ODP_SUPPORT_ATOMIC_WRITE}). */
    ATOMIC_WRITE(rdma_h.IBV_ODP_SUPPORT_ATOMIC_WRITE);

    final int bit;

    PagedOperation(int bit) {
        this.bit = bit;
    }
}
