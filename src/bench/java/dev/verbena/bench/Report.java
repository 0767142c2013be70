package dev.verbena.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Writes the results as a table and as JSON, with the missed targets. */
final class Report {
    private static final String LINE = "%-41s %-26s %6s %6s  %6s %6s  %6s %6s %-10s %6s %6s %5s  %-22s %s%n";

    private Case.Profile last;

    /** Returns the first lines of the table. */
    String heading() {
        return machine() + "\nns per operation: minimum and median of C and Java, their difference and ratio (of the "
                + "minima) with its range over JVMs,\nthe minimum of bare calls without a library and its ratio, bytes "
                + "allocated\n";
    }

    /** Returns the line of a result, after the heading of its provider where another one begins. */
    String line(Result result, List<Result> results) {
        StringBuilder text = new StringBuilder();
        Case of = result.of();
        if (of.profile() != last) {
            last = of.profile();
            text.append(String.format(
                    Locale.ROOT,
                    "%n" + LINE,
                    last == Case.Profile.LEAN ? "lean provider" : "libmlx5",
                    "",
                    "C min",
                    "med",
                    "Java",
                    "med",
                    "over",
                    "ratio",
                    "range",
                    "bare",
                    "ratio",
                    "B/op",
                    "target",
                    ""));
        }
        boolean bare = !Double.isNaN(result.bareJava());
        return text.append(String.format(
                        Locale.ROOT,
                        LINE,
                        of.row().label(),
                        of.settings(),
                        number(result.c()),
                        number(result.cMedian()),
                        number(result.java()),
                        number(result.javaMedian()),
                        number(result.over()),
                        ratio(result.ratio()),
                        result.spread(),
                        bare ? number(result.bareJava()) : "",
                        bare ? ratio(result.bareJava() / result.c()) : "",
                        number(result.bytes()),
                        result.of().target(),
                        remarks(result, results)))
                .toString();
    }

    private static String ratio(double value) {
        return String.format(Locale.ROOT, "%.2fx", value);
    }

    /** Returns failures on any machine: allocated bytes, and ratios far beyond their targets. */
    List<String> farOff(List<Result> results) {
        List<String> found = new ArrayList<>();
        for (Result result : results) {
            if (result.isFarOff(results)) {
                found.add(result.of().profile().key() + ", " + result.of().row().label() + ", "
                        + result.of().settings() + ": " + number(result.ratio()) + "x, " + number(result.bytes())
                        + " bytes");
            }
        }
        return found;
    }

    private static String remarks(Result result, List<Result> results) {
        List<String> remarks = new ArrayList<>();
        if (!Double.isNaN(result.inDomain())) {
            remarks.add("C with a thread domain " + number(result.inDomain()));
        }
        if (result.of().target().measure().isRelative() && result.figure(results) != 0) {
            remarks.add(result.of().target().measure().format(result.figure(results)));
        }
        if (result.allocates()) {
            remarks.add("allocates");
        } else if (!result.meetsTarget(results)) {
            remarks.add("missed");
        }
        return String.join(", ", remarks);
    }

    String json(List<Result> results) {
        StringBuilder text =
                new StringBuilder("{\"machine\": \"" + machine().replace('"', '\'') + "\",\n\"results\": [\n");
        for (int i = 0; i < results.size(); i++) {
            text.append("  ").append(results.get(i).json()).append(i + 1 < results.size() ? ",\n" : "\n");
        }
        return text.append("]}\n").toString();
    }

    /** Returns the names of the processor and the Java runtime. */
    static String machine() {
        String processor = System.getProperty("os.arch");
        try {
            processor = Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
                    .filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 2))
                    .findFirst()
                    .orElse(processor);
        } catch (IOException unknown) {
            // use the architecture instead
        }
        return processor + ", " + Runtime.getRuntime().availableProcessors() + " processors, JDK "
                + System.getProperty("java.runtime.version") + " (" + System.getProperty("java.vendor") + ")";
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, value == 0 ? "%.0f" : value < 10 ? "%.2f" : "%.1f", value);
    }
}
