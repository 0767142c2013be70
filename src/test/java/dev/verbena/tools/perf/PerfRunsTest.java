package dev.verbena.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.tools.Listening;
import dev.verbena.tools.ToolRun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.xml.sax.InputSource;

/** Tests measurements of every operation over every transport, and their reports. */
@DeviceTest
class PerfRunsTest {
    private static ToolRun self(String... options) throws IOException {
        List<String> args = new ArrayList<>(List.of("perf"));
        args.addAll(List.of(options));
        args.addAll(List.of("--self", "-p", String.valueOf(Listening.freePort())));
        ToolRun run = ToolRun.of(args.toArray(String[]::new));
        assertThat(run.status()).as(run.toString()).isZero();
        return run;
    }

    /** One of each kind. {@code ToolsOnTheFencedProviderTest} has the others: it lacks connected datagrams only. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "lat --op send -e",
                "lat --op write -c UC",
                "lat --op read -e -I 32 -s 16",
                "lat --op atomic",
                "lat --op send -c UD -R",
                "bw --op send -c UD -R -e",
                "bw --op send -b -R",
                "bw --op read -R -T 104",
                "bw --op write -m 512 -S 3 -T 104"
            })
    void perfMeasuresEachOperationOverEachTransport(String line) throws IOException {
        List<String> options = new ArrayList<>(List.of(line.split(" ")));
        options.addAll(List.of("-n", "10", "-t", "4"));
        String table = self(options.toArray(String[]::new)).out();
        assertThat(table.lines()).hasSize(3);
        assertThat(table.lines().toList().getLast().strip()).matches("(8|16|64) +[12]0( +[0-9.]+)+");
    }

    @Test
    void perfMeasuresBothDirectionsOfQueuePairsForATime() throws IOException {
        String table =
                self("bw", "-b", "-q", "4", "-D", "1", "-t", "8", "-s", "4096").out();
        assertThat(table).contains("RC send, both directions, 4 queue pairs bandwidth");
        assertThat(table.lines().toList().getLast().strip()).matches("4096( +[0-9.]+)+");
    }

    /** Messages, calls, reads and transfers of nodes, whose threads wait for events. */
    @Test
    void perfMeasuresTheConnectionLayer() throws IOException {
        String own = CmAddress.four(0).getAddress().getHostAddress();
        ToolRun run = ToolRun.of(("perf --net --self -b " + own + " -n 20 -S 3000000 -e").split(" "));
        assertThat(run.status()).as(run.toString()).isZero();
        assertThat(run.out()).contains("message and back", "call", "read", "reads", "transfer", "3000000");
    }

    @Test
    void htmlPageIsSelfContained() throws Exception {
        // in the project, because a guest keeps no other files
        Path page = Files.createDirectories(Path.of("target/test-pages")).resolve("page.html");
        ToolRun run =
                self("both", "--op", "write", "-s", "64,1024,65536", "-n", "20", "-t", "4", "--html", page.toString());
        assertThat(run.out()).contains("RC write latency", "RC write bandwidth", "wrote " + page);
        String html = Files.readString(page);
        assertThat(html)
                .contains("name=\"viewport\"", "prefers-color-scheme: dark", "<svg viewBox", "64 KiB")
                .doesNotContain("http:", "https:", "src=", "NaN", "Infinity");
        assertThat(html.split("<polyline", -1))
                .as("three distributions, the latency by size and the bandwidth by size")
                .hasSize(1 + 3 + 2);
        String svg = html.substring(html.indexOf("<svg"), html.indexOf("</svg>") + 6);
        DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new java.io.StringReader(svg)));
    }

    @Test
    void jsonContainsAllFigures() throws IOException {
        String json = self("lat", "--op", "read", "-s", "64,128", "-n", "10", "--json")
                .out();
        assertThat(json)
                .startsWith("{\n  \"operation\": \"read\",\n  \"transport\": \"RC\",")
                .contains("\"bytes\": 64", "\"bytes\": 128", "\"p50\": ", "\"p99.9\": ", "\"iterations\": 10");
        assertThat(json.chars().filter(c -> c == '{').count())
                .isEqualTo(json.chars().filter(c -> c == '}').count());
    }

    @Test
    void serverServesAnotherProcessByTheConnectionManager() throws Exception {
        int port = Listening.freePort();
        FutureTask<ToolRun> server = new FutureTask<>(() -> ToolRun.of("perf", "server", "-p", String.valueOf(port)));
        Thread.ofPlatform().daemon().start(server);
        Listening.await(port, () -> !server.isDone());
        ToolRun client = ToolRun.of(
                "perf",
                "bw",
                "-R",
                "-n",
                "20",
                "-t",
                "8",
                "-p",
                String.valueOf(port),
                CmAddress.four(0).getAddress().getHostAddress());
        assertThat(client.status()).as(client.toString()).isZero();
        assertThat(server.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS).status())
                .isZero();
    }

    @Test
    void perfRefusesInvalidOptions() throws IOException {
        assertThat(ToolRun.of("perf", "lat", "-c", "UD", "--op", "read", "x").err())
                .contains("UD has no read");
        assertThat(ToolRun.of("perf", "both", "-e", "--op", "write", "x").err())
                .contains("write latency can't be measured with -e");
        assertThat(ToolRun.of("perf", "lat", "-c", "UC", "-R", "x").err()).contains("-R connects RC and UD only");
        assertThat(ToolRun.of("perf", "speed").err()).contains("server, lat, bw or both");
        assertThat(ToolRun.of("perf", "lat").err()).contains("either the server's HOST or --self");
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> PerfPlan.fromLine("GET / HTTP/1.1"))
                .withMessageContaining("verbena-perf-3");
    }
}
