package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;

/** A function that chooses the work queue of a packet ({@code enum ibv_rx_hash_function_flags}). */
public enum HashFunction implements NativeFlag {
    /** The Toeplitz hash ({@code IBV_RX_HASH_FUNC_TOEPLITZ}). */
    TOEPLITZ(1, "IBV_RX_HASH_FUNC_TOEPLITZ");

    private final int bit;
    private final String cName;

    HashFunction(int bit, String cName) {
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
