package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** A guarantee about the order in which data is written to memory ({@code enum ibv_query_qp_data_in_order_caps}). */
public enum DataOrder {
    /** A whole message is written from its first byte to its last ({@code IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG}). */
    WHOLE_MESSAGE(rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG),
    /** Blocks of 128 bytes, aligned to 128 bytes, are written in order ({@code IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES}). */
    ALIGNED_128_BYTES(rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES);

    final int bit;

    DataOrder(int bit) {
        this.bit = bit;
    }
}
