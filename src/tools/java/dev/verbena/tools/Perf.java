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

/** Measures latency and bandwidth between two machines, or from a machine to itself. */
final class Perf {
    private static final String USAGE = """
            usage: verbena perf server [OPTION]...            serves one client, which decides what to measure
                   verbena perf lat|bw|both [OPTION]... HOST  measures latency, bandwidth, or both
                   verbena perf lat|bw|both --self            the same with both ends in this process
                   verbena perf lat|bw --peer-perftest [OPTION]... [HOST]
                                                              the peer is a C program of perftest: its server,
                                                              or, without HOST, its client

              --op=OPERATION        send, write, read or atomic (default: send)
              -c, --connection=TYPE RC, UC or UD (default: RC). UC has no read, UD neither read nor write
              -R, --rdma_cm         connect by the connection manager (RC, UD) instead of an exchange over TCP
              -s, --size=BYTES,...  message sizes (default: 64)
              -a, --all             sizes from 2 bytes to 8 MiB; for UD, to one packet
              -n, --iters=COUNT     number of messages of each size (default: 1000)
              -t, --tx-depth=COUNT  number of outstanding operations, for the bandwidth (default: 128)
              -I, --inline_size=BYTES   largest message to send inline (default: 0)
              -e, --events          sleep until a completion arrives instead of polling
              -p, --port=PORT       TCP port of the exchange (default: 18515)
              -d, --ib-dev=DEVICE   device (default: the first)
              -i, --ib-port=PORT    port of the device (default: 1)
              -g, --gid-idx=INDEX   GID index (default: the best GID)
              --json                print JSON instead of a table
              --html=FILE           write a page with the latency distribution and the bandwidth by size

            The server answers each send and write; their latency is half of the round trip. For writes, both ends poll
            the memory. The latency of a read or an atomic is the time until its completion.

            --peer-perftest talks with ib_send_lat, ib_write_lat, ib_read_lat, ib_send_bw, ib_write_bw or ib_read_bw,
            as --op tells, over RC, without -R. The ends do not exchange -s and -n: give both the same, with -n at least
            5. The version of perftest must be 6.06 (Debian's 4.5+0.17). For example
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
            default -> throw options.usage("the first word must be server, lat, bw or both");
        };
        if (!perftest && host.isEmpty() != options.has("--self")) {
            throw options.usage("either the server's HOST or --self is required");
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

    /** Checks that a C program of perftest, and this tool with it, can do what the options ask for. */
    private void checkPerftest(String mode, String host) {
        allowPerftest(mode.equals("lat") || mode.equals("bw"), "needs 'lat' or 'bw', as a client or as the server");
        allowPerftest(!options.has("--self"), "can't be combined with --self");
        allowPerftest(!options.has("-R"), "can't be combined with -R");
        allowPerftest(options.text("-c", "RC").equalsIgnoreCase("RC"), "supports RC only");
        allowPerftest(!options.text("--op", "send").equalsIgnoreCase("atomic"), "supports send, write and read only");
        allowPerftest(!options.has("-e"), "can't be combined with -e");
        allowPerftest(!options.has("-a") && !options.text("-s", "").contains(","), "measures one size at a time");
        allowPerftest(options.number("-n", 1000) >= 5, "needs an -n of at least 5, as the C programs do");
        allowPerftest(
                !host.isEmpty() || (!options.has("--json") && !options.has("--html")),
                "has no results for --json or --html on the server: the client has them");
    }

    private void allowPerftest(boolean allowed, String reason) {
        if (!allowed) {
            throw options.usage("--peer-perftest " + reason);
        }
    }

    /** Measures with a C program as the peer. Returns false for the server, which has no results to report. */
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
            throw options.usage("--op must be send, write, read or atomic, and -c must be RC, UC or UD");
        }
        if (type != QueuePairType.RC && type != QueuePairType.UC && type != QueuePairType.UD) {
            throw options.usage("-c must be RC, UC or UD");
        }
        if (!operation.worksOver(type)) {
            throw options.usage(type + " has no " + operation.text());
        }
        if (options.has("-R") && type == QueuePairType.UC) {
            throw options.usage("-R connects RC and UD only");
        }
        if (options.has("-e") && operation == Operation.WRITE && modes.contains(Mode.LAT)) {
            throw options.usage("the write latency can't be measured with -e: the arrival of a write causes no event");
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
                    throw options.usage("-s needs numbers separated by commas, got '" + size + "'");
                }
                if (sizes.getLast() < 1 || sizes.getLast() > 1 << 30) {
                    throw options.usage("message size must be from 1 byte to 1 GiB, got " + size);
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
            PerfPlan plan = PerfPlan.fromLine(tcp.readLine(1000, "the plan of the measurement"));
            PerfSetup setup = new PerfSetup(plan, arena, tcp);
            PerfLink link = plan.manager() ? setup.accept(address(arena, tcpPort)) : overTcp(setup, arena);
            tcp.patience(Duration.ofHours(1)); // a measurement can take long
            new PerfRun(plan, link, tcp).serve();
            return Main.OK;
        }
    }

    /** Returns the address on which the connection manager listens: the IP address of the device, not 127.0.0.1. */
    private InetSocketAddress address(VerbsArena arena, int tcpPort) {
        Context context = device().open(arena);
        GidEntry best = context.bestGid(port());
        return new InetSocketAddress(best.gid().toInetAddress(), tcpPort);
    }

    private void measure(PerfPlan plan, String host, List<PerfRun.Result> results)
            throws IOException, InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared();
                Tcp tcp = connect(host)) {
            tcp.write(plan.toLine().getBytes(StandardCharsets.US_ASCII), "the plan of the measurement");
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

    /** Measures with the server in a thread. If the server fails, reports its failure instead of the client's. */
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

    /** Connects to the server, with retries for {@code --self}: its server may not listen yet. */
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
