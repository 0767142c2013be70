package dev.verbena.tools.perf;

import dev.verbena.VerbsArena;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Progress;
import dev.verbena.tools.command.Tcp;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.page.HtmlPage;
import dev.verbena.tools.perf.PerfPlan.Mode;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.device.QueuePairType;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;

/** Measures latency and bandwidth between two machines, or from a machine to itself. */
public final class Perf {
    private static final String USAGE = """
            usage: verbena perf server [OPTION]...            serves one client, which
                                                              decides what to measure
                   verbena perf server --keep [OPTION]...     serves one client after
                                                              another until Ctrl-C
                   verbena perf lat|bw|both [OPTION]... HOST  measures latency, bandwidth,
                                                              or both
                   verbena perf lat|bw|both --self            the same with both ends in
                                                              this process
                   verbena perf lat|bw --peer-perftest [OPTION]... [HOST]
                                  the peer is a C program of perftest: its server, or,
                                  without HOST, its client
                   verbena perf --net ...         measures messages, calls, transfers and
                                  reads of dev.verbena.net: see perf --net --help

              --op=OPERATION        send, write, read or atomic (default: send)
              -c, --connection=TYPE  RC, UC or UD (default: RC). UC has no read, UD neither
                                    read nor write
              -R, --rdma_cm         connect by the connection manager (RC, UD) instead of
                                    an exchange over TCP
              -s, --size=BYTES,...  message sizes (default: 64)
              -a, --all             sizes from 2 bytes to 8 MiB; for UD, to one packet
              -n, --iters=COUNT     number of messages of each size, on all queue pairs
                                    together (default: 1000)
              -D, --duration, --time=SECONDS
                                    time of each measurement, instead of a number of
                                    messages
              -b, --bidirectional, --bidir
                                    both ends send, for the bandwidth: that of both
                                    directions together is printed
              -q, -P, --qp, --parallel=COUNT
                                    number of queue pairs, for the bandwidth (default: 1)
              -t, --tx-depth=COUNT  number of outstanding operations of each queue pair, for
                                    the bandwidth (default: 128)
              -I, --inline_size=BYTES   largest message to send inline (default: 0)
              -e, --events          sleep until a completion arrives instead of polling
              -p, --port=PORT       TCP port of the exchange (default: 18515)
              -d, --ib-dev=DEVICE   device (default: the first)
              -i, --ib-port=PORT    port of the device (default: 1)
              -g, -x, --gid-idx, --gid-index=INDEX
                                    GID index (default: the best GID)
              -m, --mtu=BYTES       payload of a packet, 256 to 4096 (default: the port's)
              -S, --sl=LEVEL        service level, 0 to 15 (default: 0)
              -T, --tos, --tclass=CLASS
                                    traffic class of both directions, 0 to 255: 104 is
                                    DSCP 26 (default: that of the system)
              --report_gbits        print the bandwidth in Gbit/s
              -J, --json            print JSON instead of a table
              --html=FILE           write a page with charts, tables and the circumstances
              --before=PAGE         in the page of --html, show the run of an earlier page
                                    beside this one
              --self                both ends in this process, as above
              --keep                serve one client after another, as above
              --peer-perftest       the peer is a C program, as above

            The server answers each send and write; their latency is half of the round
            trip. For writes, both ends poll the memory. The latency of a read or an atomic
            is the time until its completion. A bandwidth of 1 MB/s is 1,000,000 bytes per
            second; the C programs print MiB/s as MB/sec. Both ends take -m, -S and -T from
            the client. With -R, -T works, and the connection manager chooses the rest.

            --peer-perftest talks with ib_send_lat, ib_write_lat, ib_read_lat, ib_send_bw,
            ib_write_bw or ib_read_bw, as --op tells, over RC, without -R. The ends do not
            exchange -s and -n: give both the same, with -n at least 5. Java warms up with
            messages to itself before it connects. The version of perftest must be 6.06
            (Debian's 4.5+0.17). For example
              ib_write_lat -d rxe0 -x 1 -F -s 64 -n 100      and
              verbena perf lat --peer-perftest --op write -s 64 -n 100 HOST""";

    /** Time limit for connecting and the exchange of endpoints. */
    private static final Duration HANDSHAKE = Duration.ofSeconds(60);

    /** Time limit for each later message between both ends. */
    private static final Duration MESSAGE = Duration.ofSeconds(30);

    /** Time limit for the client's next message: a measurement can take long. */
    private static final Duration MEASUREMENT = Duration.ofHours(1);

    private static final int PORT = 18_515;
    private static final int LARGEST = 1 << 23;

    private final Options options;
    private final PrintStream out;
    private final String mode;
    private final String host;
    private final int tcpPort;
    private final int port;
    private final int gidIndex;
    private final PerfPlan plan;
    private final @Nullable PerfRecord before;

    /** Checks all options, before any of them is used. */
    private Perf(Options options, PrintStream out) {
        this.options = options;
        this.out = out;
        mode = options.operand(0);
        host = options.operand(1);
        tcpPort = options.number("-p", PORT, 1, 65_535);
        port = options.number("-i", 1, 1, 255);
        gidIndex = options.number("-g", -1, -1, 255);
        if (options.has("--peer-perftest")) {
            checkPerftest();
        }
        List<Mode> modes = switch (mode) {
            case "lat" -> List.of(Mode.LAT);
            case "bw", "server" -> List.of(Mode.BW); // a server takes the client's plan
            case "both" -> List.of(Mode.LAT, Mode.BW);
            default -> throw options.usage("the first word must be server, lat, bw or both");
        };
        options.check(mode.equals("server") || !options.has("--keep"), "--keep is for a server");
        options.check(!options.has("-n") || !options.has("-D"), "-D measures for a time instead of -n messages");
        if (mode.equals("server")) {
            if (!host.isEmpty() || options.has("--self")) {
                throw options.usage("a server has neither HOST nor --self");
            }
        } else if (!options.has("--peer-perftest") && host.isEmpty() != options.has("--self")) {
            throw options.usage("either the server's HOST or --self is required");
        }
        plan = plan(modes);
        checkPage();
        before = before();
    }

    /** Checks that the page of --html can be written, before minutes are spent on its contents. */
    private void checkPage() {
        if (options.has("--html")) {
            String problem = HtmlPage.problemOf("--html", Path.of(options.text("--html", "")), System.getenv());
            if (!problem.isEmpty()) {
                throw options.usage(problem);
            }
        }
    }

    /** Reads the earlier page that {@code --before} names. */
    private @Nullable PerfRecord before() {
        if (!options.has("--before")) {
            return null;
        }
        if (!options.has("--html")) {
            throw options.usage("--before needs --html, whose page shows both runs");
        }
        String file = options.text("--before", "");
        try {
            return PerfRecord.read(Path.of(file));
        } catch (IOException e) {
            throw options.usage("--before needs a page of an earlier run, got '" + file + "': " + e.getMessage());
        }
    }

    /**
     * Runs the tool.
     *
     * @param args the options
     * @param out takes the output
     * @return the exit status
     * @throws Exception if the tool fails
     */
    public static int run(String[] args, PrintStream out) throws Exception {
        if (List.of(args).contains("--net")) {
            return PerfNet.run(args, out);
        }
        return new Perf(parse(args), out).run();
    }

    private static Options parse(String... args) {
        return Options.parse(args, USAGE, 2);
    }

    /**
     * Measures as a client does, and returns the results instead of printing them.
     *
     * @param out takes other output
     * @param args the options
     * @return the results
     * @throws Exception if the measurement fails
     */
    public static List<Result> measure(PrintStream out, String... args) throws Exception {
        Perf perf = new Perf(parse(args), out);
        List<Result> results = new ArrayList<>();
        perf.measure(perf.host, results);
        return results;
    }

    /**
     * Serves one client of a listening channel.
     *
     * @param listening the channel
     * @param out takes the output
     * @param args the options
     * @throws Exception if the measurement fails
     */
    public static void serve(ServerSocketChannel listening, PrintStream out, String... args) throws Exception {
        new Perf(parse(args), out).serve(listening);
    }

    private int run() throws Exception {
        if (mode.equals("server")) {
            try (ServerSocketChannel listening = Tcp.listen(tcpPort)) {
                do {
                    serveOne(listening);
                } while (options.has("--keep"));
            }
            return Tool.OK;
        }
        List<Result> results = new ArrayList<>();
        Map<String, String> facts = options.has("--html") ? facts() : Map.of();
        if (options.has("--peer-perftest")) {
            if (!measureWithPerftest(results)) {
                return Tool.OK;
            }
        } else if (options.has("--self")) {
            measureSelf(results);
        } else {
            measure(host, results);
        }
        report(results, facts);
        return Tool.OK;
    }

    /** Checks that a C program of perftest, and this tool with it, can do what the options ask for. */
    private void checkPerftest() {
        allowPerftest(mode.equals("lat") || mode.equals("bw"), "needs 'lat' or 'bw', as a client or as the server");
        allowPerftest(!options.has("--self"), "can't be combined with --self");
        allowPerftest(!options.has("-R"), "can't be combined with -R");
        allowPerftest(options.text("-c", "RC").equalsIgnoreCase("RC"), "supports RC only");
        allowPerftest(!options.text("--op", "send").equalsIgnoreCase("atomic"), "supports send, write and read only");
        allowPerftest(!options.has("-e"), "can't be combined with -e");
        allowPerftest(
                !options.has("-D") && !options.has("-b") && !options.has("-q"), "can't be combined with -D, -b and -q");
        allowPerftest(!options.has("-a") && !options.text("-s", "").contains(","), "measures one size at a time");
        allowPerftest(
                options.number("-n", 1000, 1, PerfPlan.MOST_ITERATIONS) >= 5,
                "needs an -n of at least 5, as the C programs do");
        allowPerftest(
                !host.isEmpty() || (!options.has("-J") && !options.has("--html")),
                "has no results for --json or --html on the server: the client has them");
    }

    private void allowPerftest(boolean allowed, String reason) {
        if (!allowed) {
            throw options.usage("--peer-perftest " + reason);
        }
    }

    /** Measures with a C program as the peer. Returns false for the server, which has no results to report. */
    private boolean measureWithPerftest(List<Result> results) throws Exception {
        boolean client = !host.isEmpty();
        PerfWarmUp.before(plan, device(), port, gidIndex);
        try (VerbsArena arena = VerbsArena.ofShared();
                Tcp tcp = client ? connect(host) : Tcp.accept(tcpPort, HANDSHAKE)) {
            PerftestPeer peer = new PerftestPeer(tcp, client);
            PerfSetup setup = new PerfSetup(plan, arena, tcp);
            PerfLink link = setup.withPerftest(device().open(arena), port, gidIndex, peer);
            tcp.patience(MESSAGE);
            PerftestRun run = new PerftestRun(plan, link, peer, tcp, client);
            if (client) {
                results.add(run.measure());
                return true;
            }
            Optional<PerftestPeer.Report> report = run.serve();
            out.println("served " + PerftestRun.program(plan) + " of perftest " + PerftestPeer.VERSION
                    + report.map(it -> String.format(
                                    Locale.ROOT,
                                    ": %d messages of %d bytes, %.2f MB/s, %.0f messages/s",
                                    it.iterations(),
                                    it.size(),
                                    it.megabytesPerSecond(),
                                    it.millions() * 1e6))
                            .orElse(""));
            return false;
        }
    }

    private PerfPlan plan(List<Mode> modes) {
        Operation operation;
        QueuePairType type;
        try {
            operation = Operation.valueOf(options.text("--op", "send").toUpperCase(Locale.ROOT));
            type = QueuePairType.valueOf(options.text("-c", "RC").toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw options.usage("--op must be send, write, read or atomic, and -c must be RC, UC or UD");
        }
        List<Integer> sizes = new ArrayList<>();
        if (operation == Operation.ATOMIC) {
            sizes.add(8);
        } else if (options.has("-a")) {
            for (int size = 2; size <= (type == QueuePairType.UD ? 1024 : LARGEST); size *= 2) {
                sizes.add(size);
            }
        } else {
            sizes.addAll(options.numbers("-s", "64", 1, PerfPlan.LARGEST));
        }
        int iterations = options.number("-n", 1000, 1, PerfPlan.MOST_ITERATIONS);
        int depth = options.number("-t", 128, 1, PerfPlan.MOST_DEPTH);
        int inline = options.number("-I", 0, 0, PerfPlan.MOST_INLINE);
        try {
            PerfTraffic traffic = new PerfTraffic(
                    options.number("-D", 0, 1, PerfTraffic.MOST_SECONDS),
                    options.has("-b"),
                    options.number("-q", 1, 1, PerfTraffic.MOST_PAIRS),
                    options.number("-m", 0, 256, 4096),
                    options.number("-S", -1, 0, 15),
                    options.number("-T", -1, 0, 255));
            return new PerfPlan(
                    modes,
                    operation,
                    type,
                    options.has("-R"),
                    sizes,
                    iterations,
                    depth,
                    inline,
                    options.has("-e"),
                    traffic);
        } catch (IllegalArgumentException e) {
            throw options.usage(String.valueOf(e.getMessage()));
        }
    }

    private Device device() {
        return options.device();
    }

    private PerfLink overTcp(PerfSetup setup, VerbsArena arena) throws IOException, InterruptedException {
        return setup.overTcp(device().open(arena), port, gidIndex);
    }

    /** Serves one client. A server that stays prints what it has served, and goes on after a failure. */
    private void serveOne(ServerSocketChannel listening) throws IOException, InterruptedException {
        try {
            PerfPlan served = serve(listening);
            if (options.has("--keep")) {
                out.println("served " + served.title());
            }
        } catch (IOException | RuntimeException failed) {
            if (!options.has("--keep")) {
                throw failed;
            }
            out.println("failed: " + Tool.inOneLine(failed));
        }
    }

    private PerfPlan serve(ServerSocketChannel listening) throws IOException, InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared();
                Tcp tcp = Tcp.accept(listening, HANDSHAKE)) {
            if (!options.has("--keep")) {
                listening.close(); // another client is refused at once
            }
            PerfPlan asked = PerfPlan.fromLine(tcp.readLine(1000, "the plan of the measurement"));
            PerfSetup setup = new PerfSetup(asked, arena, tcp);
            PerfLink link = asked.manager() ? setup.accept(address(arena)) : overTcp(setup, arena);
            tcp.patience(MEASUREMENT);
            new PerfRun(asked, link, tcp).serve();
            return asked;
        }
    }

    /** Returns the address on which the connection manager listens: the IP address of the device, not 127.0.0.1. */
    private InetSocketAddress address(VerbsArena arena) {
        Context context = device().open(arena);
        GidEntry best = context.bestGid(port);
        return new InetSocketAddress(best.gid().toInetAddress(), tcpPort);
    }

    private void measure(String server, List<Result> results) throws IOException, InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared();
                Tcp tcp = connect(server)) {
            tcp.write(plan.toLine().getBytes(StandardCharsets.US_ASCII), "the plan of the measurement");
            PerfSetup setup = new PerfSetup(plan, arena, tcp);
            PerfLink link = !plan.manager()
                    ? overTcp(setup, arena)
                    : setup.connect(options.has("--self") ? address(arena) : new InetSocketAddress(server, tcpPort));
            tcp.patience(MESSAGE);
            PerfRun run = new PerfRun(plan, link, tcp);
            try (Progress progress = Progress.onTerminal()) {
                progress.show(run::progress);
                for (Mode mode : plan.modes()) {
                    for (int size : plan.sizes()) {
                        results.add(run.measure(mode, size));
                    }
                }
            }
        }
    }

    /** One end of a measurement. */
    interface End {
        void run() throws Exception;
    }

    /** Measures with the server in a thread. */
    private void measureSelf(List<Result> results) throws Exception {
        try (ServerSocketChannel listening = Tcp.listen(tcpPort)) {
            withServer(() -> serve(listening), () -> measure("127.0.0.1", results));
        }
    }

    /**
     * Runs a client with its server in another thread. If the client fails only because the server has gone, throws the
     * server's failure: it is waited for, as the connection ends before the server does.
     */
    static void withServer(End server, End client) throws Exception {
        FutureTask<Integer> served = new FutureTask<>(() -> {
            server.run();
            return Tool.OK;
        });
        Thread thread = Thread.ofPlatform().daemon().name("server").start(served);
        try {
            client.run();
        } catch (Tcp.PeerGoneException gone) {
            thread.join(MESSAGE);
            if (served.state() == Future.State.FAILED
                    && served.exceptionNow() instanceof Exception reason
                    && !(reason instanceof Tcp.PeerGoneException)) {
                reason.addSuppressed(gone);
                throw reason;
            }
            throw gone;
        } finally {
            thread.interrupt();
            thread.join();
        }
    }

    private Tcp connect(String server) throws IOException, InterruptedException {
        return Tcp.connect(server, tcpPort, HANDSHAKE);
    }

    private void report(List<Result> results, Map<String, String> facts) throws IOException {
        PerfReport report = new PerfReport(plan, options.has("--report_gbits"), results);
        out.print(options.has("-J") ? report.json() : report.table());
        if (options.has("--html")) {
            Path file = Path.of(options.text("--html", ""));
            PerfRecord record = PerfRecord.of(plan, facts, results);
            Files.writeString(file, new PerfPage(record, before).html());
            if (!options.has("-J")) {
                out.println("wrote " + file);
            }
        }
    }

    /** Returns the circumstances of this run for the page. */
    private Map<String, String> facts() {
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put(
                "Date",
                DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss xxx")
                        .format(ZonedDateTime.now(ZoneId.systemDefault())));
        facts.put("Command", "verbena " + options.commandLine("perf"));
        facts.put("Device", device() + ", port " + port);
        HtmlPage.addMachine(facts, System.getProperty("java.vm.name") + " " + Runtime.version());
        return facts;
    }
}
