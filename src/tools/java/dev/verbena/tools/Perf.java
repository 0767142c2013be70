package dev.verbena.tools;

import dev.verbena.VerbsArena;
import dev.verbena.tools.PerfPlan.Mode;
import dev.verbena.tools.PerfPlan.Operation;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.device.QueuePairType;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/** Measures latency and bandwidth between two machines, or from one machine to itself. */
final class Perf {
    private static final String USAGE = """
            usage: verbena perf server [OPTION]...            serves one client, which says what is measured
                   verbena perf lat|bw|both [OPTION]... HOST  measures latency, bandwidth, or both
                   verbena perf lat|bw|both --self            the same with both ends in this process
                   verbena perf lat|bw --peer-perftest [OPTION]... [HOST]
                                                              the other end is a C program of perftest: its server,
                                                              or, without HOST, its client

              --op=OPERATION        send, write, read or atomic; send if not said
              -c, --connection=TYPE RC, UC or UD; RC if not said. UC has no read, UD neither read nor write
              -R, --rdma_cm         connect by the connection manager (RC, UD), instead of an exchange over TCP
              -s, --size=BYTES,...  sizes of the messages; 64 if not said
              -a, --all             sizes from 2 bytes to 8 MiB, or one packet for UD
              -n, --iters=COUNT     how many messages of each size; 1000 if not said
              -t, --tx-depth=COUNT  how many may be under way, for the bandwidth; 128 if not said
              -I, --inline_size=BYTES   up to which size messages are sent inline; 0 if not said
              -e, --events          sleep until something completes, instead of polling
              -p, --port=PORT       TCP port by which both ends find each other; 18515 if not said
              -d, --ib-dev=DEVICE   device; the first if not said
              -i, --ib-port=PORT    its port; 1 if not said
              -g, --gid-idx=INDEX   which of its GIDs; the best if not said
              --json                prints JSON instead of a table
              --html=FILE           writes a page with the distribution of the latency and the curve of the bandwidth

            Latency of a send or a write is half of the way there and back: the server answers each. That of a write is
            seen in memory, by polling. Latency of a read or an atomic is the time until it has completed.

            --peer-perftest talks with ib_send_lat, ib_write_lat, ib_read_lat, ib_send_bw, ib_write_bw or ib_read_bw:
            --op says which. RC only, found by TCP (without -R). Both ends must be given the same -s and -n, 5 at least:
            they do not tell each other. Tested with perftest 6.06 (Debian's 4.5+0.17), others are refused. For example
              ib_write_lat -d rxe0 -x 1 -F -s 64 -n 100      and
              verbena perf lat --peer-perftest --op write -s 64 -n 100 HOST""";

    private static final Duration HANDSHAKE = Duration.ofSeconds(30);
    private static final int PORT = 18_515;
    private static final int LARGEST = 1 << 23;

    private final Options options;
    private final PrintStream out;

    private Perf(Options options, PrintStream out) {
        this.options = options;
        this.out = out;
    }

    static int run(String[] args, PrintStream out) throws Exception {
        Options options = Options.parse(
                args,
                USAGE,
                "--op:",
                "-c,--connection:",
                "-R,--rdma_cm",
                "-s,--size:",
                "-a,--all",
                "-n,--iters:",
                "-t,--tx-depth:",
                "-I,--inline_size:",
                "-e,--events",
                "-p,--port:",
                "-d,--ib-dev:",
                "-i,--ib-port:",
                "-g,--gid-idx:",
                "--json",
                "--html:",
                "--self",
                "--peer-perftest",
                "MODE",
                "HOST");
        Perf perf = new Perf(options, out);
        String host = options.operand(1, "");
        String mode = options.operand("");
        boolean perftest = options.has("--peer-perftest");
        if (perftest) {
            perf.checkPerftest(mode, host);
        }
        if (mode.equals("server")) {
            perf.serve(perf.tcpPort());
            return Main.OK;
        }
        List<Mode> modes = switch (mode) {
            case "lat" -> List.of(Mode.LAT);
            case "bw" -> List.of(Mode.BW);
            case "both" -> List.of(Mode.LAT, Mode.BW);
            default -> throw options.usage("say 'server', 'lat', 'bw' or 'both'");
        };
        if (!perftest && host.isEmpty() != options.has("--self")) {
            throw options.usage("a client needs either the server's HOST or --self");
        }
        List<PerfRun.Result> results = new ArrayList<>();
        PerfPlan plan = perf.plan(modes);
        if (perftest) {
            if (!perf.withPerftest(plan, host, results)) {
                return Main.OK;
            }
        } else if (options.has("--self")) {
            perf.measureSelf(plan, results);
        } else {
            perf.measure(plan, host, results);
        }
        perf.report(plan, results);
        return Main.OK;
    }

    /** What the C programs can't do, or this tool can't do with them. */
    private void checkPerftest(String mode, String host) {
        String reason = !mode.equals("lat") && !mode.equals("bw")
                ? "says 'lat' or 'bw', with the server's HOST or as the server: a C program measures one of them"
                : options.has("--self")
                        ? "needs a C program, so there is no --self"
                        : options.has("-R")
                                ? "is for ends that find each other by TCP, without -R"
                                : !options.text("-c", "RC").equalsIgnoreCase("RC")
                                        ? "connects RC only"
                                        : options.text("--op", "send").equalsIgnoreCase("atomic")
                                                ? "does send, write and read only"
                                                : options.has("-e")
                                                        ? "polls: -e is for two ends of this tool"
                                                        : options.has("-a")
                                                                        || options.text("-s", "")
                                                                                .contains(",")
                                                                ? "measures one size at a time"
                                                                : options.number("-n", 1000) < 5
                                                                        ? "needs an -n of 5 at least, as the C programs do"
                                                                        : host.isEmpty()
                                                                                        && (options.has("--json")
                                                                                                || options.has(
                                                                                                        "--html"))
                                                                                ? "prints no numbers as the server: the client has them"
                                                                                : "";
        if (!reason.isEmpty()) {
            throw options.usage("--peer-perftest " + reason);
        }
    }

    /** Measures with a C program that serves, or serves one; false if there is nothing to report. */
    private boolean withPerftest(PerfPlan plan, String host, List<PerfRun.Result> results)
            throws IOException, InterruptedException {
        boolean client = !host.isEmpty();
        try (VerbsArena arena = VerbsArena.ofShared();
                Tcp tcp = client ? connect(host) : Tcp.accept(tcpPort(), HANDSHAKE)) {
            PerftestPeer peer = new PerftestPeer(tcp, client);
            PerfSetup setup = new PerfSetup(plan, arena, tcp);
            PerfLink link = setup.withPerftest(device().open(arena), port(), gidIndex(), peer);
            PerftestRun run = new PerftestRun(plan, link, peer, tcp, client);
            if (client) {
                results.add(run.measure());
                return true;
            }
            Optional<PerftestPeer.Report> report = run.serve();
            out.println("served " + PerftestRun.program(plan) + " of perftest " + PerftestPeer.VERSION
                    + report.map(it -> String.format(
                                    Locale.ROOT,
                                    ": %d messages of %d bytes, %.2f MiB/s, %.0f messages/s",
                                    it.iterations(),
                                    it.size(),
                                    it.mebibytes(),
                                    it.millions() * 1e6))
                            .orElse(""));
            return false;
        }
    }

    private int gidIndex() {
        return options.number("-g", -1, -1, 255);
    }

    private int tcpPort() {
        return options.number("-p", PORT, 1, 65_535);
    }

    private PerfPlan plan(List<Mode> modes) {
        Operation operation;
        QueuePairType type;
        try {
            operation = Operation.valueOf(options.text("--op", "send").toUpperCase(Locale.ROOT));
            type = QueuePairType.valueOf(options.text("-c", "RC").toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw options.usage("--op is send, write, read or atomic, and -c is RC, UC or UD");
        }
        if (type != QueuePairType.RC && type != QueuePairType.UC && type != QueuePairType.UD) {
            throw options.usage("-c is RC, UC or UD");
        }
        if (!operation.worksOver(type)) {
            throw options.usage(type + " has no " + operation.text());
        }
        if (options.has("-R") && type == QueuePairType.UC) {
            throw options.usage("-R connects RC and UD only");
        }
        if (options.has("-e") && operation == Operation.WRITE && modes.contains(Mode.LAT)) {
            throw options.usage("no event tells of a write: its latency is measured without -e");
        }
        List<Integer> sizes = new ArrayList<>();
        if (operation == Operation.ATOMIC) {
            sizes.add(8);
        } else if (options.has("-a")) {
            for (int size = 2; size <= (type == QueuePairType.UD ? 1024 : LARGEST); size *= 2) {
                sizes.add(size);
            }
        } else {
            for (String size : options.text("-s", "64").split(",")) {
                try {
                    sizes.add(Integer.decode(size));
                } catch (NumberFormatException e) {
                    throw options.usage("-s needs numbers with commas between, not '" + size + "'");
                }
                if (sizes.getLast() < 1 || sizes.getLast() > 1 << 30) {
                    throw options.usage("a message has 1 byte to 1 GiB, not " + size);
                }
            }
        }
        return new PerfPlan(
                modes,
                operation,
                type,
                options.has("-R"),
                sizes,
                options.number("-n", 1000, 1, 1_000_000_000),
                options.number("-t", 128, 1, 1 << 14),
                options.number("-I", 0, 0, 1 << 16),
                options.has("-e"));
    }

    private Device device() {
        return options.has("-d") ? Device.named(options.text("-d", "")) : Device.first();
    }

    private int port() {
        return options.number("-i", 1, 1, 255);
    }

    private PerfLink overTcp(PerfSetup setup, VerbsArena arena) throws IOException, InterruptedException {
        return setup.overTcp(device().open(arena), port(), gidIndex());
    }

    private int serve(int tcpPort) throws IOException, InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared();
                Tcp tcp = Tcp.accept(tcpPort, HANDSHAKE)) {
            PerfPlan plan = PerfPlan.fromLine(tcp.readLine(1000, "what to measure"));
            PerfSetup setup = new PerfSetup(plan, arena, tcp);
            PerfLink link = plan.manager() ? setup.accept(address(arena, tcpPort)) : overTcp(setup, arena);
            tcp.patience(Duration.ofHours(1)); // the client may measure for long
            new PerfRun(plan, link, tcp).serve();
            return Main.OK;
        }
    }

    /** Where the connection manager listens: the IP address of the device, which 127.0.0.1 is not. */
    private InetSocketAddress address(VerbsArena arena, int tcpPort) {
        Context context = device().open(arena);
        GidEntry best = context.bestGid(port());
        return new InetSocketAddress(best.gid().toInetAddress(), tcpPort);
    }

    private void measure(PerfPlan plan, String host, List<PerfRun.Result> results)
            throws IOException, InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared();
                Tcp tcp = connect(host)) {
            tcp.write(plan.toLine().getBytes(StandardCharsets.US_ASCII), "what to measure");
            PerfSetup setup = new PerfSetup(plan, arena, tcp);
            PerfLink link = !plan.manager()
                    ? overTcp(setup, arena)
                    : setup.connect(
                            options.has("--self") ? address(arena, tcpPort()) : new InetSocketAddress(host, tcpPort()));
            PerfRun run = new PerfRun(plan, link, tcp);
            try (PerfProgress progress = PerfProgress.onTerminal(plan, run)) {
                for (Mode mode : plan.modes()) {
                    for (int size : plan.sizes()) {
                        progress.begin(mode, size);
                        results.add(run.measure(mode, size));
                    }
                }
            }
        }
    }

    /** The server is a thread; if it fails, the client's failure is only what follows. */
    private void measureSelf(PerfPlan plan, List<PerfRun.Result> results) throws Exception {
        FutureTask<Integer> served = new FutureTask<>((Callable<Integer>) () -> serve(tcpPort()));
        Thread server = Thread.ofPlatform().daemon().name("server").start(served);
        try {
            measure(plan, "127.0.0.1", results);
        } catch (IOException e) {
            if (served.state() == Future.State.FAILED && served.exceptionNow() instanceof Exception reason) {
                reason.addSuppressed(e);
                throw reason;
            }
            throw e;
        } finally {
            server.interrupt();
            server.join();
        }
    }

    /** With --self, the server may not listen yet. */
    private Tcp connect(String host) throws IOException, InterruptedException {
        long limit = System.nanoTime() + HANDSHAKE.toNanos();
        for (; ; ) {
            try {
                return Tcp.connect(host, tcpPort(), HANDSHAKE);
            } catch (IOException e) {
                if (!options.has("--self") || System.nanoTime() > limit) {
                    throw e;
                }
                Thread.onSpinWait();
            }
        }
    }

    private void report(PerfPlan plan, List<PerfRun.Result> results) throws IOException {
        PerfReport report = new PerfReport(plan, results);
        out.print(options.has("--json") ? report.json() : report.table());
        if (options.has("--html")) {
            Path file = Path.of(options.text("--html", ""));
            Files.writeString(file, new PerfPage(plan, results).html());
            if (!options.has("--json")) {
                out.println("wrote " + file);
            }
        }
    }
}
