package dev.verbena.tools;

import dev.verbena.tools.PerfPlan.Mode;
import dev.verbena.tools.PerfRun.Result;
import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Locale;
import java.util.stream.DoubleStream;

/** The results of a measurement as one self-contained HTML page with curves and tables. */
final class PerfPage {
    private static final int WIDTH = 480;
    private static final int HEIGHT = 320;
    private static final int LEFT = 78;
    private static final int BOTTOM = 56;
    private static final int TOP = 34;
    private static final int RIGHT = 32;
    /** Number of sizes that fit below a chart. */
    private static final int MAX_SIZES = 5;
    /** Number of curves that a reader can tell apart. */
    private static final int MAX_CURVES = 6;

    private static final double[] PERCENTILES = {
        0, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97, 98, 99, 99.5, 99.9, 99.95, 99.99
    };

    private final PerfPlan plan;
    private final List<Result> results;

    PerfPage(PerfPlan plan, List<Result> results) {
        this.plan = plan;
        this.results = results;
    }

    /** A curve of a chart. */
    private record Curve(String name, List<Point> points) {}

    /** A point in the units of the axes, with its text. */
    private record Point(double x, double y, String text) {}

    /** A mark on an axis. */
    private record Tick(double at, String label) {}

    private static String format(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }

    String html() {
        StringBuilder body = new StringBuilder();
        List<Result> latencies = of(Mode.LAT);
        List<Result> bandwidths = of(Mode.BW);
        if (!latencies.isEmpty()) {
            body.append("<h2>Distribution of the latency</h2>\n").append(distribution(latencies));
        }
        if (!bandwidths.isEmpty()) {
            body.append("<h2>Bandwidth by size</h2>\n").append(bySize(bandwidths));
        }
        return """
                <!DOCTYPE html>
                <html lang="en">
                <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <meta name="color-scheme" content="light dark">
                <title>%1$s, measured by Verbena</title>
                <style>
                :root { --ink: #1b1f24; --paper: #ffffff; --faint: #d0d7de; --soft: #57606a;
                        --c0: #0b62d6; --c1: #b4460f; --c2: #1a7f37; --c3: #8250df; --c4: #9a6700; --c5: #bf3989; }
                @media (prefers-color-scheme: dark) {
                  :root { --ink: #e6edf3; --paper: #0d1117; --faint: #30363d; --soft: #9198a1;
                          --c0: #6cb0ff; --c1: #ff9b63; --c2: #56d364; --c3: #c297ff; --c4: #e3b341; --c5: #ff8dc7; }
                }
                body { margin: 0 auto; max-width: 46rem; padding: 1rem; background: var(--paper); color: var(--ink);
                       font: 16px/1.5 system-ui, sans-serif; }
                h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
                svg { display: block; width: 100%%; height: auto; } svg text { fill: var(--soft); font-size: 11px; }
                .grid { stroke: var(--faint); stroke-width: 1; } .curve { fill: none; stroke-width: 2; }
                .scroll { overflow-x: auto; margin-bottom: 1.5rem; }
                table { border-spacing: 0; font-variant-numeric: tabular-nums; }
                caption { text-align: left; color: var(--soft); }
                th, td { text-align: right; padding: .25rem .7rem; border-bottom: 1px solid var(--faint);
                         white-space: nowrap; }
                th:first-child, td:first-child { position: sticky; left: 0; background: var(--paper); }
                ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; }
                li::before { content: ""; display: inline-block; width: .8em; height: .8em; margin-right: .4em;
                             background: var(--c); }
                @media (max-width: 40rem) {
                  svg text { font-size: 17px; } .curve { stroke-width: 3; }
                  table { font-size: .8rem; } th, td { padding: .25rem .3rem; }
                }
                </style>
                </head>
                <body>
                <h1>%1$s</h1>
                <p>%2$s</p>
                %3$s<h2>Numbers</h2>
                %4$s</body>
                </html>
                """.formatted(plan.title(), setting(), body, tables());
    }

    private List<Result> of(Mode mode) {
        return results.stream().filter(result -> result.mode() == mode).toList();
    }

    private String setting() {
        return format("%,d messages of each size, ", plan.iterations())
                + (plan.events() ? "woken by events" : "polling")
                + ", connected " + (plan.manager() ? "by the connection manager" : "over TCP")
                + (plan.inline() > 0 ? ", inline up to " + plan.inline() + " bytes" : "")
                + (of(Mode.BW).isEmpty() ? "" : ", " + plan.depth() + " outstanding for the bandwidth")
                + (of(Mode.LAT).isEmpty()
                        ? "."
                        : ". The latency is measured " + (plan.answers() ? "as " : "") + plan.meaningOfLatency() + ".");
    }

    /** Returns at most as many results as a reader can tell apart, among them the first and the last. */
    private static List<Result> some(List<Result> all) {
        if (all.size() <= MAX_CURVES) {
            return all;
        }
        List<Result> chosen = new ArrayList<>();
        for (int i = 0; i < MAX_CURVES; i++) {
            chosen.add(all.get(i * (all.size() - 1) / (MAX_CURVES - 1)));
        }
        return chosen;
    }

    private static String distribution(List<Result> latencies) {
        List<Curve> curves = new ArrayList<>();
        for (Result result : some(latencies)) {
            List<Point> points = new ArrayList<>();
            for (double percentile : PERCENTILES) {
                if (percentile < 100 * (1 - 0.5 / result.iterations())) { // there are no measurements beyond
                    double micros = Math.max(0.001, result.micros(percentile));
                    points.add(new Point(
                            nines(percentile),
                            Math.log10(micros),
                            bytes(result.size()) + ", " + percent(percentile) + ": " + number(micros) + " µs"));
                }
            }
            curves.add(new Curve(bytes(result.size()), points));
        }
        List<Tick> across = new ArrayList<>();
        for (double percentile : new double[] {50, 90, 99, 99.9, 99.99}) {
            across.add(new Tick(nines(percentile), percent(percentile)));
        }
        return chart(curves, across, "microseconds", "of all messages took at most this long");
    }

    private static String percent(double percentile) {
        return (percentile % 1 == 0 ? format("%.0f", percentile) : String.valueOf(percentile)) + "%";
    }

    private static double nines(double percentile) {
        return -Math.log10(1 - percentile / 100);
    }

    private static String bySize(List<Result> bandwidths) {
        List<Point> points = new ArrayList<>();
        List<Tick> across = new ArrayList<>();
        int step = Math.ceilDiv(bandwidths.size(), MAX_SIZES);
        for (int i = 0; i < bandwidths.size(); i++) {
            Result result = bandwidths.get(i);
            double x = Math.log(result.size()) / Math.log(2);
            double speed = Math.max(0.001, result.megabytesPerSecond());
            points.add(new Point(x, Math.log10(speed), bytes(result.size()) + ": " + number(speed) + " MB/s"));
            if (i % step == 0) {
                across.add(new Tick(x, bytes(result.size())));
            }
        }
        return chart(List.of(new Curve("MB/s", points)), across, "MB/s", "size of a message");
    }

    private static String bytes(int size) {
        return size < 1024 ? size + " B" : size < 1 << 20 ? size / 1024 + " KiB" : (size >> 20) + " MiB";
    }

    private static String chart(List<Curve> curves, List<Tick> across, String unit, String caption) {
        double[] x =
                range(curves.stream().flatMap(curve -> curve.points().stream()).mapToDouble(Point::x));
        x[0] = Math.min(x[0], across.getFirst().at());
        x[1] = Math.max(x[0] + 1, x[1]);
        List<Tick> steps = steps(
                range(curves.stream().flatMap(curve -> curve.points().stream()).mapToDouble(Point::y)));
        double[] y = {steps.getFirst().at(), steps.getLast().at()};
        StringBuilder svg = new StringBuilder(format(
                "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s: %s\">%n", WIDTH, HEIGHT, unit, caption));
        svg.append(format("<text x=\"8\" y=\"18\">%s</text>%n", unit));
        for (Tick step : steps) {
            double at = up(step.at(), y);
            svg.append(format(
                    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                            + "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>%n",
                    LEFT, WIDTH - RIGHT, at, at, LEFT - 8, at + 5, step.label()));
        }
        for (Tick tick : across) {
            if (tick.at() <= x[1]) {
                svg.append(format(
                        "<line class=\"grid\" x1=\"%1$.1f\" x2=\"%1$.1f\" y1=\"%2$d\" y2=\"%3$d\"/>"
                                + "<text x=\"%1$.1f\" y=\"%4$d\" text-anchor=\"middle\">%5$s</text>%n",
                        right(tick.at(), x), TOP, HEIGHT - BOTTOM, HEIGHT - BOTTOM + 23, tick.label()));
            }
        }
        svg.append(format(
                "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>%n",
                (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, caption));
        StringBuilder legend = new StringBuilder("<ul>");
        for (int i = 0; i < curves.size(); i++) {
            draw(svg, curves.get(i), i, x, y);
            legend.append(format(
                    "<li style=\"--c: var(--c%d)\">%s</li>", i, curves.get(i).name()));
        }
        return svg + "</svg>\n" + (curves.size() > 1 ? legend + "</ul>\n" : "");
    }

    private static void draw(StringBuilder svg, Curve curve, int color, double[] x, double[] y) {
        svg.append(format("<polyline class=\"curve\" style=\"stroke: var(--c%d)\" points=\"", color));
        for (Point point : curve.points()) {
            svg.append(format("%.1f,%.1f ", right(point.x(), x), up(point.y(), y)));
        }
        svg.append("\"/>\n");
        for (Point point : curve.points()) {
            svg.append(format(
                    "<circle style=\"fill: var(--c%d)\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\">"
                            + "<title>%s</title></circle>",
                    color, right(point.x(), x), up(point.y(), y), point.text()));
        }
    }

    private static double[] range(DoubleStream values) {
        DoubleSummaryStatistics all = values.summaryStatistics();
        return new double[] {all.getMin(), all.getMax()};
    }

    /** Returns the marks of a logarithmic axis: powers of ten, and two steps between if these are few. */
    private static List<Tick> steps(double[] range) {
        int[] digits = range[1] - range[0] > 2 ? new int[] {1} : new int[] {1, 2, 5};
        List<Tick> steps = new ArrayList<>();
        for (int decade = (int) Math.floor(range[0]); ; decade++) {
            for (int digit : digits) {
                Tick step = new Tick(decade + Math.log10(digit), decimal(digit, decade));
                if (step.at() <= range[0]) {
                    steps.clear();
                }
                steps.add(step);
                if (step.at() >= range[1] && steps.size() > 1) {
                    return steps;
                }
            }
        }
    }

    private static double right(double value, double[] range) {
        return LEFT + (value - range[0]) / (range[1] - range[0]) * (WIDTH - LEFT - RIGHT);
    }

    private static double up(double value, double[] range) {
        return HEIGHT - BOTTOM - (value - range[0]) / (range[1] - range[0]) * (HEIGHT - BOTTOM - TOP);
    }

    private static String decimal(int digit, int decade) {
        double value = digit * Math.pow(10, decade);
        return decade < 0 ? format("%." + -decade + "f", value) : format("%,.0f", value);
    }

    private String tables() {
        StringBuilder text = new StringBuilder();
        for (Mode mode : plan.modes()) {
            text.append("<div class=\"scroll\"><table>\n")
                    .append(
                            mode == Mode.LAT
                                    ? "<caption>Latency in microseconds</caption>\n"
                                            + row("th", "size", "min", "50%", "90%", "99%", "99.9%", "max")
                                    : "<caption>Bandwidth</caption>\n" + row("th", "size", "MB/s", "messages/s"));
            for (Result result : of(mode)) {
                text.append(
                        mode == Mode.LAT
                                ? row(
                                        "td",
                                        bytes(result.size()),
                                        number(result.nanos().getMinValue() / 1e3),
                                        number(result.micros(50)),
                                        number(result.micros(90)),
                                        number(result.micros(99)),
                                        number(result.micros(99.9)),
                                        number(result.nanos().getMaxValue() / 1e3))
                                : row(
                                        "td",
                                        bytes(result.size()),
                                        number(result.megabytesPerSecond()),
                                        format("%,.0f", result.messagesPerSecond())));
            }
            text.append("</table></div>\n");
        }
        return text.toString();
    }

    /** Formats a number with three or four significant digits. */
    private static String number(double value) {
        return format(value < 100 ? "%.2f" : value < 1000 ? "%.1f" : "%,.0f", value);
    }

    private static String row(String tag, String... cells) {
        StringBuilder row = new StringBuilder("<tr>");
        for (String cell : cells) {
            row.append('<')
                    .append(tag)
                    .append('>')
                    .append(cell)
                    .append("</")
                    .append(tag)
                    .append('>');
        }
        return row.append("</tr>\n").toString();
    }
}
