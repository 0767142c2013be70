package dev.verbena.tools.perf;

import dev.verbena.VerbsArena;
import dev.verbena.tools.command.Tcp;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.Collections;
import java.util.List;

/**
 * Warms up the JVM by messages from this process to itself. A C program at the other end measures from its first message
 * on, and knows no messages that do not count.
 */
public final class PerfWarmUp {
    private static final Duration HANDSHAKE = Duration.ofSeconds(60);
    private static final int SERIES = 64;
    private static final int FIRST_MESSAGES = 50;
    private static final int MOST_MESSAGES = 20_000;
    private static final int LARGEST = 4096;

    /** The time to warm up. Tests shorten it. */
    static volatile Duration longest = Duration.ofMillis(1_500);

    private final PerfPlan plan;
    private final Device device;
    private final int port;
    private final int gidIndex;
    private final long nanos;
    private long spent;
    private int done;

    private PerfWarmUp(PerfPlan asked, int messages, long nanos, Device device, int port, int gidIndex) {
        int size = Math.min(asked.largest(), Math.max(LARGEST, asked.inline()));
        this.plan = new PerfPlan(
                List.of(asked.modes().getFirst()),
                asked.operation(),
                asked.type(),
                false,
                Collections.nCopies(SERIES, size),
                messages,
                asked.depth(),
                asked.inline(),
                asked.events(),
                PerfTraffic.PLAIN);
        this.device = device;
        this.port = port;
        this.gidIndex = gidIndex;
        this.nanos = nanos;
    }

    /**
     * Does the same as a plan, with both ends here, until about two seconds are over. Short series tell how fast the
     * machine is, so that an emulated one does not take much longer.
     *
     * @param plan the plan
     * @param device the device
     * @param port the device's port
     * @param gidIndex index of the GID, or -1 for the best
     * @return the number of messages
     * @throws Exception if a message fails
     */
    public static int before(PerfPlan plan, Device device, int port, int gidIndex) throws Exception {
        long time = longest.toNanos();
        PerfWarmUp first = new PerfWarmUp(plan, FIRST_MESSAGES, time, device, port, gidIndex);
        first.run();
        long messages = first.done * (time - first.spent) / first.spent / SERIES;
        if (messages < FIRST_MESSAGES) {
            return first.done;
        }
        int longer = (int) Math.min(messages, MOST_MESSAGES);
        PerfWarmUp second = new PerfWarmUp(plan, longer, time - first.spent, device, port, gidIndex);
        second.run();
        return first.done + second.done;
    }

    private void run() throws Exception {
        try (ServerSocketChannel listening = Tcp.listen(0)) {
            int free = ((InetSocketAddress) listening.getLocalAddress()).getPort();
            Perf.withServer(
                    () -> serve(Tcp.accept(listening, HANDSHAKE)),
                    () -> measure(Tcp.connect("127.0.0.1", free, HANDSHAKE)));
        }
    }

    private void serve(Tcp peer) throws IOException, InterruptedException {
        try (peer;
                VerbsArena arena = VerbsArena.ofShared()) {
            connect(peer, arena).serve();
        }
    }

    private void measure(Tcp peer) throws IOException, InterruptedException {
        try (peer;
                VerbsArena arena = VerbsArena.ofShared()) {
            PerfRun run = connect(peer, arena);
            long start = System.nanoTime();
            for (int size : plan.sizes()) {
                done += run.measure(plan.modes().getFirst(), size).iterations();
                spent = System.nanoTime() - start;
                if (spent > nanos) {
                    return; // the other end sees that the connection is closed
                }
            }
        }
    }

    private PerfRun connect(Tcp peer, VerbsArena arena) throws IOException, InterruptedException {
        PerfLink link = new PerfSetup(plan, arena, peer).overTcp(device.open(arena), port, gidIndex);
        peer.patience(PerfRun.PATIENCE);
        return new PerfRun(plan, link, peer);
    }
}
