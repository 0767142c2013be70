package dev.verbena.verbs.device;

import dev.verbena.internal.raw.rdma_h;

/** A function that chooses the work queue of a packet ({@code enum ibv_rx_hash_function_flags}). */
public enum HashFunction {
    /** The Toeplitz hash ({@code IBV_RX_HASH_FUNC_TOEPLITZ}). */
    TOEPLITZ(rdma_h.IBV_RX_HASH_FUNC_TOEPLITZ);

    private final int bit;

    HashFunction(int bit) {
        this.bit = bit;
    }

    /**
     * Returns the bit in C.
     *
     * @return a number with one bit set
     */
    public int bit() {
        return bit;
    }
}
