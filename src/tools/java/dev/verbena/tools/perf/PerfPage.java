package dev.verbena.tools.perf;

import static dev.verbena.tools.page.Chart.bytes;
import static dev.verbena.tools.page.Chart.format;
import static dev.verbena.tools.page.Chart.number;
import static dev.verbena.tools.page.HtmlPage.escape;

import dev.verbena.tools.page.Chart;
import dev.verbena.tools.page.Chart.Bar;
import dev.verbena.tools.page.Chart.Curve;
import dev.verbena.tools.page.Chart.Point;
import dev.verbena.tools.page.Chart.Tick;
import dev.verbena.tools.page.HtmlPage;
import dev.verbena.tools.perf.PerfPlan.Mode;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The results of a measurement as one self-contained HTML page with charts and tables, beside an earlier run or not. */
final class PerfPage {
    /** Number of sizes that fit below a chart. */
    private static final int MAX_LABELS = 5;
    /** Number of distributions that a reader can tell apart. */
    private static final int MAX_CURVES = 6;
    /** Number of sizes below which a curve by size says nothing. */
    private static final int FEWEST_SIZES = 3;

    private static final double[] PERCENTILES = {
        0, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97, 98, 99, 99.5, 99.9, 99.95, 99.99
    };
    /** Percentiles with a dot. More would be too close to each other to be hit. */
    private static final Set<Double> DOTS = Set.of(0., 50., 75., 90., 95., 99., 99.5, 99.9, 99.99);

    private static final double[] COLUMNS = {50, 90, 99, 99.9};

    /** One of the runs on the page. */
    private record Run(PerfRecord record, boolean earlier) {
        /** Returns the run's name for legends, or nothing if there is only one. */
        private String name(boolean alone) {
            return alone ? "" : earlier ? ", earlier run" : ", this run";
        }
    }

    private final PerfRecord record;
    private final List<Run> runs = new ArrayList<>();
    private final boolean alone;

    PerfPage(PerfRecord record, @Nullable PerfRecord before) {
        this.record = record;
        runs.add(new Run(record, false));
        if (before != null) {
            runs.add(new Run(before, true));
        }
        alone = before == null;
    }

    String html() {
        StringBuilder body = new StringBuilder();
        if (sizes(Mode.LAT).size() > 0) {
            body.append("<h2>Distribution of the latency</h2>\n").append(distribution());
            body.append(latencyBySize());
        }
        if (sizes(Mode.BW).size() > 0) {
            body.append("<h2>Bandwidth by size</h2>\n").append(bandwidthBySize());
        }
        return HtmlPage.of(title(), """
                <h1>%s</h1>
                <p>%s</p>
                %s<h2>Numbers</h2>
                %s<h2>Circumstances</h2>
                %s%s""".formatted(
                        escape(title()), escape(record.method()), body, tables(), facts(), record.toLines()));
    }

    private String title() {
        if (alone) {
            return record.title();
        }
        String before = runs.getLast().record().title();
        return record.title() + (before.equals(record.title()) ? ", two runs" : " and, earlier, " + before);
    }

    /** Returns the sizes of all runs, in ascending order. */
    private SortedSet<Integer> sizes(Mode mode) {
        SortedSet<Integer> sizes = new TreeSet<>();
        for (Run run : runs) {
            run.record().of(mode).forEach(result -> sizes.add(result.size()));
        }
        return sizes;
    }

    /** Returns at most as many sizes as a reader can tell apart, among them the first and the last. */
    private static List<Integer> some(List<Integer> all, int most) {
        if (all.size() <= most) {
            return all;
        }
        List<Integer> chosen = new ArrayList<>();
        for (int i = 0; i < most; i++) {
            chosen.add(all.get(i * (all.size() - 1) / (most - 1)));
        }
        return chosen;
    }

    private String distribution() {
        List<Integer> all = List.copyOf(sizes(Mode.LAT));
        List<Integer> sizes = some(all, MAX_CURVES / runs.size());
        List<Curve> curves = new ArrayList<>();
        for (int color = 0; color < sizes.size(); color++) {
            for (Run run : runs) {
                for (Result result : run.record().of(Mode.LAT)) {
                    if (result.size() == sizes.get(color) && result.hasPercentile(0)) {
                        String name = bytes(result.size()) + run.name(alone);
                        curves.add(new Curve(name, color, run.earlier(), percentiles(result, name)));
                    }
                }
            }
        }
        if (curves.isEmpty()) {
            return note("Too few messages for a distribution.");
        }
        List<Tick> across = new ArrayList<>();
        for (double percentile : new double[] {50, 90, 99, 99.9, 99.99}) {
            across.add(new Tick(nines(percentile), percent(percentile)));
        }
        return Chart.curves(curves, across, Chart.TIMES, "of all messages took at most this long")
                + (sizes.size() == all.size()
                        ? ""
                        : note(sizes.size() + " of " + all.size() + " sizes are drawn. The table has all of them."));
    }

    private static List<Point> percentiles(Result result, String name) {
        List<Point> points = new ArrayList<>();
        for (double percentile : PERCENTILES) {
            if (result.hasPercentile(percentile)) {
                String which = percentile == 0 ? "fastest" : percent(percentile);
                points.add(new Point(
                        nines(percentile),
                        Math.log10(micros(result, percentile)),
                        DOTS.contains(percentile),
                        name + ", " + which + ": " + number(micros(result, percentile)) + " µs"));
            }
        }
        return points;
    }

    private static double micros(Result result, double percentile) {
        return Math.max(0.001, result.micros(percentile));
    }

    private static String percent(double percentile) {
        return (percentile % 1 == 0 ? format("%.0f", percentile) : String.valueOf(percentile)) + "%";
    }

    private static double nines(double percentile) {
        return -Math.log10(1 - percentile / 100);
    }

    private static String note(String text) {
        return "<p class=\"note\">" + text + "</p>\n";
    }

    private String latencyBySize() {
        if (sizes(Mode.LAT).size() < FEWEST_SIZES) {
            return "";
        }
        List<Curve> curves = new ArrayList<>();
        double[] drawn = {50, 99};
        for (int color = 0; color < drawn.length; color++) {
            for (Run run : runs) {
                double percentile = drawn[color];
                String name = percent(percentile) + run.name(alone);
                List<Point> points = run.record().of(Mode.LAT).stream()
                        .filter(result -> result.hasPercentile(percentile))
                        .map(result -> Point.of(result.size(), micros(result, percentile), ", " + name, "µs"))
                        .toList();
                if (!points.isEmpty()) {
                    curves.add(new Curve(name, color, run.earlier(), points));
                }
            }
        }
        return curves.isEmpty()
                ? ""
                : "<h2>Latency by size</h2>\n"
                        + Chart.curves(curves, ticks(Mode.LAT), Chart.TIMES, "size of a message");
    }

    private String bandwidthBySize() {
        if (sizes(Mode.BW).size() < FEWEST_SIZES) {
            return bandwidthBars();
        }
        List<Curve> curves = new ArrayList<>();
        for (Run run : runs) {
            List<Point> points = run.record().of(Mode.BW).stream()
                    .map(result -> Point.of(result.size(), result.megabytesPerSecond(), run.name(alone), "MB/s"))
                    .toList();
            if (!points.isEmpty()) {
                curves.add(new Curve(run.earlier() ? "earlier run" : "this run", 0, run.earlier(), points));
            }
        }
        return Chart.curves(curves, ticks(Mode.BW), Chart.SPEEDS, "size of a message");
    }

    private String bandwidthBars() {
        List<Bar> bars = new ArrayList<>();
        int color = 0;
        for (int size : sizes(Mode.BW)) {
            for (Run run : runs) {
                for (Result result : run.record().of(Mode.BW)) {
                    if (result.size() == size) {
                        bars.add(new Bar(
                                bytes(size) + run.name(alone) + ": " + number(result.megabytesPerSecond()) + " MB/s, "
                                        + format("%,.0f messages/s", result.messagesPerSecond()),
                                result.megabytesPerSecond(),
                                color,
                                run.earlier()));
                    }
                }
            }
            color++;
        }
        return Chart.bars(bars, "Bandwidth") + note("Three sizes or more make a curve.");
    }

    private List<Tick> ticks(Mode mode) {
        List<Tick> ticks = new ArrayList<>();
        List<Integer> sizes = List.copyOf(sizes(mode));
        int step = Math.ceilDiv(sizes.size(), MAX_LABELS);
        for (int i = 0; i < sizes.size(); i += step) {
            ticks.add(Tick.of(sizes.get(i)));
        }
        return ticks;
    }

    private String tables() {
        StringBuilder text = new StringBuilder();
        boolean leftOut = false;
        for (Run run : runs) {
            List<Result> latencies = run.record().of(Mode.LAT);
            if (!latencies.isEmpty()) {
                List<List<String>> rows = new ArrayList<>();
                rows.add(List.of("size", "min", "50%", "90%", "99%", "99.9%", "max"));
                for (Result result : latencies) {
                    List<String> cells = new ArrayList<>();
                    cells.add(bytes(result.size()));
                    cells.add(number(result.nanos().getMinValue() / 1e3));
                    for (double percentile : COLUMNS) {
                        boolean has = result.hasPercentile(percentile);
                        leftOut |= !has;
                        cells.add(has ? number(result.micros(percentile)) : "&ndash;");
                    }
                    cells.add(number(result.nanos().getMaxValue() / 1e3));
                    rows.add(cells);
                }
                text.append(HtmlPage.table("Latency in microseconds" + run.name(alone), rows));
            }
            List<Result> bandwidths = run.record().of(Mode.BW);
            if (!bandwidths.isEmpty()) {
                List<List<String>> rows = new ArrayList<>();
                rows.add(List.of("size", "MB/s", "messages/s"));
                for (Result result : bandwidths) {
                    rows.add(List.of(
                            bytes(result.size()),
                            number(result.megabytesPerSecond()),
                            format("%,.0f", result.messagesPerSecond())));
                }
                text.append(HtmlPage.table("Bandwidth" + run.name(alone), rows));
            }
        }
        if (leftOut) {
            text.append(note("A percentile is left out if fewer than " + Result.FEWEST_BEYOND
                    + " messages took longer: measure more messages with -n."));
        }
        return text.toString();
    }

    private String facts() {
        StringBuilder text = new StringBuilder("<table class=\"facts\">\n");
        if (!alone) {
            text.append("<tr><th></th><th>this run</th><th>earlier run</th></tr>\n");
        }
        Set<String> names = new LinkedHashSet<>();
        runs.forEach(run -> names.addAll(run.record().facts().keySet()));
        for (String name : names) {
            text.append(HtmlPage.fact(
                    name,
                    runs.stream()
                            .map(run -> run.record().facts().getOrDefault(name, ""))
                            .toList()));
        }
        return text.append("</table>\n").toString();
    }
}
