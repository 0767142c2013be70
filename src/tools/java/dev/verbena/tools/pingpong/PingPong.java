package dev.verbena.tools.pingpong;

import dev.verbena.VerbsArena;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tcp;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.device.Gids;
import dev.verbena.verbs.address.Endpoint;
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
    static final int MAX_PAIRS = 256;

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
            int tcpPort = options.number("-p", PORT, 1, 65_535);
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                return new PingPong(this, options, tcpPort, new PingPongEnd(this, options, arena), out).run();
            }
        }
    }

    private final Kind kind;
    private final Options options;
    private final int tcpPort;
    private final PingPongEnd end;
    private final PrintStream out;

    private PingPong(Kind kind, Options options, int tcpPort, PingPongEnd end, PrintStream out) {
        this.kind = kind;
        this.options = options;
        this.tcpPort = tcpPort;
        this.end = end;
        this.out = out;
    }

    private int run() throws IOException, InterruptedException {
        List<Endpoint> mine = end.endpoints();
        mine.forEach(endpoint -> show("local address: ", endpoint));
        List<Endpoint> theirs;
        String host = options.operand(0); // empty for a server
        int records = kind == Kind.SRQ ? MAX_PAIRS : 1;
        try (Tcp peer = host.isEmpty() ? Tcp.accept(tcpPort, HANDSHAKE) : Tcp.connect(host, tcpPort, HANDSHAKE)) {
            theirs = host.isEmpty()
                    ? Handshake.asServer(peer, mine, records, end::connect)
                    : Handshake.asClient(peer, mine, records, end::connect);
        }
        theirs.forEach(endpoint -> show("remote address:", endpoint));
        long start = System.nanoTime();
        end.play();
        double seconds = (System.nanoTime() - start) / 1e9;
        int rounds = end.iterations();
        long bytes = (long) end.size() * rounds * 2;
        out.printf(
                Locale.ROOT, "%d bytes in %.2f seconds = %.2f Mbit/sec%n", bytes, seconds, bytes * 8 / seconds / 1e6);
        out.printf(Locale.ROOT, "%d iters in %.2f seconds = %.2f usec/iter%n", rounds, seconds, seconds * 1e6 / rounds);
        if (options.has("-t")) {
            out.print(end.clockCycles());
        }
        if (options.has("-c") && host.isEmpty()) {
            end.check();
        }
        return Tool.OK;
    }

    private void show(String which, Endpoint endpoint) {
        boolean colon = kind == Kind.UD && which.startsWith("local"); // as the C tool prints it
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
