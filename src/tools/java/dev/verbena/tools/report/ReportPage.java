package dev.verbena.tools.report;

import static dev.verbena.tools.page.Chart.number;
import static dev.verbena.tools.page.HtmlPage.escape;

import dev.verbena.tools.page.Chart;
import dev.verbena.tools.page.Chart.Curve;
import dev.verbena.tools.page.Chart.Tick;
import dev.verbena.tools.page.HtmlPage;
import dev.verbena.tools.page.Json;
import dev.verbena.tools.perf.PerfPlan.Mode;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.tools.report.ReportPerf.Point;
import dev.verbena.tools.report.ReportPerf.Program;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A report as a page with curves, and as JSON. All texts have been redacted. */
final class ReportPage {
    /** Number of sizes below which a curve says nothing. */
    private static final int FEWEST_SIZES = 3;

    private final Map<String, String> facts;
    private final List<ReportCalls.Call> calls;
    private final List<Point> points;
    private final Map<String, List<String>> texts;
    private final Map<String, String> leftOut;

    /**
     * Makes a page.
     *
     * @param facts when and where the report was made, by name
     * @param calls the calls of verbs
     * @param points the measurements
     * @param texts the output of other steps, by title
     * @param leftOut what was left out, with the reasons
     */
    ReportPage(
            Map<String, String> facts,
            List<ReportCalls.Call> calls,
            List<Point> points,
            Map<String, List<String>> texts,
            Map<String, String> leftOut) {
        this.facts = facts;
        this.calls = calls;
        this.points = points;
        this.texts = texts;
        this.leftOut = leftOut;
    }

    String json() {
        return Json.of(Json.map(
                "format",
                "verbena-report-1",
                "facts",
                facts,
                "calls",
                calls.stream().map(ReportCalls.Call::json).toList(),
                "measurements",
                points.stream().map(Point::json).toList(),
                "texts",
                texts,
                "leftOut",
                leftOut));
    }

    String html() {
        StringBuilder body = new StringBuilder("<h1>Verbena on " + escape(facts.getOrDefault("Device", "a device")))
                .append("</h1>\n")
                .append(HtmlPage.facts(facts));
        calls(body);
        for (Operation operation : Operation.values()) {
            for (Mode mode : Mode.values()) {
                measurements(body, operation, mode);
            }
        }
        texts.forEach((title, lines) -> body.append("<h2>")
                .append(escape(title))
                .append("</h2>\n<details><summary>")
                .append(lines.size())
                .append(lines.size() == 1 ? " line" : " lines")
                .append("</summary>\n<pre>")
                .append(escape(String.join("\n", lines)))
                .append("</pre></details>\n"));
        if (!leftOut.isEmpty()) {
            body.append("<h2>Left out</h2>\n").append(HtmlPage.facts(leftOut));
        }
        return HtmlPage.of("A report of " + facts.getOrDefault("Device", "a device"), body.toString());
    }

    private void calls(StringBuilder body) {
        if (calls.isEmpty()) {
            return;
        }
        Map<String, Integer> outcomes = new TreeMap<>();
        calls.forEach(call -> outcomes.merge(call.outcome(), 1, Integer::sum));
        List<String> counts = new ArrayList<>();
        outcomes.forEach((outcome, count) -> counts.add(outcome + ": " + count));
        body.append("<h2>Calls of verbs</h2>\n<p>")
                .append(escape(String.join(", ", counts)))
                .append(".</p>\n<details><summary>all calls</summary>\n<table class=\"facts\">\n");
        for (ReportCalls.Call call : calls) {
            body.append(HtmlPage.fact(
                    call.function(), List.of(call.outcome() + (call.detail().isEmpty() ? "" : ": " + call.detail()))));
        }
        body.append("</table></details>\n");
    }

    /** Returns the best of all rounds by size: the lowest median, or the highest bandwidth. */
    private Map<Integer, Double> best(Operation operation, Mode mode, Program program) {
        Map<Integer, Double> best = new TreeMap<>();
        for (Point point : points) {
            if (point.operation() == operation && point.mode() == mode && point.program() == program) {
                best.merge(point.size(), point.value(), mode == Mode.LAT ? Math::min : Math::max);
            }
        }
        return best;
    }

    private void measurements(StringBuilder body, Operation operation, Mode mode) {
        Map<Program, Map<Integer, Double>> all = new LinkedHashMap<>();
        for (Program program : Program.values()) {
            Map<Integer, Double> best = best(operation, mode, program);
            if (!best.isEmpty()) {
                all.put(program, best);
            }
        }
        if (all.isEmpty()) {
            return;
        }
        String unit = mode == Mode.LAT ? "µs" : "MB/s";
        body.append("<h2>RC ")
                .append(operation.text())
                .append(mode == Mode.LAT ? ", latency" : ", bandwidth")
                .append("</h2>\n");
        List<Integer> sizes = List.copyOf(all.values().iterator().next().keySet());
        if (sizes.size() >= FEWEST_SIZES) {
            List<Curve> curves = new ArrayList<>();
            all.forEach((program, best) -> curves.add(new Curve(
                    program.text,
                    program.ordinal(),
                    false,
                    best.entrySet().stream()
                            .map(entry -> Chart.Point.of(entry.getKey(), entry.getValue(), ", " + program.text, unit))
                            .toList())));
            List<Tick> ticks = sizes.stream().map(Tick::of).toList();
            body.append(
                    Chart.curves(curves, ticks, mode == Mode.LAT ? Chart.TIMES : Chart.SPEEDS, "size of a message"));
        }
        List<List<String>> rows = new ArrayList<>();
        List<String> heads = new ArrayList<>(List.of("size"));
        all.keySet().forEach(program -> heads.add(program.text));
        rows.add(heads);
        for (int size : sizes) {
            List<String> cells = new ArrayList<>(List.of(Chart.bytes(size)));
            all.values().forEach(best -> cells.add(best.containsKey(size) ? number(best.get(size)) : "&ndash;"));
            rows.add(cells);
        }
        body.append(HtmlPage.table(
                (mode == Mode.LAT ? "Median in microseconds" : "MB/s") + ", the best of all rounds", rows));
    }
}
