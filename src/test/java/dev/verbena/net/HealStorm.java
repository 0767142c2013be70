package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.Await;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Many channels of a node that lose their connections at once. */
final class HealStorm {
    /** Fewer than {@link NodeOptions#maxWaiting}: no connect gives way to another one. */
    private static final int THREADS = 16;

    private static final Duration LONGEST = Duration.ofMinutes(10);

    private HealStorm() {}

    /** The times in which channels were made, and in which all were back. */
    record Times(double made, double back) {}

    /** Makes channels, has all lose their connections twice, and returns the times of the second round. */
    static Times of(InetSocketAddress own, int channels) throws Exception {
        NodeOptions options =
                NodeOptions.defaults() // so small that soft-RoCE's completion queue has room for all, twice
                        .window(2)
                        .sends(2)
                        .calls(1)
                        .operations(0)
                        .messageSize(64)
                        .heal(LONGEST)
                        .alive(Duration.ofSeconds(60))
                        .maxChannels(channels)
                        .maxChannelsPerPeer(channels)
                        .handshakeTimeout(DEADLINE);
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            Node server = Node.open(own, options, arena);
            server.acceptAll();
            Node client = Node.open(own, options, arena);
            long begun = System.nanoTime();
            List<Future<Channel>> making = new ArrayList<>();
            for (int i = 0; i < channels; i++) {
                making.add(threads.submit(() -> client.connect(server.address(), LONGEST)));
            }
            List<Channel> all = new ArrayList<>();
            for (Future<Channel> each : making) {
                all.add(each.get());
            }
            double made = (System.nanoTime() - begun) / 1e6;
            lose(all, 1); // compiles
            return new Times(made, lose(all, 2));
        }
    }

    /** Ends the connections of all channels. Returns the time until all have others again, in milliseconds. */
    private static double lose(List<Channel> all, int round) {
        long begun = System.nanoTime();
        all.forEach(HealTest::cut);
        Await.until(
                "all channels are back",
                LONGEST,
                () -> all.stream()
                        .allMatch(each -> each.session().state() == SessionState.OPEN
                                && each.statistics().reconnects() == round));
        double back = (System.nanoTime() - begun) / 1e6;
        assertThat(all).allMatch(Channel::isOpen);
        return back;
    }
}
