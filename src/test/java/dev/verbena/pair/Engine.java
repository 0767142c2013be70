package dev.verbena.pair;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.sockets.Preload;
import dev.verbena.support.Await;
import dev.verbena.support.Loopback;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Programs of a stock engine, such as a Kafka broker, over one of three ways: {@code rdma} by the option that names the
 * library's provider, {@code provider} without it, because the program names the provider itself, or {@code tcp}. They are
 * killed in reverse order, with the processes that they have started.
 */
final class Engine implements AutoCloseable {
    /** Long enough for an engine's job in an emulated guest on a busy machine. */
    static final Duration LIMIT = Duration.ofMinutes(40);

    private static final String OPTIONS = "-Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
            + " -Dorg.slf4j.simpleLogger.defaultLogLevel=error --enable-native-access=ALL-UNNAMED"
            + Stream.of( // as Spark's scripts do
                            "java.lang",
                            "java.lang.invoke",
                            "java.io",
                            "java.net",
                            "java.nio",
                            "java.util",
                            "java.util.concurrent")
                    .map(name -> " --add-opens=java.base/" + name + "=ALL-UNNAMED")
                    .collect(Collectors.joining());

    private final String way;
    private final Path home;
    private final Path log;
    private final Deque<Process> running = new ArrayDeque<>();
    private long logged;
    private final long start = System.nanoTime();
    private final long packets = Laboratory.counter("sent_pkts");
    private final long bytes = bytesOnWire();

    Engine(String name, String way) throws IOException {
        this.way = way;
        home = Path.of("target/engines", name).toAbsolutePath();
        log = home.resolve("guest-" + System.getenv("VERBENA_SIDE") + ".log");
    }

    /** Starts a program whose output goes to a file in {@code target/engines}. */
    Process start(String... program) throws IOException {
        logged = Files.exists(log) ? Files.size(log) : 0;
        return start(Redirect.appendTo(log.toFile()), program);
    }

    /** Starts a program and reads its output. */
    Process read(String... program) throws IOException {
        return start(Redirect.PIPE, program);
    }

    /** Starts a C program, which {@code librspreload.so} gives RDMA sockets. */
    void preload(String... program) throws IOException {
        start(Redirect.appendTo(log.toFile()), way.equals("tcp") ? List.of(program) : Preload.of(List.of(program)));
    }

    private Process start(Redirect output, String... program) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                home.resolve("jars/*") + ""));
        command.addAll(List.of(program));
        return start(output, command);
    }

    private Process start(Redirect output, List<String> command) throws IOException {
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectOutput(output).redirectError(Redirect.appendTo(log.toFile()));
        builder.environment()
                .putAll(Map.of( // also for the processes that the program starts
                        "JDK_JAVA_OPTIONS",
                        OPTIONS
                                + (way.equals("rdma")
                                        ? " -Djava.nio.channels.spi.SelectorProvider=dev.verbena.sockets.RdmaSelectorProvider"
                                        : ""),
                        "SPARK_HOME",
                        home.toString(),
                        "SPARK_SCALA_VERSION",
                        "2.13",
                        "SPARK_LOCAL_IP",
                        System.getenv("VERBENA_ADDRESS")));
        Process process = builder.start();
        running.push(process);
        return process;
    }

    /** Prints the lines of a program up to one that it must say. */
    static void printUntil(String last, BufferedReader program) throws IOException {
        for (String line = program.readLine(); !last.equals(line); line = program.readLine()) {
            assertThat(line).as("a line before the end: see target/engines").isNotNull();
            System.out.println(line);
        }
    }

    /** Waits until the program that was started last has said something. */
    void await(String text) {
        Process process = running.element();
        Await.until(text, LIMIT, () -> {
            assertThat(process.isAlive()).as("alive: see " + log).isTrue();
            return said().contains(text);
        });
    }

    private String said() {
        try (FileChannel file = FileChannel.open(log)) {
            ByteBuffer bytes = ByteBuffer.allocate((int) (file.size() - logged));
            file.read(bytes, logged);
            return StandardCharsets.UTF_8.decode(bytes.flip()).toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Kills the program that was started last. */
    void kill() {
        Process process = running.pop();
        List<ProcessHandle> started = process.descendants().toList();
        process.destroyForcibly();
        started.forEach(ProcessHandle::destroyForcibly);
        process.onExit()
                .orTimeout(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS)
                .join();
    }

    @Override
    public void close() {
        while (!running.isEmpty()) {
            kill();
        }
    }

    /**
     * Prints what the job has sent and received since this was made, and checks that it went the right way.
     *
     * @param peersTcp the other guest's number of TCP sockets on the wire
     * @param least the least number of packets of RDMA that this guest has sent
     */
    void checkWay(long peersTcp, long least) throws IOException {
        boolean rdma = !way.equals("tcp");
        long tcp = tcpSockets() + peersTcp;
        long sent = Laboratory.counter("sent_pkts") - packets;
        System.out.printf(
                "%s over %s: %d s, %d bytes on the wire, %d packets of RDMA sent by guest a, %d TCP sockets%n",
                home.getFileName(), way, (System.nanoTime() - start) / 1_000_000_000, bytesOnWire() - bytes, sent, tcp);
        assertThat(tcp > 0).as("TCP sockets on the wire: " + tcp).isNotEqualTo(rdma);
        assertThat(sent > least).as("packets of RDMA: " + sent).isEqualTo(rdma);
    }

    /** Returns the number of this guest's TCP sockets at the wire's addresses, 192.0.2.1 and 192.0.2.2. */
    static long tcpSockets() throws IOException {
        long count = 0;
        for (String table : List.of("tcp", "tcp6")) {
            try (Stream<String> lines = Files.lines(Path.of("/proc/net", table))) {
                count += lines.filter(line -> line.contains("0200C0:")).count();
            }
        }
        return count;
    }

    /** Returns the bytes that this guest has sent to the wire and received from it. */
    private static long bytesOnWire() throws IOException {
        Path counters = Path.of("/sys/class/net/e0/statistics");
        return Long.parseLong(Files.readString(counters.resolve("tx_bytes")).strip())
                + Long.parseLong(Files.readString(counters.resolve("rx_bytes")).strip());
    }
}
