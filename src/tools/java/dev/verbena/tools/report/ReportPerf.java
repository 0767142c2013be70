package dev.verbena.tools.report;

import dev.verbena.tools.command.Tcp;
import dev.verbena.tools.perf.Perf;
import dev.verbena.tools.perf.PerfPlan;
import dev.verbena.tools.perf.PerfPlan.Mode;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.tools.perf.PerfTraffic;
import dev.verbena.tools.perf.PerfWarmUp;
import dev.verbena.tools.perf.Result;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.device.QueuePairType;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Measures latency and bandwidth by turns with Verbena's {@code perf} and with the C programs of perftest. */
final class ReportPerf {
    private static final PrintStream NOWHERE =
            new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8);
    private static final int DEPTH = 128;
    private static final double MEBIBYTE = (1 << 20) / 1e6;
    private static final Duration START = Duration.ofSeconds(15);
    private static final long PAUSE_MILLIS = 100;

    /** A program that measures. */
    enum Program {
        VERBENA("Verbena"),
        PERFTEST("perftest");

        final String text;

        Program(String text) {
            this.text = text;
        }
    }

    /**
     * A measurement of one size.
     *
     * @param round the number of the turn, from 1
     * @param median for a latency: microseconds
     * @param tail for a latency: the time that 99% of the messages took at most, in microseconds; 0 if unknown
     * @param megabytes for a bandwidth: MB/s, of 1,000,000 bytes
     */
    record Point(
            Operation operation,
            Mode mode,
            int size,
            Program program,
            int round,
            double median,
            double tail,
            double megabytes) {
        Map<String, Object> json() {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("operation", operation.text());
            json.put("mode", mode.text());
            json.put("bytes", size);
            json.put("program", program.text);
            json.put("round", round);
            if (mode == Mode.LAT) {
                json.put("medianMicros", median);
                json.put("p99Micros", tail);
            } else {
                json.put("megabytesPerSecond", megabytes);
            }
            return json;
        }

        /** Returns the value to compare: a median, or a bandwidth. */
        double value() {
            return mode == Mode.LAT ? median : megabytes;
        }
    }

    /** The other end: this machine, or a peer that runs {@code report --server}. */
    interface Far {
        /** The largest number of messages that a C program has memory for the times of. */
        int MOST_MESSAGES = 10_000_000;

        /** Returns the host to connect to. */
        String host();

        /** Starts a server of {@code perf}, and returns its TCP port. */
        int perf() throws Exception;

        /** Starts a server of a C program, and returns its TCP port; 0 if the program is not installed there. */
        int c(String program, int size, int count) throws Exception;

        /** Ends the server of a C program. */
        void end() throws Exception;
    }

    private final Device device;
    private final int port;
    private final List<String> here;
    private final int count;
    private final Far far;
    private final Set<String> warm = new HashSet<>();
    private final List<Point> points = new ArrayList<>();
    private final Map<String, String> missing = new TreeMap<>();
    private boolean alone;
    private boolean cold;

    /**
     * Prepares measurements.
     *
     * @param here the device, port and GID index of this end, as the C programs take them
     * @param count the number of messages of each size
     */
    ReportPerf(Device device, int port, List<String> here, int count, Far far) {
        this.device = device;
        this.port = port;
        this.here = List.copyOf(here);
        this.count = count;
        this.far = far;
    }

    List<Point> points() {
        return points;
    }

    /** Returns the C programs that could not be measured, with the reasons. */
    Map<String, String> missing() {
        return missing;
    }

    void leaveOutPerftest(String reason) {
        alone = true;
        missing.put("perftest", reason);
    }

    /** Measures from the first message on: what is measured contains the loading of classes. */
    void leaveOutWarmUp() {
        cold = true;
    }

    /** Runs the code of a measurement, so that the first one is as fast as later ones. */
    private void warmUp(Operation operation, Mode mode, int size) throws Exception {
        if (!cold && warm.add(operation + " " + mode)) {
            PerfPlan plan = new PerfPlan(
                    List.of(mode),
                    operation,
                    QueuePairType.RC,
                    false,
                    List.of(size),
                    count,
                    DEPTH,
                    0,
                    false,
                    PerfTraffic.PLAIN);
            int index = here.indexOf("-x");
            PerfWarmUp.before(plan, device, port, index < 0 ? -1 : Integer.parseInt(here.get(index + 1)));
        }
    }

    /** Measures one size by both programs, Verbena first in odd rounds. */
    void measure(Operation operation, Mode mode, int size, int round) throws Exception {
        warmUp(operation, mode, size);
        for (Program program : round % 2 == 1 ? Program.values() : new Program[] {Program.PERFTEST, Program.VERBENA}) {
            if (program == Program.VERBENA) {
                points.add(byVerbena(operation, mode, size, round));
            } else if (!alone) {
                Point point = byPerftest(operation, mode, size, round);
                if (point != null) {
                    points.add(point);
                }
            }
        }
    }

    private Point byVerbena(Operation operation, Mode mode, int size, int round) throws Exception {
        List<String> line = new ArrayList<>(List.of(mode.text(), far.host(), "--op", operation.text()));
        line.addAll(List.of("-s", String.valueOf(size), "-n", String.valueOf(count), "-p", String.valueOf(far.perf())));
        line.addAll(here);
        Result result = Perf.measure(NOWHERE, line.toArray(String[]::new)).getFirst();
        far.end();
        return new Point(
                operation,
                mode,
                size,
                Program.VERBENA,
                round,
                result.micros(50),
                result.hasPercentile(99) ? result.micros(99) : 0,
                result.megabytesPerSecond());
    }

    private @Nullable Point byPerftest(Operation operation, Mode mode, int size, int round) throws Exception {
        String program = "ib_" + operation.text() + "_" + mode.text();
        if (missing.containsKey(program)) {
            return null;
        }
        int port = far.c(program, size, count);
        if (port == 0) {
            missing.put(program, "perftest is not installed on both machines");
            return null;
        }
        List<String> line = line(program, here, size, count, port);
        line.add(far.host());
        try {
            String output = untilItConnects(line);
            Point point = output == null ? null : parse(output, operation, mode, size, round);
            if (output != null && point == null) {
                missing.put(program, "its output has no figures that this release can read");
            }
            return point;
        } catch (IOException notHere) {
            missing.put(program, "perftest is not installed on both machines");
            return null;
        } finally {
            far.end();
        }
    }

    /** Returns the command line of a C program. */
    static List<String> line(String program, List<String> where, int size, int count, int port) {
        List<String> line = new ArrayList<>(List.of(program));
        line.addAll(where);
        line.addAll(List.of("-F", "-s", String.valueOf(size), "-n", String.valueOf(count), "-p", String.valueOf(port)));
        return line;
    }

    /** Runs a client again until its server listens. Returns its output; null if it has failed to the end. */
    private @Nullable String untilItConnects(List<String> line) throws IOException, InterruptedException {
        long limit = System.nanoTime() + START.toNanos();
        while (true) {
            Process client = new ProcessBuilder(line).redirectErrorStream(true).start();
            try {
                client.getOutputStream().close();
                ByteArrayOutputStream output = new ByteArrayOutputStream();
                Thread reader = Thread.ofPlatform().daemon().name("perftest").start(() -> {
                    try {
                        client.getInputStream().transferTo(output);
                    } catch (IOException ended) {
                        output.reset();
                    }
                });
                int status = client.waitFor();
                reader.join();
                if (status == 0) {
                    return output.toString(StandardCharsets.UTF_8);
                }
                if (System.nanoTime() > limit) {
                    missing.put(line.getFirst(), "the client ended with status " + status);
                    return null;
                }
            } finally {
                client.destroyForcibly();
            }
            TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
        }
    }

    /** Reads the figures of a C program, which stand below a line that begins with {@code #bytes}. */
    static @Nullable Point parse(String output, Operation operation, Mode mode, int size, int round) {
        boolean below = false;
        for (String line : output.lines().toList()) {
            String[] words = line.strip().split("\\s+");
            if (line.strip().startsWith("#bytes")) {
                below = true;
            } else if (below && words[0].equals(String.valueOf(size)) && words.length >= (mode == Mode.LAT ? 5 : 4)) {
                double third = Double.parseDouble(words[3]);
                return mode == Mode.LAT
                        ? new Point(
                                operation,
                                mode,
                                size,
                                Program.PERFTEST,
                                round,
                                Double.parseDouble(words[4]),
                                words.length > 7 ? Double.parseDouble(words[7]) : 0,
                                0)
                        : new Point(operation, mode, size, Program.PERFTEST, round, 0, 0, third * MEBIBYTE);
            }
        }
        return null;
    }

    /** Servers on this machine, one at a time: a new one ends the one before. A server of {@code perf} runs in a thread. */
    static final class Near implements Far {
        private final List<String> where;
        private @Nullable Thread serving;
        private @Nullable Process process;

        Near(List<String> where) {
            this.where = List.copyOf(where);
        }

        @Override
        public String host() {
            return "127.0.0.1";
        }

        @Override
        public int perf() throws IOException, InterruptedException {
            end();
            ServerSocketChannel listening = Tcp.listen(0);
            List<String> line = new ArrayList<>(List.of("server"));
            line.addAll(where);
            serving = Thread.ofPlatform().daemon().name("perf server").start(() -> {
                try (listening) {
                    Perf.serve(listening, NOWHERE, line.toArray(String[]::new));
                } catch (Exception failure) {
                    return; // the client sees that the connection is closed
                }
            });
            return ((InetSocketAddress) listening.getLocalAddress()).getPort();
        }

        @Override
        public int c(String program, int size, int count) throws IOException, InterruptedException {
            end();
            int port;
            try (ServerSocketChannel free = Tcp.listen(0)) {
                port = ((InetSocketAddress) free.getLocalAddress()).getPort();
            }
            try {
                process = new ProcessBuilder(line(program, where, size, count, port))
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start();
            } catch (IOException notInstalled) {
                return 0;
            }
            return port;
        }

        @Override
        public void end() throws InterruptedException {
            if (serving != null) {
                serving.interrupt();
                serving.join();
                serving = null;
            }
            if (process != null) {
                if (!process.waitFor(1, TimeUnit.SECONDS)) {
                    process.destroyForcibly().waitFor();
                }
                process = null;
            }
        }
    }
}
