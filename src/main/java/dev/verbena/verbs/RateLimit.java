package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.raw.ibv_qp_rate_limit_attr;
import java.lang.foreign.MemorySegment;

/**
 * How fast a queue pair may send ({@code struct ibv_qp_rate_limit_attr}).
 *
 * @param kilobitsPerSecond the rate; 0 for no limit
 * @param maxBurst how many bytes may go at once; 0 for the device's choice
 * @param typicalPacket how long a packet mostly is, in bytes; 0 for the device's choice
 */
public record RateLimit(long kilobitsPerSecond, long maxBurst, int typicalPacket) {
    private static final long MAX = 0xffff_ffffL;

    /**
     * Makes a limit.
     *
     * @throws IllegalArgumentException if a number does not fit into its field
     */
    public RateLimit {
        if (kilobitsPerSecond < 0 || kilobitsPerSecond > MAX || maxBurst < 0 || maxBurst > MAX) {
            throw new IllegalArgumentException(
                    "Rate and burst are from 0 to " + MAX + ": " + kilobitsPerSecond + ", " + maxBurst);
        }
        Checks.checkRange("typical packet size", typicalPacket, 0xffff);
    }

    void write(MemorySegment limit) {
        ibv_qp_rate_limit_attr.rate_limit(limit, (int) kilobitsPerSecond);
        ibv_qp_rate_limit_attr.max_burst_sz(limit, (int) maxBurst);
        ibv_qp_rate_limit_attr.typical_pkt_sz(limit, (short) typicalPacket);
    }
}
