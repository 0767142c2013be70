package dev.verbena.tools;

import dev.verbena.verbs.device.QueuePairType;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * What is to be measured: the client says it, in one line, to the server.
 *
 * @param modes latency, bandwidth, or both
 * @param operation what is done
 * @param type the transport
 * @param manager whether the connection manager connects, or the endpoints are exchanged over TCP
 * @param sizes of the messages, in bytes
 * @param iterations how many messages of each size
 * @param depth how many may be under way when the bandwidth is measured
 * @param inline up to which size a message is sent inline
 * @param events whether to sleep until something completes
 */
record PerfPlan(
        List<Mode> modes,
        Operation operation,
        QueuePairType type,
        boolean manager,
        List<Integer> sizes,
        int iterations,
        int depth,
        int inline,
        boolean events) {
    /** The version of the line, which both sides must have. */
    private static final String VERSION = "verbena-perf-2";

    /** What is measured. */
    enum Mode {
        /** How long one message takes. */
        LAT,
        /** How much goes through. */
        BW;

        String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** What is done. */
    enum Operation {
        /** Messages, which the server receives. */
        SEND,
        /** RDMA writes. */
        WRITE,
        /** RDMA reads. */
        READ,
        /** Atomic fetch-and-add, of 8 bytes. */
        ATOMIC;

        boolean worksOver(QueuePairType type) {
            return switch (this) {
                case SEND -> true;
                case WRITE -> type != QueuePairType.UD;
                case READ, ATOMIC -> type == QueuePairType.RC;
            };
        }

        String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Whether the server answers in kind, so that half of the way there and back is measured. */
    boolean answers() {
        return operation == Operation.SEND || operation == Operation.WRITE;
    }

    /** How the latency is measured, for one who reads the numbers. */
    String meaningOfLatency() {
        return answers() ? "half of the way there and back" : "until it has completed";
    }

    /** How often to do it before the latency is measured. */
    int warmUp() {
        return Math.max(1, iterations / 10);
    }

    /** Whether the server has to receive. */
    boolean receives() {
        return operation == Operation.SEND;
    }

    int largest() {
        return sizes.stream().mapToInt(Integer::intValue).max().orElseThrow();
    }

    /** For example {@code RC send}. */
    String title() {
        return type + " " + operation.text();
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
                        events ? "events" : "polling")
                + "\n";
    }

    private static String join(List<?> values) {
        return values.stream().map(Object::toString).collect(Collectors.joining(","));
    }

    static PerfPlan fromLine(String line) throws IOException {
        String[] words = line.strip().split(" ");
        if (words.length != 10 || !words[0].equals(VERSION)) {
            throw new IOException("The client asks for '" + line.strip() + "', and this server knows " + VERSION
                    + ": are both of the same release?");
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
                    words[4].equals("cm"),
                    sizes,
                    Integer.parseInt(words[6]),
                    Integer.parseInt(words[7]),
                    Integer.parseInt(words[8]),
                    words[9].equals("events"));
        } catch (IllegalArgumentException e) {
            throw new IOException("The client asks for what this server does not know: '" + line.strip() + "'", e);
        }
    }
}
