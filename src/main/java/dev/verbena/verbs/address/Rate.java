package dev.verbena.verbs.address;

import dev.verbena.CName;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;

/** A rate limit of packets along a path, the {@code static_rate} of an address ({@code enum ibv_rate}). */
public enum Rate {
    /** As fast as the port can ({@code IBV_RATE_MAX}). */
    MAX(rdma_h.IBV_RATE_MAX, -1, -1),
    /** 2.5 Gbit/s ({@code IBV_RATE_2_5_GBPS}). */
    GBPS_2_5(rdma_h.IBV_RATE_2_5_GBPS, 2500, 1),
    /** 5 Gbit/s ({@code IBV_RATE_5_GBPS}). */
    GBPS_5(rdma_h.IBV_RATE_5_GBPS, 5000, 2),
    /** 10 Gbit/s ({@code IBV_RATE_10_GBPS}). */
    GBPS_10(rdma_h.IBV_RATE_10_GBPS, 10000, 4),
    /** 20 Gbit/s ({@code IBV_RATE_20_GBPS}). */
    GBPS_20(rdma_h.IBV_RATE_20_GBPS, 20000, 8),
    /** 30 Gbit/s ({@code IBV_RATE_30_GBPS}). */
    GBPS_30(rdma_h.IBV_RATE_30_GBPS, 30000, 12),
    /** 40 Gbit/s ({@code IBV_RATE_40_GBPS}). */
    GBPS_40(rdma_h.IBV_RATE_40_GBPS, 40000, 16),
    /** 60 Gbit/s ({@code IBV_RATE_60_GBPS}). */
    GBPS_60(rdma_h.IBV_RATE_60_GBPS, 60000, 24),
    /** 80 Gbit/s ({@code IBV_RATE_80_GBPS}). */
    GBPS_80(rdma_h.IBV_RATE_80_GBPS, 80000, 32),
    /** 120 Gbit/s ({@code IBV_RATE_120_GBPS}). */
    GBPS_120(rdma_h.IBV_RATE_120_GBPS, 120000, 48),
    /** 14 Gbit/s ({@code IBV_RATE_14_GBPS}). */
    GBPS_14(rdma_h.IBV_RATE_14_GBPS, 14062, -1),
    /** 56 Gbit/s ({@code IBV_RATE_56_GBPS}). */
    GBPS_56(rdma_h.IBV_RATE_56_GBPS, 56250, -1),
    /** 112 Gbit/s ({@code IBV_RATE_112_GBPS}). */
    GBPS_112(rdma_h.IBV_RATE_112_GBPS, 112500, -1),
    /** 168 Gbit/s ({@code IBV_RATE_168_GBPS}). */
    GBPS_168(rdma_h.IBV_RATE_168_GBPS, 168750, -1),
    /** 25 Gbit/s ({@code IBV_RATE_25_GBPS}). */
    GBPS_25(rdma_h.IBV_RATE_25_GBPS, 25781, -1),
    /** 100 Gbit/s ({@code IBV_RATE_100_GBPS}). */
    GBPS_100(rdma_h.IBV_RATE_100_GBPS, 103125, -1),
    /** 200 Gbit/s ({@code IBV_RATE_200_GBPS}). */
    GBPS_200(rdma_h.IBV_RATE_200_GBPS, 206250, -1),
    /** 300 Gbit/s ({@code IBV_RATE_300_GBPS}). */
    GBPS_300(rdma_h.IBV_RATE_300_GBPS, 309375, -1),
    /** 28 Gbit/s ({@code IBV_RATE_28_GBPS}). */
    GBPS_28(rdma_h.IBV_RATE_28_GBPS, 28125, 11),
    /** 50 Gbit/s ({@code IBV_RATE_50_GBPS}). */
    GBPS_50(rdma_h.IBV_RATE_50_GBPS, 53125, 20),
    /** 400 Gbit/s ({@code IBV_RATE_400_GBPS}). */
    GBPS_400(rdma_h.IBV_RATE_400_GBPS, 425000, 160),
    /** 600 Gbit/s ({@code IBV_RATE_600_GBPS}). */
    GBPS_600(rdma_h.IBV_RATE_600_GBPS, 637500, 240),
    /** 800 Gbit/s ({@code IBV_RATE_800_GBPS}). */
    GBPS_800(rdma_h.IBV_RATE_800_GBPS, 850000, 320),
    /** 1200 Gbit/s ({@code IBV_RATE_1200_GBPS}). */
    GBPS_1200(rdma_h.IBV_RATE_1200_GBPS, 1275000, 480),
    /** A number that this release does not know. */
    UNKNOWN(-1, -1, -1);

    private static final Rate[] VALUES = values();

    private final int code;
    private final int megabits;
    private final int multiplier;

    Rate(int code, int megabits, int multiplier) {
        this.code = code;
        this.megabits = megabits;
        this.multiplier = multiplier;
    }

    /**
     * Returns the number in C.
     *
     * @return the value of the C constant
     */
    public int code() {
        return code;
    }

    /**
     * Returns the constant for a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static Rate of(int code) {
        return EnumCodec.find(VALUES, value -> value.code, code, UNKNOWN);
    }

    /**
     * Returns the rate of the link's signals ({@code ibv_rate_to_mbps}).
     *
     * @return Mbit/s; -1 for {@link #MAX} and {@link #UNKNOWN}
     */
    @CName("ibv_rate_to_mbps")
    public int megabitsPerSecond() {
        return megabits;
    }

    /**
     * Returns the rate in units of 2.5 Gbit/s ({@code ibv_rate_to_mult}).
     *
     * @return the multiplier; -1 for {@link #MAX} and for rates without a multiplier in C
     */
    @CName("ibv_rate_to_mult")
    public int multiplier() {
        return multiplier;
    }

    /**
     * Returns the constant for a rate ({@code mbps_to_ibv_rate}).
     *
     * @param megabits Mbit/s, a number that {@link #megabitsPerSecond} returns
     * @return the constant; {@link #MAX} for any other number
     */
    @CName("mbps_to_ibv_rate")
    public static Rate ofMegabitsPerSecond(int megabits) {
        for (Rate rate : VALUES) {
            if (rate.megabits == megabits && megabits > 0) {
                return rate;
            }
        }
        return MAX;
    }

    /**
     * Returns the constant for a multiple of 2.5 Gbit/s ({@code mult_to_ibv_rate}).
     *
     * @param multiplier the multiplier, a number that {@link #multiplier()} returns
     * @return the constant; {@link #MAX} for any other number
     */
    @CName("mult_to_ibv_rate")
    public static Rate ofMultiplier(int multiplier) {
        for (Rate rate : VALUES) {
            if (rate.multiplier == multiplier && multiplier > 0) {
                return rate;
            }
        }
        return MAX;
    }
}
