package dev.verbena.verbs;

/** A flag of a work request ({@code enum ibv_send_flags}). */
public enum SendFlag {
    /** Holds the request back until earlier reads and atomics are done ({@code IBV_SEND_FENCE}). */
    FENCE(1),
    /** Makes a successful request complete ({@code IBV_SEND_SIGNALED}). */
    SIGNALED(1 << 1),
    /** Wakes a receiver that waits for solicited messages only ({@code IBV_SEND_SOLICITED}). */
    SOLICITED(1 << 2),
    /** Copies the data into the request, so that its memory is free at once ({@code IBV_SEND_INLINE}). */
    INLINE(1 << 3),
    /** Lets the adapter fill in the checksums of IP and of UDP or TCP ({@code IBV_SEND_IP_CSUM}). */
    IP_CSUM(1 << 4);

    private final int bit;

    SendFlag(int bit) {
        this.bit = bit;
    }

    int bit() {
        return bit;
    }
}
