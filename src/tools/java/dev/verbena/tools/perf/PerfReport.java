package dev.verbena.tools.perf;

import dev.verbena.tools.page.Json;
import dev.verbena.tools.perf.PerfPlan.Mode;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The results of a measurement as a table or as JSON. */
final class PerfReport {
    private final PerfPlan plan;
    private final List<Result> results;
    private final boolean gigabits;

    /** Makes a report, with the bandwidth in Gbit/s or in MB/s. */
    PerfReport(PerfPlan plan, boolean gigabits, List<Result> results) {
        this.plan = plan;
        this.gigabits = gigabits;
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
                            : format(
                                    "%10s %10s %12s %12s%n",
                                    "bytes", "iterations", gigabits ? "Gbit/s" : "MB/s", "messages/s"));
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
                                        gigabits ? result.gigabitsPerSecond() : result.megabytesPerSecond(),
                                        result.messagesPerSecond()));
            }
        }
        return text.toString();
    }

    String json() {
        return Json.of(Json.map(
                "operation",
                plan.operation().text(),
                "transport",
                plan.type(),
                "connection",
                plan.manager() ? "cm" : "tcp",
                "completion",
                plan.events() ? "events" : "polling",
                "latency",
                plan.meaningOfLatency(),
                "depth",
                plan.depth(),
                "inline",
                plan.inline(),
                "queuePairs",
                plan.traffic().pairs(),
                "bothDirections",
                plan.traffic().bothWays(),
                "results",
                results.stream().map(PerfReport::json).toList()));
    }

    private static Map<String, Object> json(Result result) {
        Map<String, Object> json = Json.map(
                "mode",
                result.mode().text(),
                "bytes",
                result.size(),
                "iterations",
                result.iterations(),
                "seconds",
                BigDecimal.valueOf(result.seconds()).setScale(6, RoundingMode.HALF_UP));
        if (result.mode() == Mode.BW) {
            json.put("megabytesPerSecond", result.megabytesPerSecond());
            json.put("gigabitsPerSecond", result.gigabitsPerSecond());
            json.put("messagesPerSecond", result.messagesPerSecond());
        } else {
            Map<String, Object> micros = Json.map(
                    "min",
                    result.nanos().getMinValue() / 1e3,
                    "mean",
                    result.nanos().getMean() / 1e3);
            for (String percentile : List.of("50", "90", "99", "99.9")) {
                micros.put("p" + percentile, result.micros(Double.parseDouble(percentile)));
            }
            micros.put("max", result.nanos().getMaxValue() / 1e3);
            json.put("microseconds", micros);
        }
        return json;
    }
}
