package dev.verbena.tools.page;

import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Locale;
import java.util.stream.DoubleStream;

/** Draws the charts of a page as SVG. The y axis is logarithmic. */
public final class Chart {
    private static final int WIDTH = 480;
    private static final int HEIGHT = 320;
    private static final int LEFT = 96;
    private static final int BOTTOM = 56;
    private static final int TOP = 34;
    private static final int RIGHT = 32;
    private static final int BAR = 58;

    /** Width of a character on a narrow screen, where letters are larger. */
    private static final int LETTER = 10;

    /** Units of a latency. Each is a thousand times the one before. The second is that of values. */
    public static final List<String> TIMES = List.of("ns", "µs", "ms", "s");

    /** Units of a bandwidth. The second is that of values. */
    public static final List<String> SPEEDS = List.of("kB/s", "MB/s", "GB/s", "TB/s");

    private Chart() {}

    /**
     * A curve.
     *
     * @param name its name in the legend
     * @param color number of its colour
     * @param earlier true for the earlier of two runs, whose curves are dashed
     * @param points its points, from left to right
     */
    public record Curve(String name, int color, boolean earlier, List<Point> points) {}

    /**
     * A point.
     *
     * @param x in the unit of the axis
     * @param y logarithm to base ten
     * @param marked true to draw a dot that shows the text
     * @param text the text of the dot
     */
    public record Point(double x, double y, boolean marked, String text) {
        /**
         * Returns a marked point of a curve by size.
         *
         * @param size the size in bytes
         * @param value its value in the second of the units
         * @param name the name of the curve
         * @param unit the unit of the value
         * @return the point
         */
        public static Point of(int size, double value, String name, String unit) {
            return new Point(
                    doublings(size),
                    Math.log10(Math.max(0.001, value)),
                    true,
                    bytes(size) + name + ": " + number(value) + " " + unit);
        }
    }

    /**
     * A mark on the x axis.
     *
     * @param at its place
     * @param label its text
     */
    public record Tick(double at, String label) {
        /**
         * Returns the mark of a size.
         *
         * @param size the size in bytes
         * @return the mark
         */
        public static Tick of(int size) {
            return new Tick(doublings(size), bytes(size));
        }
    }

    /**
     * A bar.
     *
     * @param text its text
     * @param value its length
     * @param color number of its colour
     * @param earlier true for the earlier of two runs
     */
    public record Bar(String text, double value, int color, boolean earlier) {}

    private static double doublings(int size) {
        return Math.log(size) / Math.log(2);
    }

    /**
     * Formats a size in the largest unit of which it is a multiple.
     *
     * @param size the size in bytes
     * @return the text
     */
    public static String bytes(int size) {
        return size % (1 << 20) == 0
                ? (size >> 20) + " MiB"
                : size % 1024 == 0 ? size / 1024 + " KiB" : format("%,d B", size);
    }

    /**
     * Formats values as {@link String#format(Locale, String, Object...)} does without a language.
     *
     * @param format the format
     * @param values the values
     * @return the text
     */
    public static String format(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }

    /**
     * Formats a number with three or four significant digits.
     *
     * @param value the number
     * @return the text
     */
    public static String number(double value) {
        return format(value < 100 ? "%.2f" : value < 1000 ? "%.1f" : "%,.0f", value);
    }

    /**
     * Draws curves.
     *
     * @param curves the curves
     * @param across the marks of the x axis
     * @param units the units of the y axis
     * @param caption the text below the x axis
     * @return the chart
     */
    public static String curves(List<Curve> curves, List<Tick> across, List<String> units, String caption) {
        double[] x =
                range(curves.stream().flatMap(curve -> curve.points().stream()).mapToDouble(Point::x));
        x[0] = Math.min(x[0], across.getFirst().at());
        x[1] = Math.max(x[0] + 1, x[1]);
        List<Tick> steps = steps(
                range(curves.stream().flatMap(curve -> curve.points().stream()).mapToDouble(Point::y)), units);
        double[] y = {steps.getFirst().at(), steps.getLast().at()};
        StringBuilder svg =
                new StringBuilder(format("<svg viewBox=\"0 0 %d %d\" aria-label=\"%s\">%n", WIDTH, HEIGHT, caption));
        for (Tick step : steps) {
            double at = up(step.at(), y);
            svg.append(format(
                    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                            + "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>%n",
                    LEFT, WIDTH - RIGHT, at, at, LEFT - 8, at + 5, step.label()));
        }
        double end = 0; // of the previous label
        for (Tick tick : across) {
            double at = right(tick.at(), x);
            double half = tick.label().length() * LETTER / 2.0;
            if (tick.at() <= x[1] && at - half > end) {
                end = at + half;
                svg.append(format(
                        "<line class=\"grid\" x1=\"%1$.1f\" x2=\"%1$.1f\" y1=\"%2$d\" y2=\"%3$d\"/>"
                                + "<text x=\"%1$.1f\" y=\"%4$d\" text-anchor=\"middle\">%5$s</text>%n",
                        at, TOP, HEIGHT - BOTTOM, HEIGHT - BOTTOM + 23, tick.label()));
            }
        }
        svg.append(format(
                "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>%n",
                (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, caption));
        StringBuilder legend = new StringBuilder("<ul>");
        for (Curve curve : curves) {
            svg.append(format(
                    "<polyline class=\"curve%s\" style=\"stroke: var(--c%d)\" points=\"",
                    curve.earlier() ? " earlier" : "", curve.color()));
            for (Point point : curve.points()) {
                svg.append(format("%.1f,%.1f ", right(point.x(), x), up(point.y(), y)));
            }
            svg.append("\"/>\n");
            legend.append(format(
                    "<li%s style=\"--c: var(--c%d)\">%s</li>",
                    curve.earlier() ? " class=\"earlier\"" : "", curve.color(), curve.name()));
        }
        for (Curve curve : curves) { // dots above all curves
            curve.points().stream().filter(Point::marked).forEach(point -> dot(svg, curve, point, x, y));
        }
        return svg + "</svg>\n" + legend + "</ul>\n";
    }

    /** Draws a dot with a larger area around it that shows the text. A tap or the keyboard show it, too. */
    private static void dot(StringBuilder svg, Curve curve, Point point, double[] x, double[] y) {
        svg.append(format(
                "<g class=\"point\" tabindex=\"0\" aria-label=\"%1$s\"><circle class=\"hit\" cx=\"%2$.1f\" "
                        + "cy=\"%3$.1f\" r=\"14\"/><circle class=\"dot%6$s\" style=\"--c: var(--c%4$d)\" cx=\"%2$.1f\" "
                        + "cy=\"%3$.1f\" r=\"4\"/><text class=\"say\" x=\"%5$d\" y=\"18\" text-anchor=\"end\">%1$s</text></g>%n",
                point.text(),
                right(point.x(), x),
                up(point.y(), y),
                curve.color(),
                WIDTH - 8,
                curve.earlier() ? " earlier" : ""));
    }

    /**
     * Draws bars, for values too few to make a curve.
     *
     * @param bars the bars
     * @param caption the name of the chart
     * @return the chart
     */
    public static String bars(List<Bar> bars, String caption) {
        double longest = bars.stream().mapToDouble(Bar::value).max().orElseThrow();
        StringBuilder svg = new StringBuilder(
                format("<svg viewBox=\"0 0 %d %d\" aria-label=\"%s\">%n", WIDTH, bars.size() * BAR, caption));
        int top = 0;
        for (Bar bar : bars) {
            svg.append(format(
                    "<text x=\"2\" y=\"%d\">%s</text><rect class=\"bar%s\" x=\"2\" y=\"%d\" width=\"%.1f\" "
                            + "height=\"20\" style=\"--c: var(--c%d)\"/>%n",
                    top + 20,
                    bar.text(),
                    bar.earlier() ? " earlier" : "",
                    top + 28,
                    Math.max(1, bar.value() / longest * (WIDTH - 4)),
                    bar.color()));
            top += BAR;
        }
        return svg + "</svg>\n";
    }

    private static double[] range(DoubleStream values) {
        DoubleSummaryStatistics all = values.summaryStatistics();
        return new double[] {all.getMin(), all.getMax()};
    }

    /** Returns the marks of a logarithmic axis: powers of ten, and two steps between if these are few. */
    private static List<Tick> steps(double[] range, List<String> units) {
        int[] digits = range[1] - range[0] > 2 ? new int[] {1} : new int[] {1, 2, 5};
        List<Tick> steps = new ArrayList<>();
        for (int decade = (int) Math.floor(range[0]); ; decade++) {
            for (int digit : digits) {
                Tick step = new Tick(decade + Math.log10(digit), label(digit, decade, units));
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

    /**
     * Returns a label of few characters, which fits and differs from the others on a narrow screen.
     *
     * @param digit the first digit
     * @param decade the power of ten, in the second of the units
     * @param units the units
     * @return the label
     */
    public static String label(int digit, int decade, List<String> units) {
        int unit = Math.clamp(Math.floorDiv(decade, 3) + 1, 0, units.size() - 1);
        int rest = decade - 3 * (unit - 1);
        double value = digit * Math.pow(10, rest);
        return (rest < 0 ? format("%." + -rest + "f ", value) : format("%,.0f ", value)) + units.get(unit);
    }

    private static double right(double value, double[] range) {
        return LEFT + (value - range[0]) / (range[1] - range[0]) * (WIDTH - LEFT - RIGHT);
    }

    private static double up(double value, double[] range) {
        return HEIGHT - BOTTOM - (value - range[0]) / (range[1] - range[0]) * (HEIGHT - BOTTOM - TOP);
    }
}
