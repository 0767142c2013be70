package dev.verbena.tools;

import dev.verbena.tools.PerfPlan.Mode;
import dev.verbena.tools.PerfRun.Result;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** The results of a measurement as a table or as JSON. */
final class PerfReport {
    private final PerfPlan plan;
    private final List<Result> results;

    PerfReport(PerfPlan plan, List<Result> results) {
        this.plan = plan;
        this.results = results;
    }

    private static String format(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }

    String table() {
        StringBuilder text = new StringBuilder();
        for (Mode mode : plan.modes()) {
            text.append(plan.title())
                    .append(
                            mode == Mode.LAT
                                    ? " latency, microseconds, " + plan.meaningOfLatency()
                                    : " bandwidth, " + plan.depth() + " outstanding")
                    .append(plan.events() ? ", events\n" : ", polling\n");
            text.append(
                    mode == Mode.LAT
                            ? format(
                                    "%10s %10s %9s %9s %9s %9s %9s %9s%n",
                                    "bytes", "iterations", "min", "50%", "90%", "99%", "99.9%", "max")
                            : format("%10s %10s %12s %12s%n", "bytes", "iterations", "MB/s", "messages/s"));
            for (Result result : results) {
                if (result.mode() != mode) {
                    continue;
                }
                text.append(
                        mode == Mode.LAT
                                ? format(
                                        "%10d %10d %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f%n",
                                        result.size(),
                                        result.iterations(),
                                        result.nanos().getMinValue() / 1e3,
                                        result.micros(50),
                                        result.micros(90),
                                        result.micros(99),
                                        result.micros(99.9),
                                        result.nanos().getMaxValue() / 1e3)
                                : format(
                                        "%10d %10d %12.2f %12.0f%n",
                                        result.size(),
                                        result.iterations(),
                                        result.megabytesPerSecond(),
                                        result.messagesPerSecond()));
            }
        }
        return text.toString();
    }

    String json() {
        return format(
                "{\"operation\": \"%s\", \"transport\": \"%s\", \"connection\": \"%s\", \"completion\": \"%s\", "
                        + "\"latency\": \"%s\", "
                        + "\"depth\": %d, \"inline\": %d, \"results\": [%n%s%n]}%n",
                plan.operation().text(),
                plan.type(),
                plan.manager() ? "cm" : "tcp",
                plan.events() ? "events" : "polling",
                plan.meaningOfLatency(),
                plan.depth(),
                plan.inline(),
                results.stream().map(PerfReport::json).collect(Collectors.joining(",\n")));
    }

    private static String json(Result result) {
        String common = format(
                "  {\"mode\": \"%s\", \"bytes\": %d, \"iterations\": %d, \"seconds\": %.6f, ",
                result.mode().name().toLowerCase(Locale.ROOT), result.size(), result.iterations(), result.seconds());
        return common
                + (result.mode() == Mode.BW
                        ? format(
                                "\"megabytesPerSecond\": %.3f, \"messagesPerSecond\": %.1f}",
                                result.megabytesPerSecond(), result.messagesPerSecond())
                        : format(
                                "\"microseconds\": {\"min\": %.3f, \"mean\": %.3f, \"p50\": %.3f, \"p90\": %.3f, "
                                        + "\"p99\": %.3f, \"p99.9\": %.3f, \"max\": %.3f}}",
                                result.nanos().getMinValue() / 1e3,
                                result.nanos().getMean() / 1e3,
                                result.micros(50),
                                result.micros(90),
                                result.micros(99),
                                result.micros(99.9),
                                result.nanos().getMaxValue() / 1e3));
    }
}
