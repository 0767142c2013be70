package dev.verbena.tools.pingpong;

import dev.verbena.VerbsArena;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tcp;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.device.Gids;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.device.Mtu;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * A ping-pong of messages between two queue pairs that exchange their endpoints over TCP. Interoperates with
 * {@code ibv_rc_pingpong}, {@code ibv_uc_pingpong}, {@code ibv_ud_pingpong} and {@code ibv_srq_pingpong}.
 */
public final class PingPong {
    /** Number of queue pairs in a message of {@code ibv_srq_pingpong}. */
    private static final int MAX_PAIRS = 256;

    /** Time limit for connecting and the exchange of endpoints. */
    private static final Duration HANDSHAKE = Duration.ofSeconds(60);

    private static final int PORT = 18_515;

    private static final String MTU = "  -m, --mtu=BYTES       path MTU (default: 1024)\n";
    private static final String ON_DEMAND = "  -o, --odp             use on-demand paging\n";

    /** One of the four tools. */
    public enum Kind {
        /** Over a reliable connection. */
        RC("rc-pingpong", MTU + ON_DEMAND + """
                  -O, --iodp            use implicit on-demand paging of all memory
                  -P, --prefetch        bring in paged memory in advance; needs -o or -O
                  -t, --ts              request completion timestamps
                  -j, --dm              use device memory
                  -N, --new_send        post by ibv_wr_* instead of ibv_post_send
                """),
        /** Over an unreliable connection. */
        UC("uc-pingpong", MTU),
        /** With datagrams. */
        UD("ud-pingpong", ""),
        /** Over several reliable connections with one shared receive queue. */
        SRQ(
                "srq-pingpong",
                MTU + "  -q, --num-qp=COUNT    queue pairs, the same on both sides (default: 16)\n" + ON_DEMAND);

        private final String usage;

        Kind(String tool, String own) {
            String size = tool.startsWith("ud") ? "1024" : "4096";
            usage = ("""
                    usage: verbena %1$s [OPTION]...        serves one client
                           verbena %1$s [OPTION]... HOST   connects to a server

                      -p, --port=PORT       TCP port of the exchange (default: 18515)
                      -d, --ib-dev=DEVICE   device (default: the first)
                      -i, --ib-port=PORT    port of the device (default: 1)
                      -g, --gid-idx=INDEX   GID index (default: the best; 'verbena gids' lists them)
                      -s, --size=BYTES      message size, the same on both sides (default: %2$s)
                      -n, --iters=COUNT     number of messages each way, the same on both sides
                                              (default: 1000)
                      -r, --rx-depth=COUNT  number of receives to post at a time (default: 500)
                      -l, --sl=LEVEL        service level
                      -e, --events          sleep until a completion arrives instead of polling
                      -c, --chk             mark the messages (client), check the marks (server)
                    """.formatted(tool, size) + own).stripTrailing();
        }

        /**
         * Runs the tool.
         *
         * @param args the options
         * @param out takes the output
         * @return the exit status
         * @throws Exception if the tool fails
         */
        public int run(String[] args, PrintStream out) throws Exception {
            Options options = Options.parse(args, usage, 1);
            Setting setting = new Setting(this, options);
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                return new PingPong(
                                setting,
                                new PingPongEnd(setting, options.device().open(arena)),
                                out)
                        .run();
            }
        }
    }

    /**
     * The settings of a ping-pong.
     *
     * @param pairs number of queue pairs
     */
    record Setting(
            Kind kind,
            String host,
            int tcpPort,
            int port,
            int gidIndex,
            int size,
            int iterations,
            int depth,
            int serviceLevel,
            Mtu mtu,
            int pairs,
            boolean events,
            boolean check,
            boolean onDemand,
            boolean implicit,
            boolean prefetch,
            boolean timestamps,
            boolean deviceMemory,
            boolean extendedSends) {
        Setting(Kind kind, Options options) {
            this(
                    kind,
                    options.operand(0),
                    options.number("-p", PORT, 1, 65_535),
                    options.number("-i", 1, 1, 255),
                    options.number("-g", -1, -1, 255),
                    options.number("-s", kind == Kind.UD ? 1024 : 4096, 1, Integer.MAX_VALUE - 4096),
                    options.number("-n", 1000, 1, Integer.MAX_VALUE),
                    options.number("-r", 500, 1, 1 << 20),
                    options.number("-l", 0, 0, 15),
                    mtu(options),
                    options.number("-q", kind == Kind.SRQ ? 16 : 1, 1, MAX_PAIRS),
                    options.has("-e"),
                    options.has("-c"),
                    options.has("-o") || options.has("-O"),
                    options.has("-O"),
                    options.has("-P"),
                    options.has("-t"),
                    options.has("-j"),
                    options.has("-N"));
            if (kind == Kind.SRQ && depth < pairs) {
                throw options.usage("-r must be at least the number of queue pairs, " + pairs);
            }
            if (onDemand && deviceMemory) {
                throw options.usage("device memory (-j) can't be paged on demand (-o, -O)");
            }
            if (prefetch && !onDemand) {
                throw options.usage("-P is for memory that is paged on demand: give -o or -O, too");
            }
        }

        private static Mtu mtu(Options options) {
            try {
                return Mtu.ofBytes(options.number("-m", 1024, 0, Integer.MAX_VALUE));
            } catch (IllegalArgumentException e) {
                throw options.usage(String.valueOf(e.getMessage()));
            }
        }

        boolean isServer() {
            return host.isEmpty();
        }

        /** Returns the number of endpoints in a message of the handshake. */
        int records() {
            return kind == Kind.SRQ ? MAX_PAIRS : 1;
        }
    }

    private final Setting setting;
    private final PingPongEnd end;
    private final PrintStream out;

    private PingPong(Setting setting, PingPongEnd end, PrintStream out) {
        this.setting = setting;
        this.end = end;
        this.out = out;
    }

    private int run() throws IOException, InterruptedException {
        List<Endpoint> mine = end.endpoints();
        mine.forEach(endpoint -> show("local address: ", endpoint));
        List<Endpoint> theirs;
        try (Tcp peer = setting.isServer()
                ? Tcp.accept(setting.tcpPort(), HANDSHAKE)
                : Tcp.connect(setting.host(), setting.tcpPort(), HANDSHAKE)) {
            theirs = setting.isServer()
                    ? Handshake.asServer(peer, mine, setting.records(), end::connect)
                    : Handshake.asClient(peer, mine, setting.records(), end::connect);
        }
        theirs.forEach(endpoint -> show("remote address:", endpoint));
        long start = System.nanoTime();
        end.play();
        double seconds = (System.nanoTime() - start) / 1e9;
        long bytes = (long) setting.size() * setting.iterations() * 2;
        out.printf(
                Locale.ROOT, "%d bytes in %.2f seconds = %.2f Mbit/sec%n", bytes, seconds, bytes * 8 / seconds / 1e6);
        out.printf(
                Locale.ROOT,
                "%d iters in %.2f seconds = %.2f usec/iter%n",
                setting.iterations(),
                seconds,
                seconds * 1e6 / setting.iterations());
        if (setting.timestamps()) {
            out.print(end.clockCycles());
        }
        if (setting.check() && setting.isServer()) {
            end.check();
        }
        return Tool.OK;
    }

    private void show(String which, Endpoint endpoint) {
        boolean colon = setting.kind() == Kind.UD && which.startsWith("local"); // as the C tool prints it
        out.printf(
                Locale.ROOT,
                "  %s LID 0x%04x, QPN 0x%06x, PSN 0x%06x%s GID %s%n",
                which,
                endpoint.lid(),
                endpoint.queuePairNumber(),
                endpoint.packetSequenceNumber(),
                colon ? ":" : ",",
                Gids.text(endpoint.gid()));
        out.flush();
    }
}
