package dev.verbena.verbs;

import dev.verbena.NativeFlag;

/** How a work request is carried out ({@code enum ibv_send_flags}). */
public enum SendFlag implements NativeFlag {
    /** Waits for earlier reads and atomics of the queue pair ({@code IBV_SEND_FENCE}). */
    FENCE(1, "IBV_SEND_FENCE"),
    /** Makes a completion ({@code IBV_SEND_SIGNALED}). */
    SIGNALED(1 << 1, "IBV_SEND_SIGNALED"),
    /** Wakes a receiver that waits for solicited messages only ({@code IBV_SEND_SOLICITED}). */
    SOLICITED(1 << 2, "IBV_SEND_SOLICITED"),
    /** The data travels within the request, and its memory is free at once ({@code IBV_SEND_INLINE}). */
    INLINE(1 << 3, "IBV_SEND_INLINE"),
    /** The adapter fills in the checksums of IP and of UDP or TCP ({@code IBV_SEND_IP_CSUM}). */
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
