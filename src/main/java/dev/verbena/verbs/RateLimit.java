package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.raw.ibv_qp_rate_limit_attr;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A limit of the rate at which a queue pair sends ({@code struct ibv_qp_rate_limit_attr}). Each option has a method
 * that returns a changed copy, and a method of the same name that reads it. Limits never change, so all threads can use
 * them.
 *
 * {@snippet file="ObjectSnippets.java" region="rate-limit"}
 */
public final class RateLimit {
    private static final long MAX = 0xffff_ffffL;

    private final long kilobitsPerSecond;
    private final long maxBurst;
    private final int typicalPacket;

    private RateLimit(long kilobitsPerSecond, long maxBurst, int typicalPacket) {
        Checks.checkRange("rate", kilobitsPerSecond, MAX);
        Checks.checkRange("burst", maxBurst, MAX);
        Checks.checkRange("typical packet size", typicalPacket, 0xffff);
        this.kilobitsPerSecond = kilobitsPerSecond;
        this.maxBurst = maxBurst;
        this.typicalPacket = typicalPacket;
    }

    /**
     * Returns a limit whose burst and typical packet are left to the device.
     *
     * @param kilobitsPerSecond the rate in kbit/s; 0 for no limit
     * @return the limit
     * @throws IllegalArgumentException if the rate does not fit into 32 bits
     */
    public static RateLimit of(long kilobitsPerSecond) {
        return new RateLimit(kilobitsPerSecond, 0, 0);
    }

    /**
     * Returns the rate ({@code rate_limit}).
     *
     * @return the rate in kbit/s; 0 for no limit
     */
    public long kilobitsPerSecond() {
        return kilobitsPerSecond;
    }

    /**
     * Returns a copy with another rate ({@code rate_limit}).
     *
     * @param rate the rate in kbit/s, 32 bits; 0 for no limit
     * @return a changed copy
     */
    public RateLimit kilobitsPerSecond(long rate) {
        return new RateLimit(rate, maxBurst, typicalPacket);
    }

    /**
     * Returns the number of bytes that can go at once ({@code max_burst_sz}).
     *
     * @return the number of bytes; 0 for the device's choice
     */
    public long maxBurst() {
        return maxBurst;
    }

    /**
     * Returns a copy with another number of bytes that can go at once ({@code max_burst_sz}).
     *
     * @param bytes the number of bytes, 32 bits; 0 for the device's choice, the default
     * @return a changed copy
     */
    public RateLimit maxBurst(long bytes) {
        return new RateLimit(kilobitsPerSecond, bytes, typicalPacket);
    }

    /**
     * Returns the length of most packets ({@code typical_pkt_sz}).
     *
     * @return the number of bytes; 0 for the device's choice
     */
    public int typicalPacket() {
        return typicalPacket;
    }

    /**
     * Returns a copy with another length of most packets ({@code typical_pkt_sz}).
     *
     * @param bytes the number of bytes, 16 bits; 0 for the device's choice, the default
     * @return a changed copy
     */
    public RateLimit typicalPacket(int bytes) {
        return new RateLimit(kilobitsPerSecond, maxBurst, bytes);
    }

    void write(MemorySegment limit) {
        ibv_qp_rate_limit_attr.rate_limit(limit, (int) kilobitsPerSecond);
        ibv_qp_rate_limit_attr.max_burst_sz(limit, (int) maxBurst);
        ibv_qp_rate_limit_attr.typical_pkt_sz(limit, (short) typicalPacket);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RateLimit limit
                && kilobitsPerSecond == limit.kilobitsPerSecond
                && maxBurst == limit.maxBurst
                && typicalPacket == limit.typicalPacket;
    }

    @Override
    public int hashCode() {
        return Objects.hash(kilobitsPerSecond, maxBurst, typicalPacket);
    }

    /** Returns the options that are not 0, for example {@code 1000000 kbit/s, burst 16384}. */
    @Override
    public String toString() {
        return (kilobitsPerSecond == 0 ? "no limit" : kilobitsPerSecond + " kbit/s")
                + (maxBurst == 0 ? "" : ", burst " + maxBurst)
                + (typicalPacket == 0 ? "" : ", typical packet " + typicalPacket);
    }
}
