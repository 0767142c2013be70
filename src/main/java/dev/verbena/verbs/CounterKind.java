package dev.verbena.verbs;

import dev.verbena.NativeValue;

/** The unit that a counter counts ({@code enum ibv_counter_description}). */
public enum CounterKind implements NativeValue {
    /** Packets ({@code IBV_COUNTER_PACKETS}). */
    PACKETS(0, "IBV_COUNTER_PACKETS"),
    /** Bytes ({@code IBV_COUNTER_BYTES}). */
    BYTES(1, "IBV_COUNTER_BYTES");

    private final int code;
    private final String cName;

    CounterKind(int code, String cName) {
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
