package dev.verbena.tools.perf;

import dev.verbena.tools.command.Tcp;
import dev.verbena.tools.perf.PerfPlan.Mode;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.verbs.device.Mtu;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A C program of perftest at the other end of a TCP connection. At each step both ends send the same kind of message,
 * the client first. They wait for each other by sending their keys again.
 */
final class PerftestPeer {
    /** The version that the programs of the Debian package 4.5+0.17 send. */
    static final String VERSION = "6.06";

    private static final int VERSION_BYTES = 16;
    private static final int CYCLE = 4096;
    private static final int LONGEST_CYCLE = 1 << 24;
    private static final int CACHE_LINE = 64;
    private static final byte[] DONE = "done\0".getBytes(StandardCharsets.US_ASCII);
    private static final Duration FAREWELL = Duration.ofSeconds(5);

    private final Tcp tcp;
    private final boolean client;
    private int span;
    private byte[] keys = {};
    private @Nullable PerftestKeys theirs;

    PerftestPeer(Tcp tcp, boolean client) {
        this.tcp = tcp;
        this.client = client;
    }

    /** A point at which the ends wait for each other. The number of waits depends on the test. */
    enum Point {
        /** Both have a queue pair. */
        BEFORE_IT_CONNECTS,
        /** Both are connected. */
        BEFORE_IT_MEASURES,
        /** The client has measured. */
        AFTER_IT_HAS_MEASURED,
        /** No operation is outstanding. */
        BEFORE_IT_CLOSES;

        private int times(PerfPlan plan) {
            boolean latency = plan.modes().getFirst() == Mode.LAT;
            boolean sends = plan.operation() == Operation.SEND;
            return switch (this) {
                case BEFORE_IT_CONNECTS -> latency && !sends ? 1 : 0;
                case BEFORE_IT_MEASURES -> sends ? 3 : 2;
                case AFTER_IT_HAS_MEASURED -> latency || sends ? 0 : 1;
                case BEFORE_IT_CLOSES -> latency && plan.operation() == Operation.WRITE ? 0 : 1;
            };
        }
    }

    /**
     * The client's results.
     *
     * @param size message size in bytes
     * @param iterations number of messages
     * @param mebibytes mebibytes per second
     * @param millions millions of messages per second
     */
    record Report(long size, long iterations, double mebibytes, double millions) {
        private static final double MEBI = 1 << 20;

        /** Returns the report of a client's result. */
        static Report of(Result result) {
            return new Report(
                    result.size(),
                    result.iterations(),
                    result.size() * result.messagesPerSecond() / MEBI,
                    result.messagesPerSecond() / 1e6);
        }

        /** Returns the bandwidth in the unit of all of this tool's output: 1,000,000 bytes per second. */
        double megabytesPerSecond() {
            return mebibytes * MEBI / 1e6;
        }
    }

    private byte[] swap(byte[] mine, String what) throws IOException, InterruptedException {
        if (client) {
            tcp.write(mine, what);
            return tcp.read(mine.length, what);
        }
        byte[] got = tcp.read(mine.length, what);
        tcp.write(mine, what);
        return got;
    }

    /** Checks that both versions are the same, and returns the smaller of both path MTUs. */
    Mtu agree(Mtu mine) throws IOException, InterruptedException {
        byte[] hello = Arrays.copyOf(VERSION.getBytes(StandardCharsets.US_ASCII), VERSION_BYTES);
        if (client) {
            tcp.write(hello, "the version");
        }
        checkVersion(tcp.read(VERSION_BYTES, "its version"));
        if (!client) {
            tcp.write(hello, "the version");
        }
        span = Math.max(CYCLE, number("the buffer size", CYCLE, LONGEST_CYCLE));
        number("the cache line size", CACHE_LINE, CYCLE);
        byte[] packet = swap(new byte[] {(byte) ('0' + mine.code()), 0}, "the MTU");
        if (packet[0] < '1' || packet[0] > '5' || packet[1] != 0) {
            throw new IOException("the peer sent an invalid MTU: is it another program?");
        }
        return Mtu.of(Math.min(mine.code(), packet[0] - '0'));
    }

    private static void checkVersion(byte[] bytes) throws IOException {
        String version = new String(bytes, StandardCharsets.ISO_8859_1);
        version = version.substring(0, Math.max(0, version.indexOf('\0')));
        if (!version.equals(VERSION)) {
            throw new IOException(
                    version.matches("[0-9]+\\.[0-9]+")
                            ? "the peer is perftest " + version + ", but this tool supports perftest " + VERSION
                                    + " only"
                            : "the peer is not a program of perftest: it sent no version");
        }
    }

    private int number(String what, int mine, int most) throws IOException, InterruptedException {
        int value = ByteBuffer.wrap(swap(ByteBuffer.allocate(4).putInt(mine).array(), what))
                .getInt();
        if (value < 1 || value > most) {
            throw new IOException("the peer sent " + value + " as " + what + ": is it another program?");
        }
        return value;
    }

    /** Returns the size of the memory that a series of writes or reads cycles through. */
    int span() {
        return span;
    }

    /** Exchanges keys, and returns those of the peer. */
    PerftestKeys exchange(PerftestKeys mine) throws IOException, InterruptedException {
        keys = mine.toBytes();
        theirs = PerftestKeys.from(swap(keys, "its keys, with a GID (start it with -x INDEX)"));
        return theirs;
    }

    /** Waits for the peer, as often as perftest does at this point. */
    void repeat(Point point, PerfPlan plan) throws IOException, InterruptedException {
        for (int i = 0; i < point.times(plan); i++) {
            String what = "its keys " + point.name().toLowerCase(Locale.ROOT).replace('_', ' ')
                    + " (does it have the same test, size and count?)";
            if (!PerftestKeys.from(swap(keys, what)).equals(theirs)) {
                throw new IOException("the peer is at another step: does it have the same test, size and count?");
            }
        }
    }

    /** Exchanges results. The server's results have no meaning. */
    Report exchange(Report mine) throws IOException, InterruptedException {
        long size = swap(mine.size());
        long iterations = swap(mine.iterations());
        swap(0); // the peak bandwidth
        double mebibytes = Double.longBitsToDouble(swap(Double.doubleToRawLongBits(mine.mebibytes())));
        double millions = Double.longBitsToDouble(swap(Double.doubleToRawLongBits(mine.millions())));
        return new Report(size, iterations, mebibytes, millions);
    }

    private long swap(long mine) throws IOException, InterruptedException {
        return ByteBuffer.wrap(swap(ByteBuffer.allocate(8).putLong(mine).array(), "the result"))
                .getLong();
    }

    /** Sends the last message. The C programs send it too, but do not wait for the other's. */
    void end() throws IOException, InterruptedException {
        tcp.write(DONE, "the last message");
        awaitItsEnd();
    }

    /** Waits a while for the peer to end: it may still wait for the acknowledgement of its last message. */
    void awaitItsEnd() throws InterruptedException {
        tcp.patience(FAREWELL);
        try {
            tcp.read(DONE.length, "the last message");
        } catch (IOException gone) {
            return;
        }
    }
}
