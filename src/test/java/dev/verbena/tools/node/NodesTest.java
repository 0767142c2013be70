package dev.verbena.tools.node;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.net.CallException;
import dev.verbena.net.Channel;
import dev.verbena.net.Latency;
import dev.verbena.net.Node;
import dev.verbena.net.NodeMXBean.OpenChannel;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transport;
import dev.verbena.support.ChildJvm;
import dev.verbena.tools.ToolRun;
import dev.verbena.tools.page.Json;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Shows made-up nodes, whose counters grow at each pause, and those of another process. */
@Timeout(120)
class NodesTest {
    private static final Latency NO_TIMES = new Latency(0, 0, 0, 0, 0, 0);
    private static final String SLOW = "to 10.9.9.1:7175";
    private static final String QUICK = "to 10.9.9.1:7174";

    /** A program whose nodes are those of the next look, with pauses of two seconds between looks. */
    private static final class Made implements Nodes.Programs, Nodes.Program {
        private final Deque<List<Look>> looks = new ArrayDeque<>();
        private long pauses;

        /** Makes a program with one node, or none yet. The first look sees whether there is one. */
        Made(Look... looks) {
            for (Look look : looks) {
                if (this.looks.isEmpty()) {
                    this.looks.add(List.of(look));
                }
                this.looks.add(List.of(look));
            }
        }

        @Override
        public List<String> names() {
            return List.of("173  Client\u001b[2J");
        }

        @Override
        public Nodes.Program attach(String pid) {
            assertThat(pid).isEqualTo("173");
            return this;
        }

        @Override
        public long nanos() {
            return pauses * 2_000_000_000L;
        }

        @Override
        public void pause(Duration time) {
            pauses++;
        }

        @Override
        public List<Look> look() throws IOException {
            if (looks.isEmpty()) {
                throw new IOException("the program has ended");
            }
            return looks.remove();
        }

        @Override
        public void close() {
            looks.clear();
        }
    }

    private static Map<String, Long> counters(Object... namesAndValues) {
        Map<String, Long> counters = new TreeMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            counters.put((String) namesAndValues[i], ((Number) namesAndValues[i + 1]).longValue());
        }
        return counters;
    }

    private static Look node(String callFailure, Map<String, Long> statistics, OpenChannel... channels) {
        return new Look(
                "node 10.9.9.2:4711 on rxe0 (" + channels.length + " of 64 channels, 0 waiting)",
                statistics,
                callFailure,
                "",
                List.of(channels),
                210_000_000);
    }

    private static String nodes(Made program, String... args) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Nodes.run(args, new PrintStream(out, true, StandardCharsets.UTF_8), program);
        return out.toString(StandardCharsets.UTF_8);
    }

    private static Latency millis(long count, long each) {
        return new Latency(
                count,
                count * each * 1_000_000,
                each * 1_000_000,
                each * 2_000_000,
                each * 3_000_000,
                each * 4_000_000);
    }

    private static Made twoPeers() {
        return new Made(
                node(
                        "",
                        counters("pinnedBytes", 545_000, "ended", 1),
                        new OpenChannel(QUICK, counters("sent", 100, "faults", 3), millis(100, 5), NO_TIMES),
                        new OpenChannel(SLOW, counters("sent", 10, "stalledNanos", 5e9), millis(10, 400), NO_TIMES)),
                node(
                        SLOW + ": no such\u001b[2J account",
                        counters("pinnedBytes", 545_000, "ended", 2, "strangers", 4),
                        new OpenChannel(
                                QUICK,
                                counters("sent", 300, "received", 2, "faults", 3, "reconnects", 0),
                                millis(300, 5),
                                millis(4, 2)),
                        new OpenChannel(
                                SLOW,
                                counters("sent", 14, "stalledNanos", 6.9e9, "faults", 2, "abandoned", 1),
                                millis(14, 400),
                                NO_TIMES)));
    }

    @Test
    void onceShowsWhichPeerIsSlowWhichCallsFailAndWhoPinsMemory() throws Exception {
        assertThat(nodes(twoPeers(), "--once", "173").lines().skip(1))
                .containsExactly(
                        "node 10.9.9.2:4711 on rxe0 (2 of 64 channels, 0 waiting)  pins 545.0 kB of 210.0 MB of the process",
                        "  to 10.9.9.1:7175",
                        "    calls    2.0/s        mean 400 ms     since the start: median 400 ms, p99 800 ms, longest 1.6 s",
                        "    messages out 2.0/s, in 0.0/s",
                        "    HURTS  the peer has no room for messages: its program receives too slowly: 95% of the time",
                        "           -> look at the handlers of the peer's node: verbena nodes on its machine",
                        "    HURTS  calls fail in the peer's program: 1.0/s",
                        "           -> see why; its events dev.verbena.HandlerFailure have the line",
                        "    HURTS  calls were given up before the peer has answered: 0.5/s",
                        "           -> does the peer take longer than this side waits? Its handlers, or a longer timeout",
                        "  to 10.9.9.1:7174",
                        "    calls    100.0/s      mean 5.0 ms     since the start: median 5.0 ms, p99 10 ms, longest 20 ms",
                        "    handler  2.0/s        mean 2.0 ms     since the start: median 2.0 ms, p99 4.0 ms, longest 8.0 ms",
                        "    messages out 100.0/s, in 1.0/s",
                        "    before faults 3",
                        "  HURTS  channels have ended: 1",
                        "         -> dev.verbena.ChannelEnd has the reasons",
                        "  HURTS  peers without the secret: 4",
                        "         -> dev.verbena.Stranger has their addresses",
                        "  a call failed last: to 10.9.9.1:7175: no such?[2J account",
                        "");
    }

    @Test
    void jsonHasRatesTimesAndTroubles() throws Exception {
        Map<?, ?> frame = (Map<?, ?>) Json.read(nodes(twoPeers(), "--once", "--json", "173"));
        assertThat(frame.get("seconds")).isEqualTo(2.0);
        Map<?, ?> node = (Map<?, ?>) ((List<?>) frame.get("nodes")).getFirst();
        assertThat(node.get("pinnedBytesOfProcess")).isEqualTo(210_000_000L);
        assertThat(node.get("callFailure")).isEqualTo(SLOW + ": no such\u001b[2J account");
        assertThat(node.get("perSecond")).isEqualTo(Map.of("ended", 0.5, "pinnedBytes", 0.0, "strangers", 2.0));
        Map<?, ?> slow = (Map<?, ?>) ((List<?>) node.get("channels")).getFirst();
        assertThat(slow.get("channel")).isEqualTo(SLOW);
        assertThat(slow.get("statistics"))
                .asInstanceOf(InstanceOfAssertFactories.MAP)
                .containsEntry("faults", 2L);
        assertThat(slow.get("calls"))
                .asInstanceOf(InstanceOfAssertFactories.MAP)
                .containsEntry("count", 4L)
                .containsEntry("meanNanos", 4e8);
        assertThat(((List<?>) slow.get("troubles"))
                        .stream().map(trouble -> String.valueOf(((Map<?, ?>) trouble).get("trouble"))))
                .containsExactly("NO_ROOM", "FAULTS", "GIVEN_UP");
    }

    @Test
    void channelsThatDoNotFitTheScreenAreCounted() throws Exception {
        Look many = node(
                "",
                counters("ended", 3),
                IntStream.range(0, 12)
                        .mapToObj(i -> new OpenChannel("from 10.9.9.3:" + i, counters(), NO_TIMES, NO_TIMES))
                        .toArray(OpenChannel[]::new));
        String shown = nodes(new Made(many, many), "--once", "173");
        assertThat(shown.lines().filter(line -> line.startsWith("  from"))).hasSize(10);
        assertThat(shown).contains("  and 2 more channels: --json shows all\n", "  before ended 3\n");
    }

    @Test
    void nodesAreShownUntilTheProgramEnds() {
        Look node = node("", counters());
        Made program = new Made(node, node);
        program.looks.addFirst(List.of()); // the bean comes later
        program.looks.addLast(List.of());
        assertThatThrownBy(() -> nodes(program, "173")).hasMessage("the program has ended");
        assertThat(program.pauses)
                .as("one for the bean, one for those of other nodes, and one for each interval")
                .isEqualTo(5);
    }

    @Test
    void programWithoutNodesIsNamedAfterAWhile() {
        Made program = new Made();
        IntStream.range(0, 100).forEach(i -> program.looks.add(List.of()));
        assertThatThrownBy(() -> nodes(program, "173")).hasMessageContaining("no open node");
    }

    @Test
    void withoutAProcessTheProgramsOfThisUserAreListed() throws Exception {
        assertThat(nodes(new Made())).isEqualTo("173  Client?[2J\n");
    }

    /** Calls a handler that refuses, over TCP, until its input ends. */
    static final class Calling {
        public static void main(String[] arguments) throws Exception {
            InetSocketAddress own = new InetSocketAddress("127.0.0.1", 0);
            NodeOptions options = NodeOptions.defaults().transport(Transport.TCP);
            try (VerbsArena arena = VerbsArena.ofShared()) {
                Node server = Node.open(own, options, arena);
                server.listen((_, request) -> request.refuse("no such account"));
                Channel channel = Node.open(own, options, arena).connect(server.address(), DEADLINE);
                System.out.println(server.address().getPort());
                while (System.in.available() == 0) {
                    try {
                        channel.call(channel.message(DEADLINE), DEADLINE).close();
                    } catch (CallException expected) {
                        // The tool has the reason.
                    }
                }
            }
        }
    }

    @Test
    void anotherProcessShowsItsFailedCalls() throws Exception {
        Process process = ChildJvm.with("--enable-native-access=ALL-UNNAMED").startOnClassPath(Calling.class);
        try {
            String port = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
            String pid = String.valueOf(process.pid());
            assertThat(ToolRun.of("nodes").out()).contains(pid + "  " + Calling.class.getName());
            ToolRun shown = ToolRun.of("nodes", "--once", pid);
            assertThat(shown.err()).isEmpty();
            assertThat(shown.out())
                    .contains("  to 127.0.0.1:" + port + "\n")
                    .containsPattern("calls fail in the peer's program: [0-9.]+/s")
                    .contains("a call failed last: to 127.0.0.1:" + port + ": no such account");
            process.getOutputStream().close();
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void processThatIsNoJvmIsRefused() {
        ToolRun refused = ToolRun.of("nodes", "1");
        assertThat(refused.status()).isEqualTo(1);
        assertThat(refused.err()).startsWith("verbena nodes: ");
        assertThat(ToolRun.of("nodes", "java").err()).contains("no process id: java");
    }
}
