package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.ibv_qp_rate_limit_attr;
import java.lang.foreign.MemorySegment;

/**
 * A limit of the rate at which a queue pair sends ({@code struct ibv_qp_rate_limit_attr}). Each option has a method
 * that returns a changed copy. Limits never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="rate-limit"}
 */
public final class RateLimit extends Options<RateLimit> {
    private static final long MAX = 0xffff_ffffL;

    private static final Keys<RateLimit> KEYS = new Keys<>();
    static final Key<RateLimit, Long> KILOBITS_PER_SECOND = KEYS.always("kbit/s", 0L);
    static final Key<RateLimit, Long> MAX_BURST = KEYS.key("burst", 0L);
    static final Key<RateLimit, Integer> TYPICAL_PACKET = KEYS.key("typical packet", 0);

    private RateLimit() {
        super(KEYS);
    }

    /**
     * Returns a limit whose burst and typical packet are left to the device.
     *
     * @param kilobitsPerSecond the rate in kbit/s; 0 for no limit
     * @return the limit
     * @throws IllegalArgumentException if the rate does not fit into 32 bits
     */
    public static RateLimit of(long kilobitsPerSecond) {
        return new RateLimit().kilobitsPerSecond(kilobitsPerSecond);
    }

    /**
     * Returns a copy with another rate ({@code rate_limit}).
     *
     * @param rate the rate in kbit/s, 32 bits; 0 for no limit
     * @return a changed copy
     */
    public RateLimit kilobitsPerSecond(long rate) {
        return with(KILOBITS_PER_SECOND, Checks.checkRange("rate", rate, MAX));
    }

    /**
     * Returns a copy with another number of bytes that can go at once ({@code max_burst_sz}).
     *
     * @param bytes the number of bytes, 32 bits; 0 for the device's choice, the default
     * @return a changed copy
     */
    public RateLimit maxBurst(long bytes) {
        return with(MAX_BURST, Checks.checkRange("burst", bytes, MAX));
    }

    /**
     * Returns a copy with another length of most packets ({@code typical_pkt_sz}).
     *
     * @param bytes the number of bytes, 16 bits; 0 for the device's choice, the default
     * @return a changed copy
     */
    public RateLimit typicalPacket(int bytes) {
        return with(TYPICAL_PACKET, Checks.checkRange("typical packet size", bytes, 0xffff));
    }

    void write(MemorySegment limit) {
        ibv_qp_rate_limit_attr.rate_limit(limit, KILOBITS_PER_SECOND.of(this).intValue());
        ibv_qp_rate_limit_attr.max_burst_sz(limit, MAX_BURST.of(this).intValue());
        ibv_qp_rate_limit_attr.typical_pkt_sz(limit, TYPICAL_PACKET.of(this).shortValue());
    }
}
