package dev.verbena.tools.perf;

import static dev.verbena.tools.perf.PerfPlan.check;
import static dev.verbena.tools.perf.PerfPlan.checkRange;

/**
 * The traffic of a measurement: the amount that it sends at once, for which time, and in which class.
 *
 * @param seconds the time of each measurement; 0 if the number of messages ends it
 * @param bothWays true if both ends send when the bandwidth is measured
 * @param pairs number of queue pairs when the bandwidth is measured
 * @param mtu payload of a packet in bytes; 0 for that of the port
 * @param serviceLevel the service level; -1 for that of the path
 * @param trafficClass the traffic class; -1 for that of the path
 */
public record PerfTraffic(int seconds, boolean bothWays, int pairs, int mtu, int serviceLevel, int trafficClass) {
    /** A number of messages in one direction on one queue pair, on the path as it is found. */
    public static final PerfTraffic PLAIN = new PerfTraffic(0, false, 1, 0, -1, -1);

    /** The longest time of a measurement. */
    static final int MOST_SECONDS = 24 * 60 * 60;

    /** The largest number of queue pairs. */
    static final int MOST_PAIRS = 1024;

    /**
     * Makes the traffic of a plan.
     *
     * @throws IllegalArgumentException if a value is out of bounds
     */
    public PerfTraffic {
        checkRange("time in seconds", seconds, 0, MOST_SECONDS);
        checkRange("number of queue pairs", pairs, 1, MOST_PAIRS);
        check(
                mtu == 0 || (mtu >= 256 && mtu <= 4096 && Integer.bitCount(mtu) == 1),
                "MTU must be 256, 512, 1024, 2048 or 4096 bytes, got " + mtu);
        checkRange("service level", serviceLevel, -1, 15);
        checkRange("traffic class", trafficClass, -1, 255);
    }

    /** Returns what is not plain, for a title, with a comma before each; for example {@code , 4 queue pairs}. */
    String title() {
        return (bothWays ? ", both directions" : "")
                + (pairs > 1 ? ", " + pairs + " queue pairs" : "")
                + (mtu > 0 ? ", MTU " + mtu : "")
                + (serviceLevel >= 0 ? ", service level " + serviceLevel : "")
                + (trafficClass >= 0 ? ", traffic class " + trafficClass : "");
    }

    String toWords() {
        return seconds + " " + (bothWays ? "both" : "one") + " " + pairs + " " + mtu + " " + serviceLevel + " "
                + trafficClass;
    }

    /** Reads six words of a line, from {@code at} on. */
    static PerfTraffic of(String[] words, int at) {
        return new PerfTraffic(
                Integer.parseInt(words[at]),
                PerfPlan.isFirst(words[at + 1], "both", "one"),
                Integer.parseInt(words[at + 2]),
                Integer.parseInt(words[at + 3]),
                Integer.parseInt(words[at + 4]),
                Integer.parseInt(words[at + 5]));
    }
}
