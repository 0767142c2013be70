package dev.verbena.tools;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.tools.command.PeerText;
import dev.verbena.tools.perf.PerfPlan;
import dev.verbena.tools.perf.PerfPlan.Mode;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.tools.perf.PerfTraffic;
import dev.verbena.tools.perf.PerfWarmUp;
import dev.verbena.tools.perf.ShortWarmUps;
import dev.verbena.verbs.device.Mtu;
import dev.verbena.verbs.device.QueuePairType;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.StringReader;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.xml.sax.InputSource;

/** Tests the tools without a device. The provider checks each access to memory. */
@FencedTest
@ExtendWith(ShortWarmUps.class)
class ToolsOnTheFencedProviderTest {
    private static ToolRun run(List<String> line, String... more) {
        List<String> words = new ArrayList<>(line);
        words.addAll(List.of(more));
        return ToolRun.of(words.toArray(String[]::new));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "both --op send",
                "both --op write",
                "both --op read",
                "both --op atomic",
                "both --op send -c UC",
                "both --op write -c UC",
                "both --op send -c UD",
                "bw --op write -e",
                "bw --op read -q 3",
                "bw --op atomic -b -q 2",
                "bw --op write -b -e",
                "bw --op send -b -q 4 -e",
                "bw --op send -b -c UC -m 1024",
                "bw --op send -b -q 2 -c UD",
                "lat --op send -R -T 104",
                "both -P 1 --op send --parallel 1 -S 3 --tclass 104"
            })
    void perfNeedsNoMoreRightsThanItsOperationDoes(String line) throws IOException {
        run(
                        List.of(("perf " + line).split(" ")),
                        "-n",
                        "20",
                        "-t",
                        "4",
                        "--self",
                        "-p",
                        String.valueOf(Listening.freePort()))
                .succeeds();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "lat --op send",
                "lat --op write",
                "lat --op read",
                "lat --op atomic",
                "lat --op send -c UC",
                "lat --op write -c UC",
                "lat --op send -c UD",
                "lat --op send -e",
                "lat --op read -e -I 32 -s 16",
                "lat --op send -R",
                "lat --op read -R",
                "lat --op write -R -t 1",
                "bw --op send",
                "bw --op write",
                "bw --op read",
                "bw --op atomic",
                "bw --op write -c UC",
                "bw --op send -e",
                "bw --op write -I 64",
                "bw --op write -R",
                "bw --op read -R -T 104",
                "bw --op write -m 512 -S 3 -T 104"
            })
    void perfMeasuresEachOperationOverEachTransport(String line) throws IOException {
        List<String> words = new ArrayList<>(List.of(("perf " + line).split(" ")));
        if (!words.contains("-t")) {
            words.addAll(List.of("-t", "4"));
        }
        ToolRun run = run(words, "-n", "10", "--self", "-p", String.valueOf(Listening.freePort()))
                .succeeds();
        assertThat(run.out().lines()).hasSize(3);
        assertThat(run.out().lines().toList().getLast().strip()).matches("(8|16|64) +[12]0( +[0-9.]+)+");
    }

    @Test
    void htmlPageOfPerfIsSelfContained(@TempDir Path folder) throws Exception {
        Path page = folder.resolve("page.html");
        ToolRun run = run(
                        List.of(
                                "perf",
                                "both",
                                "--op",
                                "write",
                                "-s",
                                "64,1024,65536",
                                "-n",
                                "20",
                                "-t",
                                "4",
                                "--self"),
                        "--html",
                        page.toString(),
                        "-p",
                        String.valueOf(Listening.freePort()))
                .succeeds();
        assertThat(run.out()).contains("RC write latency", "RC write bandwidth", "wrote " + page);
        String html = Files.readString(page);
        assertThat(html)
                .contains("name=\"viewport\"", "prefers-color-scheme: dark", "<svg viewBox", "64 KiB")
                .doesNotContain("http:", "https:", "src=", "NaN", "Infinity");
        assertThat(html.split("<polyline", -1))
                .as("three distributions, the latency by size and the bandwidth by size")
                .hasSize(1 + 3 + 2);
        String svg = html.substring(html.indexOf("<svg"), html.indexOf("</svg>") + 6);
        DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(svg)));
    }

    @Test
    void jsonOfPerfContainsAllFigures() throws IOException {
        ToolRun run = run(
                        List.of(("perf lat --op read -s 64,128 -n 10 --json --self").split(" ")),
                        "-p",
                        String.valueOf(Listening.freePort()))
                .succeeds();
        String json = run.out();
        assertThat(json)
                .startsWith("{\n  \"operation\": \"read\",\n  \"transport\": \"RC\",")
                .contains("\"bytes\": 64", "\"bytes\": 128", "\"p50\": ", "\"p99.9\": ", "\"iterations\": 10");
        assertThat(json.chars().filter(c -> c == '{').count())
                .isEqualTo(json.chars().filter(c -> c == '}').count());
    }

    /** The messages of one direction. */
    private static double messages(String report) {
        return Double.parseDouble(report.lines().toList().getLast().strip().split(" +")[1]);
    }

    @Test
    void perfCountsTheMessagesOfBothDirections() throws IOException {
        String port = String.valueOf(Listening.freePort());
        ToolRun run = run(List.of("perf", "bw", "-b", "-q", "3", "-n", "50", "-t", "4", "--self", "-p", port))
                .succeeds();
        assertThat(run.out()).contains("RC send, both directions, 3 queue pairs bandwidth", "MB/s");
        assertThat(messages(run.out())).isEqualTo(100);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"lat --op send", "lat --op write", "lat --op read", "bw --op send -b -q 4", "bw --op write"})
    void perfMeasuresForATime(String line) throws IOException {
        ToolRun run = run(
                        List.of(("perf " + line).split(" ")),
                        "-D",
                        "1",
                        "--report_gbits",
                        "--self",
                        "-p",
                        String.valueOf(Listening.freePort()))
                .succeeds();
        assertThat(messages(run.out())).isGreaterThan(1);
        assertThat(run.out().contains("Gbit/s")).isEqualTo(line.startsWith("bw"));
    }

    @Test
    void pathOptionsOfPerfReachTheQueuePairs() throws IOException {
        Fenced.calm();
        String port = String.valueOf(Listening.freePort());
        run(List.of(("perf bw -m 512 -S 3 -T 104 -x 0 -n 5 --self -p " + port).split(" ")))
                .succeeds();
        assertThat(Mtu.of((int) Fenced.noted("ibv_modify_qp.path_mtu"))).isEqualTo(Mtu.BYTES_512);
        assertThat(Fenced.noted("ibv_modify_qp.sl")).isEqualTo(3);
        assertThat(Fenced.noted("ibv_modify_qp.traffic_class")).isEqualTo(104);
    }

    @Test
    void trafficClassOfPerfReachesTheConnectionManager() throws IOException {
        String port = String.valueOf(Listening.freePort());
        run(List.of(("perf bw -R -T 48 -n 5 --self -p " + port).split(" "))).succeeds();
        assertThat(Fenced.noted("rdma_set_option.tos")).isEqualTo(48);
    }

    /** A server that stays goes on after a client that fails, too. */
    @Test
    void keptServerServesClientsUntilItIsInterrupted() throws Exception {
        int port = Listening.freePort();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Thread server = ToolRun.start(out, "perf", "server", "--keep", "-p", String.valueOf(port));
        for (String op : List.of("send", "write", "read")) {
            Listening.await(port, server::isAlive);
            if (op.equals("write")) {
                new Socket("127.0.0.1", port).close();
                Await.until(
                        "the failure is printed", () -> out.toString(US_ASCII).contains("failed: "));
                Listening.await(port, server::isAlive);
            }
            run(List.of(("perf bw -n 5 127.0.0.1 --op " + op + " -p " + port).split(" ")))
                    .succeeds();
            Await.until("the end is printed", () -> out.toString(US_ASCII).contains("served RC " + op + "\n"));
        }
        server.interrupt();
        server.join();
    }

    @Test
    void clientOfAKeptServerWaitsForTheOneBefore() throws Exception {
        String port = String.valueOf(Listening.freePort());
        Thread server = ToolRun.start(new ByteArrayOutputStream(), "perf", "server", "--keep", "-p", port);
        Listening.await(Integer.parseInt(port), server::isAlive);
        FutureTask<ToolRun> second;
        try (Socket first = new Socket("127.0.0.1", Integer.parseInt(port))) {
            second = new FutureTask<>(() -> run(List.of(("perf bw -n 5 127.0.0.1 -p " + port).split(" "))));
            Thread thread = Thread.ofPlatform().daemon().start(second);
            Await.until(
                    "the second client waits",
                    () -> second.isDone() || Await.isIn(thread, "dev.verbena.tools.command.Tcp", "await"));
            assertThat(first.isConnected()).isTrue();
        }
        assertThat(second.get().status()).as(second.get().toString()).isZero();
        server.interrupt();
        server.join();
    }

    /** The message of the failure has what the client has sent. */
    @Test
    void keptServerShowsTheTextOfAStrangerWithoutHarm() throws Exception {
        int port = Listening.freePort();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Thread server = ToolRun.start(out, "perf", "server", "--keep", "-p", String.valueOf(port));
        Listening.await(port, server::isAlive);
        try (Socket stranger = new Socket("127.0.0.1", port)) {
            stranger.getOutputStream().write("\u001b[2Jan order to the terminal\n".getBytes(US_ASCII));
            Await.until("the failure is printed", () -> out.toString(US_ASCII).contains("the same release?"));
        }
        server.interrupt();
        server.join();
        assertThat(out.toString(US_ASCII).lines())
                .anyMatch(line -> line.contains("?[2Jan order to the terminal"))
                .allMatch(PeerText::isHarmless);
    }

    private static void assertPerfMeasuresNet(int lines, String... more) {
        ToolRun run = run(List.of("perf", "--net", "--self", "-b", "10.9.9.1", "-n", "20", "-S", "3000000"), more)
                .succeeds();
        assertThat(run.out()).contains("message and back", "call", "read", "reads", "transfer", "3000000");
        assertThat(run.out().lines()).hasSize(lines);
    }

    /** Messages, calls, reads and transfers through the layer, in both styles. */
    @ParameterizedTest
    @ValueSource(strings = {"", "-e", "--json", "-s 5000 -t 3 -e"})
    void perfMeasuresTheConnectionLayer(String line) {
        String[] words = line.isEmpty() ? new String[0] : line.split(" ");
        assertPerfMeasuresNet(line.equals("--json") ? 47 : 7, words);
    }

    @Test
    void perfMeasuresSealedChannels(@TempDir Path folder) throws IOException {
        Path secret = Files.write(folder.resolve("secret"), new byte[32]);
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        assertPerfMeasuresNet(7, "--secret-file=" + secret);
    }

    @ParameterizedTest
    @ValueSource(strings = {"lat --op write", "bw --op send -I 64"})
    void perfWarmsUpAndThenTalksAsPerftestDoes(String line) throws Exception {
        String port = String.valueOf(Listening.freePort());
        List<String> words = new ArrayList<>(List.of(("perf " + line).split(" ")));
        words.addAll(List.of("--peer-perftest", "-n", "20", "-p", port));
        FutureTask<ToolRun> server = new FutureTask<>(() -> run(words));
        Thread.ofPlatform().daemon().start(server);
        Listening.await(Integer.parseInt(port), server);
        ToolRun client = run(words, "127.0.0.1").succeeds();
        assertThat(client.out().lines().toList().getLast().strip()).matches("64 +20( +[0-9.]+)+");
        ToolRun served =
                server.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS).succeeds();
        assertThat(served.out()).startsWith("served ib_");
    }

    @ParameterizedTest
    @EnumSource(
            value = Operation.class,
            names = {"SEND", "WRITE", "READ"})
    void warmUpSendsSeriesOfMessages(Operation operation) throws Exception {
        PerfPlan plan = new PerfPlan(
                List.of(Mode.LAT), operation, QueuePairType.RC, false, List.of(64), 5, 16, 0, false, PerfTraffic.PLAIN);
        assertThat(PerfWarmUp.before(plan, TestDevice.get(), 1, -1)).isBetween(50, 64 * 20_050);
    }
}
