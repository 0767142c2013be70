package dev.verbena.verbs.device;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;

/** The scope within which atomic operations are atomic ({@code enum ibv_atomic_cap}). */
public enum AtomicCapability {
    /** No atomics ({@code IBV_ATOMIC_NONE}). */
    NONE(rdma_h.IBV_ATOMIC_NONE),
    /** Atomic among the queue pairs of this device ({@code IBV_ATOMIC_HCA}). */
    HCA(rdma_h.IBV_ATOMIC_HCA),
    /** Atomic among the queue pairs of this device and with the processor ({@code IBV_ATOMIC_GLOB}). */
    GLOBAL(rdma_h.IBV_ATOMIC_GLOB),
    /** A number that this release does not know. */
    UNKNOWN(-1);

    private final int code;

    AtomicCapability(int code) {
        this.code = code;
    }

    /**
     * Returns the number in C.
     *
     * @return the value of the C constant
     */
    public int code() {
        return code;
    }

    static AtomicCapability of(int code) {
        return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
    }
}
