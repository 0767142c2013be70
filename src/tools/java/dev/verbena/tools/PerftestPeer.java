package dev.verbena.tools;

import dev.verbena.tools.PerfPlan.Mode;
import dev.verbena.tools.PerfPlan.Operation;
import dev.verbena.verbs.device.Mtu;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A C program of perftest at the other end of a TCP connection. Both say the same at each step, the client first, and
 * wait for each other by saying again who they are.
 */
final class PerftestPeer {
    /** What the programs of the Debian package 4.5+0.17 say that they are. */
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

    /** Where the ends wait for each other, how often depends on what is measured. */
    enum Point {
        /** Both have a queue pair. */
        BEFORE_IT_CONNECTS,
        /** Both are connected. */
        BEFORE_IT_MEASURES,
        /** The client has measured. */
        AFTER_IT_HAS_MEASURED,
        /** Nothing is under way any more. */
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
     * What the client has measured.
     *
     * @param size of each message
     * @param iterations how many
     * @param mebibytes per second
     * @param millions of messages per second
     */
    record Report(long size, long iterations, double mebibytes, double millions) {}

    private byte[] swap(byte[] mine, String what) throws IOException, InterruptedException {
        if (client) {
            tcp.write(mine, what);
            return tcp.read(mine.length, what);
        }
        byte[] got = tcp.read(mine.length, what);
        tcp.write(mine, what);
        return got;
    }

    /** Both versions must be the same; of the sizes of packets, the smaller counts. */
    Mtu agree(Mtu mine) throws IOException, InterruptedException {
        byte[] hello = Arrays.copyOf(VERSION.getBytes(StandardCharsets.US_ASCII), VERSION_BYTES);
        if (client) {
            tcp.write(hello, "the version");
        }
        checkVersion(tcp.read(VERSION_BYTES, "its version"));
        if (!client) {
            tcp.write(hello, "the version");
        }
        span = Math.max(CYCLE, number("the size of the buffer that it goes through", CYCLE, LONGEST_CYCLE));
        number("the size of a cache line", CACHE_LINE, CYCLE);
        byte[] packet = swap(new byte[] {(byte) ('0' + mine.code()), 0}, "the size of packets");
        if (packet[0] < '1' || packet[0] > '5' || packet[1] != 0) {
            throw new IOException("The peer sent no size of packets that there is: is it another program?");
        }
        return Mtu.of(Math.min(mine.code(), packet[0] - '0'));
    }

    private static void checkVersion(byte[] bytes) throws IOException {
        String version = new String(bytes, StandardCharsets.ISO_8859_1);
        version = version.substring(0, Math.max(0, version.indexOf('\0')));
        if (!version.equals(VERSION)) {
            throw new IOException(
                    version.matches("[0-9]+\\.[0-9]+")
                            ? "The peer is perftest " + version + ", and this tool talks with perftest " + VERSION
                                    + " only"
                            : "The peer is no program of perftest: it sent no version");
        }
    }

    private int number(String what, int mine, int most) throws IOException, InterruptedException {
        int value = ByteBuffer.wrap(swap(ByteBuffer.allocate(4).putInt(mine).array(), what))
                .getInt();
        if (value < 1 || value > most) {
            throw new IOException("The peer says that " + what + " is " + value + ": is it another program?");
        }
        return value;
    }

    /** How much of each other's memory the ends go through when they write or read many times. */
    int span() {
        return span;
    }

    /** Tells who this end is, and answers who the other is. */
    PerftestKeys exchange(PerftestKeys mine) throws IOException, InterruptedException {
        keys = mine.toBytes();
        theirs = PerftestKeys.from(swap(keys, "its keys, with a GID (start it with -x INDEX)"));
        return theirs;
    }

    /** Waits for the peer, as often as it does at this point. */
    void repeat(Point point, PerfPlan plan) throws IOException, InterruptedException {
        for (int i = 0; i < point.times(plan); i++) {
            String what = "the word " + point.name().toLowerCase(Locale.ROOT).replace('_', ' ')
                    + " (has it the same test, size and count?)";
            if (!PerftestKeys.from(swap(keys, what)).equals(theirs)) {
                throw new IOException("The peer is out of step: has it the same test, size and count?");
            }
        }
    }

    /** Tells what was measured; what the server tells is of no account. */
    Report exchange(Report mine) throws IOException, InterruptedException {
        long size = swap(mine.size());
        long iterations = swap(mine.iterations());
        swap(0); // the peak
        double mebibytes = Double.longBitsToDouble(swap(Double.doubleToRawLongBits(mine.mebibytes())));
        double millions = Double.longBitsToDouble(swap(Double.doubleToRawLongBits(mine.millions())));
        return new Report(size, iterations, mebibytes, millions);
    }

    private long swap(long mine) throws IOException, InterruptedException {
        return ByteBuffer.wrap(swap(ByteBuffer.allocate(8).putLong(mine).array(), "the result"))
                .getLong();
    }

    /** Says that all is done. The C programs say so too, and do not stay to hear it. */
    void end() throws IOException, InterruptedException {
        tcp.write(DONE, "the last word");
        awaitItsEnd();
    }

    /** Stays until the peer has gone, for a while: it may have yet to learn that its last message has come. */
    void awaitItsEnd() throws InterruptedException {
        tcp.patience(FAREWELL);
        try {
            tcp.read(DONE.length, "the last word");
        } catch (IOException gone) {
            return;
        }
    }
}
