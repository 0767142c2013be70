package dev.verbena.bench;

import dev.verbena.bench.Case.ArenaKind;
import dev.verbena.bench.Case.Calls;
import dev.verbena.bench.Case.Measure;
import dev.verbena.bench.Case.Profile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.List;
import java.util.Locale;

/** Writes results into the chapter about performance: a table between two comments, and the chart. */
final class PerformanceChapter {
    private static final Path FOLDER = Path.of("src/docs");
    private static final String BEGIN = "<!-- scripts/bench --write writes from here -->\n";
    private static final String END = "<!-- to here -->\n";

    private final List<Result> results;

    PerformanceChapter(List<Result> results) {
        this.results = results;
    }

    void write() throws IOException, InterruptedException {
        Path file = FOLDER.resolve("performance.md");
        String text = Files.readString(file);
        int begin = text.indexOf(BEGIN) + BEGIN.length();
        int end = text.indexOf(END, begin);
        if (begin < BEGIN.length() || end < 0) {
            throw new IOException(file + " lacks the comments between which the table stands: " + BEGIN + END);
        }
        Files.writeString(file, text.substring(0, begin) + table() + text.substring(end));
        Files.writeString(FOLDER.resolve("pictures/chart.svg"), new Chart(results).svg());
    }

    private String table() throws IOException, InterruptedException {
        StringBuilder table = new StringBuilder(
                "Measured on %s with %s, at commit %s:%n%n".formatted(LocalDate.now(), Report.machine(), commit()));
        table.append("""
                | ns per operation | C | C, thread domain | bare calls | Java | bare, ratio | Java, ratio | target |
                |---|---|---|---|---|---|---|---|
                """);
        for (Result result : results) {
            Case of = result.of();
            if (of.target().measure() != Measure.NONE || of.row() == Row.PROGRAM) {
                table.append("| %s | %s | %s | %s | %s | %s | %s | %s |%n"
                        .formatted(
                                label(of),
                                number(result.c()),
                                number(result.inDomain()),
                                number(result.bareJava()),
                                number(result.java()),
                                ratio(result.bareJava() / result.c()),
                                ratio(result.ratio()),
                                of.target()));
            }
        }
        return table.append('\n').toString();
    }

    private static String label(Case of) {
        return (of.profile() == Profile.LEAN ? "" : "libmlx5: ")
                + of.row().label()
                + (of.frames() == 1 ? "" : ", " + of.frames() + " frames deep")
                + (of.arena() == ArenaKind.CONFINED ? "" : ", shared arena")
                + (of.calls() == Calls.CRITICAL || of.calls() == Calls.BY_DRIVER
                        ? ""
                        : ", " + of.calls().key() + " calls");
    }

    private static String number(double nanos) {
        return Double.isNaN(nanos) ? "" : String.format(Locale.ROOT, "%.1f", nanos);
    }

    private static String ratio(double ratio) {
        return Double.isNaN(ratio) ? "" : String.format(Locale.ROOT, "%.2fx", ratio);
    }

    /** Returns the commit, with a remark if files have changed since. */
    private static String commit() throws IOException, InterruptedException {
        Process git = new ProcessBuilder("git", "describe", "--always", "--dirty").start();
        String commit = new String(git.getInputStream().readAllBytes()).strip();
        return git.waitFor() == 0 ? commit : "unknown";
    }
}
