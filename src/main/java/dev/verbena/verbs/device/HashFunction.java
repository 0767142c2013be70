package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;

/** How a device spreads packets over work queues ({@code enum ibv_rx_hash_function_flags}). */
public enum HashFunction implements NativeFlag {
    /** By a Toeplitz hash ({@code IBV_RX_HASH_FUNC_TOEPLITZ}). */
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
