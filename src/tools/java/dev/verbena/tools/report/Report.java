package dev.verbena.tools.report;

import dev.verbena.VerbsArena;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Program;
import dev.verbena.tools.command.Progress;
import dev.verbena.tools.command.SecretFile;
import dev.verbena.tools.command.Tcp;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.device.DeviceInfo;
import dev.verbena.tools.device.Doctor;
import dev.verbena.tools.page.Chart;
import dev.verbena.tools.page.HtmlPage;
import dev.verbena.tools.perf.PerfPlan;
import dev.verbena.tools.perf.PerfPlan.Mode;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.device.Port;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Tries and measures a device, and writes a page and a JSON file that can be attached to an issue. */
public final class Report {
    private static final String USAGE = """
            usage: verbena report [OPTION]...              both ends on this machine
                   verbena report --server [OPTION]...     the other machine: serves one
                                                           report
                   verbena report --peer HOST [OPTION]...  measures between two machines

            Tries and measures a device: doctor, devinfo -v, calls of verbs, perf beside the
            C programs of perftest by turns; where the sources are, also scripts/bench
            --short and safe tests. Changes nothing on the machine. Writes NAME.html and
            NAME.json. They contain no host or user names, no network addresses and no keys,
            so they can be attached to an issue.

              --peer=HOST           measure to a machine where 'report --server' runs
              --server              wait for a report, and serve it
              -p, --port=PORT       TCP port of the server (default: 18516)
              --secret-file=FILE    serve only 'report --peer' with the same bytes in a
                                    file. What is measured travels unencrypted
              -d, --ib-dev=DEVICE   device (default: the first)
              -i, --ib-port=PORT    port of the device (default: 1)
              -o, --output=NAME     the files without .html and .json
                                    (default: verbena-report)
              -l, --limit=MINUTES   time limit of the report (default: 20)
              -s, --size=BYTES,...  message sizes
                                    (default: 2,64,1024,4096,65536,1048576)
              -n, --iters=COUNT     messages of each size (default: 1000)
              --op=OPERATION,...    send, write, read (default: all)
              --rounds=COUNT        turns of both programs (default: 2)
              --quick               a first look: messages of 64 bytes, 100 of them, one
                                    round, no warm-up, and neither bench nor tests
              --no-perftest         measure with Verbena only
              --skip=STEP,...       steps to leave out: doctor, devinfo, calls, perf,
                                    bench, tests""";

    private static final List<String> STEPS = List.of("doctor", "devinfo", "calls", "perf", "bench", "tests");

    /** The steps that take minutes. */
    private static final List<String> SLOW_STEPS = List.of("bench", "tests");

    /** The tests that use only objects of their own. Others add and remove devices, or join multicast groups. */
    static final String SAFE_TESTS = "verbs[.](AddressHandle|Completion|DatagramTest|DeviceQuery"
            + "|Extended|MemoryKinds|MemoryRegion|MemoryWindow|QueuePair|ReliableConnection|SharedReceive|Traffic)";

    private static final Duration STOPPING = Duration.ofSeconds(10);

    private final Options options;
    private final PrintStream out;
    private final long end;
    private final int port;
    private final int count;
    private final int rounds;
    private final boolean quick;
    private final List<Integer> sizes = new ArrayList<>();
    private final List<Operation> operations = new ArrayList<>();
    private final Set<String> skipped = new TreeSet<>();
    private final Path page;
    private final Path data;
    private final Map<String, List<String>> texts = new LinkedHashMap<>();
    private final Map<String, String> leftOut = new LinkedHashMap<>();
    private final List<ReportPerf.Point> points = new ArrayList<>();
    private List<ReportCalls.Call> calls = List.of();

    /** Checks all options, before minutes are spent. */
    private Report(Options options, PrintStream out) {
        this.options = options;
        this.out = out;
        end = System.nanoTime() + limit(options).toNanos();
        port = options.number("-i", 1, 1, 255);
        quick = options.has("--quick");
        count = options.number("-n", quick ? 100 : 1000, 5, ReportPerf.Far.MOST_MESSAGES);
        rounds = options.number("--rounds", quick ? 1 : 2, 1, 100);
        sizes.addAll(options.numbers("-s", quick ? "64" : "2,64,1024,4096,65536,1048576", 1, PerfPlan.LARGEST));
        for (String operation : options.text("--op", "send,write,read").split(",")) {
            switch (operation) {
                case "send", "write", "read" -> operations.add(Operation.valueOf(operation.toUpperCase(Locale.ROOT)));
                default -> throw options.usage("--op needs send, write or read, got '" + operation + "'");
            }
        }
        for (String step : options.text("--skip", "").split(",")) {
            if (!step.isEmpty() && !STEPS.contains(step)) {
                throw options.usage("--skip needs steps of " + STEPS + ", got '" + step + "'");
            }
            skipped.add(step);
        }
        if (options.has("--server") && options.has("--peer")) {
            throw options.usage("either --server or --peer");
        }
        page = Path.of(options.text("-o", "verbena-report") + ".html");
        data = Path.of(options.text("-o", "verbena-report") + ".json");
        for (Path file : List.of(page, data)) {
            String problem = options.has("--server") ? "" : HtmlPage.problemOf("--output", file, System.getenv());
            if (!problem.isEmpty()) {
                throw options.usage(problem);
            }
        }
    }

    /** Returns the time limit, a number of minutes that may have a fraction. */
    private static Duration limit(Options options) {
        String text = options.text("-l", "20");
        if (!text.matches("[0-9]{1,4}([.][0-9]{1,3})?")) {
            throw options.usage("-l needs a number of minutes, got '" + text + "'");
        }
        return Duration.ofMillis((long) (Double.parseDouble(text) * 60_000));
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
        Options options = Options.parse(args, USAGE, 0);
        int tcpPort = options.number("-p", ReportPeer.PORT, 1, 65_535);
        byte[] secret = SecretFile.read(options);
        Report report = new Report(options, out);
        if (options.has("--server")) {
            try (ServerSocketChannel listening = Tcp.listen(tcpPort)) {
                out.println("waiting for 'verbena report --peer' of another machine");
                ReportPeer.serve(listening, report.where(), secret, out);
            }
            return Tool.OK;
        }
        return report.run(tcpPort, secret);
    }

    private Device device() {
        return options.device();
    }

    /** Returns the device, its port and the index of its GID, as the programs of perftest take them. */
    private List<String> where() {
        List<String> words = new ArrayList<>(List.of("-d", device().name(), "-i", String.valueOf(port)));
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = device().open(arena);
            if (context.port(port).linkLayer() == Port.LinkLayer.ETHERNET) {
                words.addAll(List.of("-x", String.valueOf(context.bestGid(port).index())));
            }
        }
        return words;
    }

    private int run(int tcpPort, byte @Nullable [] secret) throws Exception {
        Redaction redaction = Redaction.ofThisMachine(options.text("--peer", ""));
        Map<String, String> facts = facts();
        step("doctor", () -> tool("doctor", redaction, Doctor::run, "-d", device().name()));
        step("devinfo", () -> tool("devinfo -v", redaction, DeviceInfo::run, "-v", "-d", device().name()));
        step("calls", () -> call(redaction));
        leftOut.putAll(new TreeMap<>(ReportCalls.LEFT_OUT));
        step("perf", () -> measure(tcpPort, secret));
        step("bench", () -> script("scripts/bench --short", redaction, "scripts/bench", "--no-install", "--short"));
        step("tests", () -> script("tests", redaction, "scripts/test", "--no-install", SAFE_TESTS));
        facts.replaceAll((name, value) -> redaction.of(value));
        leftOut.replaceAll((what, why) -> redaction.of(why));
        ReportPage result = new ReportPage(facts, calls, points, texts, leftOut);
        String html = result.html();
        String json = result.json();
        redaction.check(html);
        redaction.check(json);
        Files.writeString(page, html);
        Files.writeString(data, json);
        out.println("wrote " + page + " and " + data + ": please look at them before you send them");
        return calls.stream().anyMatch(call -> call.outcome().equals("FAILED")) ? Tool.FAILED : Tool.OK;
    }

    private void call(Redaction redaction) throws InterruptedException {
        ReportCalls trial = new ReportCalls(device(), port, redaction);
        try {
            trial.run();
        } finally {
            calls = trial.calls();
        }
    }

    /** The work of a step. */
    private interface Work {
        void run() throws Exception;
    }

    /** Does a step within the time that is left. A step that fails is left out with its reason. */
    private void step(String name, Work work) throws InterruptedException {
        if (skipped.contains(name)) {
            leftOut.put(name, "--skip");
            return;
        }
        if (quick && SLOW_STEPS.contains(name)) {
            leftOut.put(name, "--quick");
            return;
        }
        int number = STEPS.indexOf(name);
        String bar = "#".repeat(4 * number) + "-".repeat(4 * (STEPS.size() - number));
        out.println("[" + bar + "] " + (number + 1) + "/" + STEPS.size() + " " + name);
        FutureTask<Boolean> task = new FutureTask<>(() -> {
            work.run();
            return true;
        });
        Thread thread = Thread.ofPlatform().daemon().name("report " + name).start(task);
        try {
            task.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException over) {
            leftOut.put(name, "the time limit was reached: give it more with --limit");
        } catch (ExecutionException failure) {
            Throwable cause = failure.getCause();
            leftOut.put(name, Tool.inOneLine(cause == null ? failure : cause));
        } finally {
            thread.interrupt();
            thread.join(STOPPING);
        }
    }

    private void tool(String title, Redaction redaction, Tool.Body body, String... args) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        body.run(args, new PrintStream(bytes, true, StandardCharsets.UTF_8));
        texts.put(title, redaction.lines(bytes.toString(StandardCharsets.UTF_8)));
    }

    private void measure(int tcpPort, byte @Nullable [] secret) throws Exception {
        if (options.has("--peer")) {
            try (ReportPeer peer = ReportPeer.connect(options.text("--peer", ""), tcpPort, secret)) {
                measure(peer);
            }
        } else {
            measure(new ReportPerf.Near(where()));
        }
    }

    private void measure(ReportPerf.Far far) throws Exception {
        ReportPerf perf = new ReportPerf(device(), port, where(), count, far);
        if (quick) {
            perf.leaveOutWarmUp();
        }
        if (options.has("--no-perftest")) {
            perf.leaveOutPerftest("--no-perftest");
        }
        int all = rounds * operations.size() * Mode.values().length * sizes.size();
        int done = 0;
        try (Progress progress = Progress.onTerminal()) {
            for (int round = 1; round <= rounds; round++) {
                for (Operation operation : operations) {
                    for (Mode mode : Mode.values()) {
                        for (int size : sizes) {
                            String what = "  " + 100 * done++ / all + "% " + operation.text() + " " + mode.text() + ", "
                                    + Chart.bytes(size);
                            progress.show(() -> what);
                            perf.measure(operation, mode, size, round);
                        }
                    }
                }
            }
        } finally {
            far.end();
            points.addAll(perf.points());
            leftOut.putAll(perf.missing());
        }
    }

    /** Runs a script of the sources, if they are there. */
    private void script(String title, Redaction redaction, String... line) throws IOException, InterruptedException {
        String folder = System.getenv("VERBENA_SOURCES"); // set by scripts/verbena
        if (folder == null || !Files.isExecutable(Path.of(folder, line[0]))) {
            leftOut.put(title, "the sources are not here");
            return;
        }
        if (System.getenv("VERBENA_GUEST") != null) { // an emulated guest would take an hour
            leftOut.put(title, "this is a guest of scripts/soft-roce: type it on the machine itself");
            return;
        }
        List<String> words = new ArrayList<>(List.of(line));
        words.set(0, Path.of(folder, line[0]).toString());
        Path output = Files.createTempFile("verbena-report", ".txt");
        ProcessBuilder builder = new ProcessBuilder(words)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .redirectInput(Path.of("/dev/null").toFile());
        builder.environment().put("VERBENA_DEVICE", device().name()); // for tests
        Process process = builder.start();
        try {
            int status = process.waitFor();
            List<String> lines = redaction.lines(Files.readString(output).replace(folder, ""));
            lines.add("exit status " + status);
            texts.put(title, lines);
        } finally {
            process.descendants().forEach(ProcessHandle::destroy);
            process.destroy();
            Files.delete(output);
        }
    }

    private Map<String, String> facts() throws IOException {
        Map<String, String> facts = new LinkedHashMap<>();
        Device device = device();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = device.open(arena);
            Port active = context.port(port);
            facts.put("Device", device.name());
            facts.put("Transport", transport(device, active));
            facts.put(
                    "Vendor",
                    String.format(
                            Locale.ROOT,
                            "0x%04x, part %d, hardware 0x%x",
                            context.attributes().vendorId(),
                            context.attributes().vendorPartId(),
                            context.attributes().hardwareVersion()));
            facts.put("Firmware", context.attributes().firmwareVersion());
            facts.put(
                    "Port",
                    active.state() + ", MTU " + active.activeMtu().bytes() + ", " + active.gigabitsPerSecond()
                            + " Gbit/s");
        }
        if (!device.driver().isEmpty()) {
            facts.put("Driver", device.driver());
        }
        facts.put("rdma-core", rdmaCore());
        HtmlPage.addMachine(facts, Runtime.version().toString());
        facts.put("Verbena", Program.version());
        facts.put("Date", LocalDate.now(ZoneOffset.UTC).toString());
        facts.put("Ends", options.has("--peer") ? "two machines" : "both on this machine");
        facts.put(
                "Measured",
                count + " messages of each size, " + rounds + (rounds == 1 ? " round" : " rounds") + " by turns"
                        + (quick ? ", without warm-up" : ""));
        return facts;
    }

    private static String transport(Device device, Port port) {
        return switch (device.transport()) {
            case IB -> port.linkLayer() == Port.LinkLayer.ETHERNET ? "RoCE" : "InfiniBand";
            case IWARP -> "iWARP";
            default -> device.transport().toString();
        };
    }

    /** Returns the version in the name of the library's file. */
    private static String rdmaCore() throws IOException {
        Path library = libibverbs();
        return library == null ? "unknown" : String.valueOf(library.toRealPath().getFileName());
    }

    private static @Nullable Path libibverbs() throws IOException {
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            return maps.filter(line -> line.contains("/libibverbs.so"))
                    .findFirst()
                    .map(line -> Path.of(line.substring(line.indexOf('/'))))
                    .orElse(null);
        }
    }
}
