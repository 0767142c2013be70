package dev.verbena.verbs;

import dev.verbena.NativeFlag;

/** A flag of a work request ({@code enum ibv_send_flags}). */
public enum SendFlag implements NativeFlag {
    /** Holds the request back until earlier reads and atomics are done ({@code IBV_SEND_FENCE}). */
    FENCE(1, "IBV_SEND_FENCE"),
    /** Makes a successful request complete ({@code IBV_SEND_SIGNALED}). */
    SIGNALED(1 << 1, "IBV_SEND_SIGNALED"),
    /** Wakes a receiver that waits for solicited messages only ({@code IBV_SEND_SOLICITED}). */
    SOLICITED(1 << 2, "IBV_SEND_SOLICITED"),
    /** Copies the data into the request, so that its memory is free at once ({@code IBV_SEND_INLINE}). */
    INLINE(1 << 3, "IBV_SEND_INLINE"),
    /** Lets the adapter fill in the checksums of IP and of UDP or TCP ({@code IBV_SEND_IP_CSUM}). */
    IP_CSUM(1 << 4, "IBV_SEND_IP_CSUM");

    private final int bit;
    private final String cName;

    SendFlag(int bit, String cName) {
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
