package dev.verbena.tools.perf;

import dev.verbena.verbs.device.QueuePairType;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A plan of measurements. The client sends its plan to the server as one line.
 *
 * @param modes latency, bandwidth, or both
 * @param operation the operation to measure
 * @param type the transport
 * @param manager true if the connection manager connects, false if the endpoints are exchanged over TCP
 * @param sizes message sizes in bytes
 * @param iterations number of messages of each size
 * @param depth number of outstanding operations when the bandwidth is measured
 * @param inline largest message to send inline
 * @param events true to sleep until a completion arrives, false to poll
 * @param traffic how much is sent at once, for how long, and in which class
 */
public record PerfPlan(
        List<Mode> modes,
        Operation operation,
        QueuePairType type,
        boolean manager,
        List<Integer> sizes,
        int iterations,
        int depth,
        int inline,
        boolean events,
        PerfTraffic traffic) {
    /** The largest message in bytes. */
    public static final int LARGEST = 1 << 30;

    /** The largest number of messages of each size. */
    public static final int MOST_ITERATIONS = 1_000_000_000;

    /** The largest number of outstanding operations. */
    static final int MOST_DEPTH = 1 << 14;

    /** The largest message to send inline, in bytes. */
    static final int MOST_INLINE = 1 << 16;

    private static final int MOST_SIZES = 64;

    /** The version of the line, which must be the same on both sides. */
    private static final String VERSION = "verbena-perf-3";

    /**
     * Makes a plan.
     *
     * @throws IllegalArgumentException if a value is out of bounds, or if the values contradict each other
     */
    public PerfPlan {
        modes = List.copyOf(modes);
        sizes = List.copyOf(sizes);
        check(!modes.isEmpty() && modes.size() == Set.copyOf(modes).size(), "LAT, BW or both are needed, got " + modes);
        check(
                type == QueuePairType.RC || type == QueuePairType.UC || type == QueuePairType.UD,
                "-c must be RC, UC or UD, got " + type);
        check(operation.worksOver(type), type + " has no " + operation.text());
        check(!manager || type != QueuePairType.UC, "-R connects RC and UD only");
        check(
                !events || operation != Operation.WRITE || !modes.contains(Mode.LAT),
                "the write latency can't be measured with -e: the arrival of a write causes no event");
        check(
                !sizes.isEmpty() && sizes.size() <= MOST_SIZES,
                "there must be 1 to " + MOST_SIZES + " message sizes, got " + sizes.size());
        for (int size : sizes) {
            check(size >= 1 && size <= LARGEST, "message size must be from 1 byte to 1 GiB, got " + size);
        }
        check(operation != Operation.ATOMIC || sizes.equals(List.of(8)), "an atomic has 8 bytes, got " + sizes);
        checkRange("number of messages", iterations, 1, MOST_ITERATIONS);
        checkRange("number of outstanding operations", depth, 1, MOST_DEPTH);
        checkRange("largest message to send inline", inline, 0, MOST_INLINE);
        check(
                (traffic.pairs() == 1 && !traffic.bothWays()) || modes.equals(List.of(Mode.BW)),
                "-q and -b measure the bandwidth only");
        check(
                !manager || (traffic.pairs() == 1 && traffic.mtu() == 0 && traffic.serviceLevel() < 0),
                "-R takes -T, but not -q, -m and -S: the connection manager finds the path of one queue pair");
        check(
                !manager || !traffic.bothWays() || type != QueuePairType.UD,
                "-b with -R needs RC: with UD, the server knows its peer from the first message only");
        check(traffic.mtu() == 0 || type != QueuePairType.UD, "-m is for RC and UC: a datagram is one packet");
    }

    static void checkRange(String what, int value, int least, int most) {
        check(value >= least && value <= most, what + " must be from " + least + " to " + most + ", got " + value);
    }

    static void check(boolean right, String otherwise) {
        if (!right) {
            throw new IllegalArgumentException(otherwise);
        }
    }

    /** A quantity to measure. */
    public enum Mode {
        /** Latency of one message. */
        LAT,
        /** Bandwidth. */
        BW;

        /**
         * Returns the name in options and reports.
         *
         * @return for example {@code lat}
         */
        public String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** An operation to measure. */
    public enum Operation {
        /** Sends, which the server receives. */
        SEND,
        /** RDMA writes. */
        WRITE,
        /** RDMA reads. */
        READ,
        /** Atomic fetch-and-add of 8 bytes. */
        ATOMIC;

        boolean worksOver(QueuePairType type) {
            return switch (this) {
                case SEND -> true;
                case WRITE -> type != QueuePairType.UD;
                case READ, ATOMIC -> type == QueuePairType.RC;
            };
        }

        /**
         * Returns the name in options and reports.
         *
         * @return for example {@code send}
         */
        public String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Tells whether the server answers each message, so that the latency is half of the round trip. */
    boolean answers() {
        return operation == Operation.SEND || operation == Operation.WRITE;
    }

    /** Returns the definition of the latency, for the report. */
    String meaningOfLatency() {
        return answers() ? "half of the round trip" : "until completion";
    }

    /** Returns the number of operations before the measurement of the latency. */
    int warmUp() {
        return Math.max(1, iterations / 10);
    }

    /** Tells whether the server posts receives. */
    boolean receives() {
        return operation == Operation.SEND;
    }

    int largest() {
        return sizes.stream().mapToInt(Integer::intValue).max().orElseThrow();
    }

    /** Returns the number of messages at which a measurement ends, if its time is not over before. */
    int limit() {
        return traffic.seconds() > 0 ? MOST_ITERATIONS : iterations;
    }

    /** Returns a title, for example {@code RC send}. */
    String title() {
        return type + " " + operation.text() + traffic.title();
    }

    String toLine() {
        return String.join(
                        " ",
                        VERSION,
                        join(modes),
                        operation.name(),
                        type.name(),
                        manager ? "cm" : "tcp",
                        join(sizes),
                        String.valueOf(iterations),
                        String.valueOf(depth),
                        String.valueOf(inline),
                        events ? "events" : "polling",
                        traffic.toWords())
                + "\n";
    }

    private static String join(List<?> values) {
        return values.stream().map(Object::toString).collect(Collectors.joining(","));
    }

    static PerfPlan fromLine(String line) throws IOException {
        String[] words = line.strip().split(" ");
        if (words.length != 16 || !words[0].equals(VERSION)) {
            throw new IOException("the client sent '" + line.strip() + "', but this server expects version " + VERSION
                    + ": do both ends have the same release?");
        }
        try {
            List<Mode> modes = new ArrayList<>();
            for (String mode : words[1].split(",")) {
                modes.add(Mode.valueOf(mode));
            }
            List<Integer> sizes = new ArrayList<>();
            for (String size : words[5].split(",")) {
                sizes.add(Integer.valueOf(size));
            }
            return new PerfPlan(
                    modes,
                    Operation.valueOf(words[2]),
                    QueuePairType.valueOf(words[3]),
                    isFirst(words[4], "cm", "tcp"),
                    sizes,
                    Integer.parseInt(words[6]),
                    Integer.parseInt(words[7]),
                    Integer.parseInt(words[8]),
                    isFirst(words[9], "events", "polling"),
                    PerfTraffic.of(words, 10));
        } catch (IllegalArgumentException e) {
            throw new IOException("the client sent an invalid plan, '" + line.strip() + "': " + e.getMessage(), e);
        }
    }

    static boolean isFirst(String word, String first, String second) {
        check(word.equals(first) || word.equals(second), "'" + word + "' is neither " + first + " nor " + second);
        return word.equals(first);
    }
}
