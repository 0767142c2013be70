package dev.verbena.tools.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.tools.page.Json;
import dev.verbena.tools.perf.PerfPlan.Mode;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.tools.report.ReportPerf.Point;
import dev.verbena.tools.report.ReportPerf.Program;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.xml.sax.InputSource;

/** Tests the page and the JSON file of a report with results made up for them, and the output of perftest. */
class ReportPageTest {
    private static final String LATENCY_OF_C = """
            ---------------------------------------------------------------------------------------
             #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
             64      1000          1.07           14.01        1.10                1.12             0.30            1.52                    14.01
            ---------------------------------------------------------------------------------------
            """;
    private static final String BANDWIDTH_OF_C = """
             #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
             65536      1000             100.00             50.00              0.000800
            """;

    private static Point latency(int size, Program program, int round, double median) {
        return new Point(Operation.WRITE, Mode.LAT, size, program, round, median, 0, 0);
    }

    private static ReportPage page(int sizes) {
        List<Point> points = new ArrayList<>();
        for (int i = 0; i < sizes; i++) {
            for (int round = 1; round <= 2; round++) {
                points.add(latency(64 << i, Program.VERBENA, round, 2 + i + round));
                points.add(latency(64 << i, Program.PERFTEST, round, 1 + i + round));
            }
        }
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put("Device", "mlx5_0 <\"1\">");
        return new ReportPage(
                facts,
                List.of(
                        new ReportCalls.Call("ibv_alloc_pd", "works", ""),
                        new ReportCalls.Call("ibv_alloc_dm", "not supported", "no & never")),
                points,
                Map.of("doctor", List.of("ok <1>", "ok \"2\"")),
                Map.of("ibv_fork_init", "changes the whole process"));
    }

    @Test
    void pageHasCurvesOfBothPrograms() throws Exception {
        String html = page(3).html();
        assertThat(html)
                .contains(
                        "name=\"viewport\"",
                        "prefers-color-scheme: dark",
                        "max-width: 40rem",
                        "not supported: 1, works: 1")
                .contains("mlx5_0 &lt;&quot;1&quot;&gt;", "ok &lt;1&gt;", "no &amp; never", "changes the whole process")
                .doesNotContain("http:", "https:", "src=", "NaN", "Infinity");
        assertThat(html.split("<polyline", -1)).as("two curves").hasSize(3);
        String body =
                html.substring(html.indexOf("<body>"), html.indexOf("</html>")).replace("&ndash;", "-");
        assertThat(DocumentBuilderFactory.newInstance()
                        .newDocumentBuilder()
                        .parse(new InputSource(new StringReader(body)))
                        .getElementsByTagName("table")
                        .getLength())
                .isEqualTo(4);
    }

    @Test
    void tableHasTheBestOfAllRounds() {
        assertThat(page(3).html()).contains("<tr><td>64 B</td><td>3.00</td><td>2.00</td></tr>");
    }

    @Test
    void fewSizesMakeNoCurve() {
        assertThat(page(2).html()).contains("<td>128 B</td>").doesNotContain("<polyline");
    }

    @Test
    void jsonHasAllMeasurements() {
        String json = page(3).json();
        assertThat(Pattern.compile("\"medianMicros\"").matcher(json).results()).hasSize(12);
        assertThat(json)
                .contains("\"format\": \"verbena-report-1\"", "\"Device\": \"mlx5_0 <\\\"1\\\">\"", "\"round\": 2");
    }

    @Test
    void jsonIsWritten() {
        Map<String, Object> value = new LinkedHashMap<>();
        value.put("a\"\\\n\u0001", List.of(1, 2.5, true, "µ"));
        value.put("empty", List.of());
        assertThat(Json.of(value)).isEqualTo("""
                {
                  "a\\"\\\\\\n\\u0001": [
                    1,
                    2.500,
                    true,
                    "µ"
                  ],
                  "empty": []
                }
                """);
    }

    @Test
    void figuresOfPerftestAreRead() {
        Point latency = Objects.requireNonNull(ReportPerf.parse(LATENCY_OF_C, Operation.WRITE, Mode.LAT, 64, 1));
        assertThat(latency.median()).isEqualTo(1.10);
        assertThat(latency.tail()).isEqualTo(1.52);
        Point bandwidth = Objects.requireNonNull(ReportPerf.parse(BANDWIDTH_OF_C, Operation.READ, Mode.BW, 65_536, 1));
        assertThat(bandwidth.megabytes()).isEqualTo(50 * 1.048576);
        assertThat(ReportPerf.parse("Couldn't connect", Operation.READ, Mode.BW, 65_536, 1))
                .isNull();
        assertThat(ReportPerf.parse(LATENCY_OF_C, Operation.WRITE, Mode.LAT, 128, 1))
                .isNull();
    }

    /** A report runs these tests on machines of others. */
    @Test
    void safeTestsStartNoProgramsAndJoinNoGroups() throws IOException {
        Path tests = Path.of("src/test/java");
        try (Stream<Path> files = Files.walk(tests)) {
            List<Path> safe = files.filter(file -> Pattern.compile(Report.SAFE_TESTS + ".*[.]java")
                            .matcher(tests.relativize(file).toString().replace('/', '.'))
                            .find())
                    .toList();
            for (String name : Report.SAFE_TESTS.replaceAll(".*[(]|[)]", "").split("[|]")) {
                assertThat(safe)
                        .as(name)
                        .anyMatch(file -> file.getFileName().toString().startsWith(name));
            }
            assertThat(safe)
                    .hasSizeGreaterThan(15)
                    .allSatisfy(file -> assertThat(Files.readString(file))
                            .doesNotContain(
                                    "SecondDevice",
                                    "ProcessBuilder",
                                    "ChildJvm",
                                    "attachMulticast",
                                    "createFlow",
                                    "@LongTest"));
        }
    }

    @Test
    void serverStartsNothingElse() throws Exception {
        ReportPerf.Near servers = new ReportPerf.Near(List.of("-d", "nothing"));
        for (String line : List.of(
                "c sh 64 100",
                "c ib_write_lat -1 100",
                "c ib_write_lat 64 x",
                "c ib_write_lat 64 10000001",
                "c ib_write_lat 64",
                "x")) {
            assertThat(ReportPeer.answer(line, servers)).as(line).startsWith("no: ");
        }
        assertThat(ReportPeer.answer("end", servers)).isEqualTo("ok");
    }
}
