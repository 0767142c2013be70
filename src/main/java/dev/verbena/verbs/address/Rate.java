package dev.verbena.verbs.address;

import dev.verbena.CName;
import dev.verbena.NativeValue;

/** A rate limit of packets along a path, the {@code static_rate} of an address ({@code enum ibv_rate}). */
public enum Rate implements NativeValue {
    /** As fast as the port can ({@code IBV_RATE_MAX}). */
    MAX(0, -1, -1, "IBV_RATE_MAX"),
    /** 2.5 Gbit/s ({@code IBV_RATE_2_5_GBPS}). */
    GBPS_2_5(2, 2500, 1, "IBV_RATE_2_5_GBPS"),
    /** 5 Gbit/s ({@code IBV_RATE_5_GBPS}). */
    GBPS_5(5, 5000, 2, "IBV_RATE_5_GBPS"),
    /** 10 Gbit/s ({@code IBV_RATE_10_GBPS}). */
    GBPS_10(3, 10000, 4, "IBV_RATE_10_GBPS"),
    /** 20 Gbit/s ({@code IBV_RATE_20_GBPS}). */
    GBPS_20(6, 20000, 8, "IBV_RATE_20_GBPS"),
    /** 30 Gbit/s ({@code IBV_RATE_30_GBPS}). */
    GBPS_30(4, 30000, 12, "IBV_RATE_30_GBPS"),
    /** 40 Gbit/s ({@code IBV_RATE_40_GBPS}). */
    GBPS_40(7, 40000, 16, "IBV_RATE_40_GBPS"),
    /** 60 Gbit/s ({@code IBV_RATE_60_GBPS}). */
    GBPS_60(8, 60000, 24, "IBV_RATE_60_GBPS"),
    /** 80 Gbit/s ({@code IBV_RATE_80_GBPS}). */
    GBPS_80(9, 80000, 32, "IBV_RATE_80_GBPS"),
    /** 120 Gbit/s ({@code IBV_RATE_120_GBPS}). */
    GBPS_120(10, 120000, 48, "IBV_RATE_120_GBPS"),
    /** 14 Gbit/s ({@code IBV_RATE_14_GBPS}). */
    GBPS_14(11, 14062, -1, "IBV_RATE_14_GBPS"),
    /** 56 Gbit/s ({@code IBV_RATE_56_GBPS}). */
    GBPS_56(12, 56250, -1, "IBV_RATE_56_GBPS"),
    /** 112 Gbit/s ({@code IBV_RATE_112_GBPS}). */
    GBPS_112(13, 112500, -1, "IBV_RATE_112_GBPS"),
    /** 168 Gbit/s ({@code IBV_RATE_168_GBPS}). */
    GBPS_168(14, 168750, -1, "IBV_RATE_168_GBPS"),
    /** 25 Gbit/s ({@code IBV_RATE_25_GBPS}). */
    GBPS_25(15, 25781, -1, "IBV_RATE_25_GBPS"),
    /** 100 Gbit/s ({@code IBV_RATE_100_GBPS}). */
    GBPS_100(16, 103125, -1, "IBV_RATE_100_GBPS"),
    /** 200 Gbit/s ({@code IBV_RATE_200_GBPS}). */
    GBPS_200(17, 206250, -1, "IBV_RATE_200_GBPS"),
    /** 300 Gbit/s ({@code IBV_RATE_300_GBPS}). */
    GBPS_300(18, 309375, -1, "IBV_RATE_300_GBPS"),
    /** 28 Gbit/s ({@code IBV_RATE_28_GBPS}). */
    GBPS_28(19, 28125, 11, "IBV_RATE_28_GBPS"),
    /** 50 Gbit/s ({@code IBV_RATE_50_GBPS}). */
    GBPS_50(20, 53125, 20, "IBV_RATE_50_GBPS"),
    /** 400 Gbit/s ({@code IBV_RATE_400_GBPS}). */
    GBPS_400(21, 425000, 160, "IBV_RATE_400_GBPS"),
    /** 600 Gbit/s ({@code IBV_RATE_600_GBPS}). */
    GBPS_600(22, 637500, 240, "IBV_RATE_600_GBPS"),
    /** 800 Gbit/s ({@code IBV_RATE_800_GBPS}). */
    GBPS_800(23, 850000, 320, "IBV_RATE_800_GBPS"),
    /** 1200 Gbit/s ({@code IBV_RATE_1200_GBPS}). */
    GBPS_1200(24, 1275000, 480, "IBV_RATE_1200_GBPS"),
    /** A number that this release does not know. */
    UNKNOWN(-1, -1, -1, "");

    private static final Rate[] VALUES = values();

    private final int code;
    private final int megabits;
    private final int multiplier;
    private final String cName;

    Rate(int code, int megabits, int multiplier, String cName) {
        this.code = code;
        this.megabits = megabits;
        this.multiplier = multiplier;
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
    public static Rate of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
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
