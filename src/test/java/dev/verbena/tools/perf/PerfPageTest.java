package dev.verbena.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.tools.ToolRun;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.page.Chart;
import dev.verbena.tools.perf.PerfPlan.Mode;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.verbs.device.QueuePairType;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.xml.sax.InputSource;

/** Tests the page of {@code perf --html} with results made up for it. */
class PerfPageTest {
    private static final Map<String, String> FACTS = Map.of("Command", "verbena perf lat --self -s '<64>'");

    private static PerfPlan plan(int iterations, Integer... sizes) {
        return new PerfPlan(
                List.of(Mode.LAT, Mode.BW),
                Operation.SEND,
                QueuePairType.RC,
                false,
                List.of(sizes),
                iterations,
                128,
                0,
                false,
                PerfTraffic.PLAIN);
    }

    /** Returns a record in which the messages take from one microsecond to the longest time. */
    private static PerfRecord record(int iterations, long longestNanos, Integer... sizes) {
        PerfPlan plan = plan(iterations, sizes);
        List<Result> results = new ArrayList<>();
        for (Mode mode : plan.modes()) {
            for (int size : sizes) {
                Histogram nanos = PerfRun.histogram();
                for (int i = 1; i <= iterations; i++) {
                    nanos.recordValue(Math.max(1000, longestNanos * i / iterations));
                }
                results.add(new Result(mode, size, iterations, nanos, 0.5));
            }
        }
        return PerfRecord.of(plan, FACTS, results);
    }

    private static String page(PerfRecord record) {
        return new PerfPage(record, null).html();
    }

    private static List<String> charts(String html) {
        return Pattern.compile("<svg.*?</svg>", Pattern.DOTALL)
                .matcher(html)
                .results()
                .map(MatchResult::group)
                .toList();
    }

    private static List<String> all(String pattern, String html) {
        return Pattern.compile(pattern)
                .matcher(html)
                .results()
                .map(found -> found.group(1))
                .toList();
    }

    @ParameterizedTest
    @ValueSource(longs = {10_000, 10_000_000, 10_000_000_000L, 59_000_000_000L})
    void labelsOfAnAxisDifferAndFitANarrowScreen(long longestNanos) {
        String chart = charts(page(record(1000, longestNanos, 64))).getFirst();
        List<String> labels = all("text-anchor=\"end\">([^<]*)</text>\n", chart).stream()
                .filter(label -> !label.contains(":"))
                .toList();
        assertThat(labels).hasSizeGreaterThan(1).doesNotHaveDuplicates().allMatch(label -> label.length() <= 8);
    }

    @ParameterizedTest
    @CsvSource({"1,-3,1 ns", "5,2,500 µs", "1,6,1 s", "1,8,100 s", "2,3,2 ms", "1,10,'10,000 s'"})
    void labelHasAUnitOfItsOwn(int digit, int decade, String label) {
        assertThat(Chart.label(digit, decade, Chart.TIMES)).isEqualTo(label);
    }

    @Test
    void chartsAreWellFormed() throws Exception {
        PerfRecord record = record(1000, 50_000, 64, 4096, 1 << 20);
        for (PerfRecord before : new PerfRecord[] {null, record(100, 9_000, 64)}) {
            List<String> charts = charts(new PerfPage(record, before).html());
            assertThat(charts).hasSize(3);
            for (String chart : charts) {
                DocumentBuilderFactory.newInstance()
                        .newDocumentBuilder()
                        .parse(new InputSource(new StringReader(chart)));
                assertThat(chart).doesNotContain("NaN", "Infinity");
            }
        }
    }

    @Test
    void bandwidthOfFewSizesIsDrawnAsBars() {
        List<String> charts = charts(page(record(100, 50_000, 64)));
        assertThat(charts).hasSize(2);
        assertThat(charts.getLast())
                .contains("<rect class=\"bar\"", "64 B: 0.01 MB/s, 200 messages/s")
                .doesNotContain("<polyline");
        assertThat(charts(page(record(100, 50_000, 64, 128, 256))).getLast()).contains("<polyline");
    }

    @Test
    void pageTellsHowManySizesAreDrawn() {
        Integer[] sizes = IntStream.range(1, 24).mapToObj(n -> 1 << n % 24).toArray(Integer[]::new);
        String html = page(record(100, 50_000, sizes));
        assertThat(html).contains("6 of 23 sizes are drawn.");
        assertThat(all("<tr><td>([^<]*)</td><td>[^<]*</td><td>[^<]*</td></tr>", html))
                .as("sizes in the table of the bandwidth")
                .hasSize(23);
        assertThat(page(record(100, 50_000, 64, 128))).doesNotContain("sizes are drawn");
    }

    @Test
    void percentilesOfTooFewMessagesAreLeftOut() {
        String few = page(record(60, 50_000, 64));
        assertThat(few).contains("64 B, 90%: ", "A percentile is left out").doesNotContain("64 B, 95%: ");
        assertThat(page(record(100, 50_000, 64))).contains("64 B, 95%: ").doesNotContain("64 B, 99%: ");
        assertThat(page(record(5_000, 50_000, 64)))
                .contains("64 B, 99.9%: ")
                .doesNotContain("64 B, 99.99%: ", "is left out");
        assertThat(page(record(4, 50_000, 64))).contains("Too few messages for a distribution.");
    }

    @Test
    void sizesAreDrawnInAscendingOrder() {
        String curve = charts(page(record(100, 50_000, 4096, 64, 1024))).get(1);
        List<Double> xs = all("<circle class=\"hit\" cx=\"([0-9.]+)\"", curve).stream()
                .map(Double::valueOf)
                .toList();
        assertThat(xs).hasSize(3).isSorted();
    }

    @Test
    void dotsHaveAnAreaThatCanBeHit() {
        String chart = charts(page(record(100_000, 50_000, 64))).getFirst();
        List<Double> xs = all("<circle class=\"hit\" cx=\"([0-9.]+)\"", chart).stream()
                .map(Double::valueOf)
                .toList();
        assertThat(xs).hasSize(9);
        for (int i = 1; i < xs.size(); i++) {
            assertThat(xs.get(i) - xs.get(i - 1)).isGreaterThan(20);
        }
        assertThat(all("class=\"hit\"[^>]* r=\"([0-9]+)\"", chart)).containsOnly("14");
    }

    @Test
    void pageNamesItsCircumstances() {
        assertThat(page(record(100, 50_000, 64)))
                .contains("<th>Command</th><td>verbena perf lat --self -s '&lt;64&gt;'</td>")
                .doesNotContain("<64>");
    }

    @Test
    void pageShowsAnEarlierRunBesideThisOne(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("before.html"), page(record(100, 50_000, 64, 128, 256)));
        PerfRecord before = PerfRecord.read(file);
        assertThat(before.facts()).isEqualTo(FACTS);
        assertThat(before.of(Mode.LAT)).hasSize(3);
        assertThat(before.results().getFirst().micros(50))
                .isEqualTo(record(100, 50_000, 64).results().getFirst().micros(50));
        String html = new PerfPage(record(100, 90_000, 64, 128, 256), before).html();
        assertThat(html).contains("RC send, two runs", "64 B, earlier run", "64 B, this run", "<th>earlier run</th>");
        assertThat(charts(html))
                .allSatisfy(chart -> assertThat(chart.split("<polyline class=\"curve earlier\"", -1).length)
                        .isEqualTo(chart.split("<polyline class=\"curve\"", -1).length)
                        .isGreaterThan(1));
        Files.writeString(file, html);
        assertThat(PerfRecord.read(file).of(Mode.LAT).getFirst().micros(90))
                .as("a page of two runs contains this one")
                .isGreaterThan(80);
    }

    @ParameterizedTest
    @CsvSource({
        "result LAT 64,result LAT x,damaged",
        "result LAT 64,result LAT -1,damaged",
        "result LAT 64 100 0.5,result LAT 64 100 0.0,damaged",
        "result LAT 64 100 0.5 ,result LAT 64 100 0.5 AAAA,damaged",
        "fact ,fiction ,damaged",
        "verbena-perf-1,verbena-perf-0,no page of 'perf --html' of this release"
    })
    void damagedPageOfAnEarlierRunIsRefused(String right, String wrong, String reason, @TempDir Path folder)
            throws IOException {
        String html = page(record(100, 50_000, 64));
        assertThat(html).contains(right);
        Path file = Files.writeString(folder.resolve("before.html"), html.replace(right, wrong));
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> PerfRecord.read(file))
                .withMessageContaining(reason);
        ToolRun.of(
                        "perf",
                        "lat",
                        "--self",
                        "--html",
                        folder.resolve("page.html").toString(),
                        "--before",
                        file.toString())
                .refuses("--before needs a page of an earlier run", reason);
    }

    @Test
    void earlierRunNeedsAPage() {
        ToolRun.of("perf", "lat", "--self", "--before", "page.html").refuses("--before needs --html");
    }

    @Test
    void commandLineIsQuotedAsAShellReadsIt() {
        Options options = Options.parse(new String[] {"lat", "--html", "my page's.html"}, "  --html=FILE", 1);
        assertThat(options.commandLine("perf")).isEqualTo("perf lat --html 'my page'\\''s.html'");
    }
}
