package dev.verbena.tools.perf;

import dev.verbena.tools.perf.PerfPlan.Mode;
import org.HdrHistogram.Histogram;

/**
 * The result of a measurement for messages of one size.
 *
 * @param mode the quantity that was measured
 * @param size size of a message in bytes
 * @param iterations number of messages
 * @param nanos the time of each message: half of the round trip if the server answers, else until completion
 * @param seconds the time of all messages together
 */
public record Result(Mode mode, int size, int iterations, Histogram nanos, double seconds) {
    /** Number of messages that must take longer than a percentile for the percentile to have a meaning. */
    static final int FEWEST_BEYOND = 5;

    /**
     * Returns a percentile of the times.
     *
     * @param percentile for example 99
     * @return microseconds
     */
    public double micros(double percentile) {
        return nanos.getValueAtPercentile(percentile) / 1e3;
    }

    /**
     * Tells whether enough messages took longer than a percentile to show it.
     *
     * @param percentile for example 99
     * @return true if the percentile has a meaning
     */
    public boolean hasPercentile(double percentile) {
        return iterations * (100 - percentile) >= 100 * FEWEST_BEYOND - 1e-6;
    }

    /**
     * Returns the bandwidth.
     *
     * @return MB/s, of 1,000,000 bytes
     */
    public double megabytesPerSecond() {
        return (double) size * iterations / seconds / 1e6;
    }

    /**
     * Returns the bandwidth as networks are sold by it.
     *
     * @return Gbit/s, of 1,000,000,000 bits
     */
    public double gigabitsPerSecond() {
        return megabytesPerSecond() * 8 / 1e3;
    }

    /**
     * Returns the rate.
     *
     * @return messages per second
     */
    public double messagesPerSecond() {
        return iterations / seconds;
    }
}
