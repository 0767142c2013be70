package dev.verbena.verbs;

import dev.verbena.NativeFlag;

/** A guarantee about the order in which data is written to memory ({@code enum ibv_query_qp_data_in_order_caps}). */
public enum DataOrder implements NativeFlag {
    /** A whole message is written from its first byte to its last ({@code IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG}). */
    WHOLE_MESSAGE(1, "IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG"),
    /** Blocks of 128 bytes, aligned to 128 bytes, are written in order ({@code IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES}). */
    ALIGNED_128_BYTES(1 << 1, "IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES");

    private final int bit;
    private final String cName;

    DataOrder(int bit, String cName) {
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
