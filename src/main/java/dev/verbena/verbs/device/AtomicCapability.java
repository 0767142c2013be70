package dev.verbena.verbs.device;

import dev.verbena.NativeValue;

/** The scope within which atomic operations are atomic ({@code enum ibv_atomic_cap}). */
public enum AtomicCapability implements NativeValue {
    /** No atomics ({@code IBV_ATOMIC_NONE}). */
    NONE(0, "IBV_ATOMIC_NONE"),
    /** Atomic among the queue pairs of this device ({@code IBV_ATOMIC_HCA}). */
    HCA(1, "IBV_ATOMIC_HCA"),
    /** Atomic among the queue pairs of this device and with the processor ({@code IBV_ATOMIC_GLOB}). */
    GLOBAL(2, "IBV_ATOMIC_GLOB"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    private static final AtomicCapability[] VALUES = values();

    private final int code;
    private final String cName;

    AtomicCapability(int code, String cName) {
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

    /**
     * Returns the constant for a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static AtomicCapability of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}
