package dev.verbena.mutate;

import dev.verbena.mutate.Result.Outcome;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/** The results of {@link Mutate} as Markdown. */
final class Report {
    /** The share of survivors, in percent, that a package must stay below. */
    static final int LIMIT = 10;

    private static final String LIBRARY = "dev.verbena";

    private final List<Result> results;
    private final Function<Mutant, String> text;
    private final Map<String, Map<Outcome, Integer>> packages = new TreeMap<>();

    Report(Collection<Result> results, Function<Mutant, String> text) {
        this.results = results.stream()
                .sorted(Comparator.comparing((Result result) -> result.mutant().source())
                        .thenComparing(result -> result.mutant().line())
                        .thenComparing(result -> result.mutant().id()))
                .toList();
        this.text = text;
        for (Result result : results) {
            packages.computeIfAbsent(packageOf(result.mutant().className()), any -> new EnumMap<>(Outcome.class))
                    .merge(result.outcome(), 1, Integer::sum);
        }
    }

    /** Returns the package below {@code dev.verbena} with its own packages; its {@code access} is part of itself. */
    static String packageOf(String className) {
        String rest = className.substring(LIBRARY.length() + 1);
        int dot = rest.indexOf('.');
        String first = dot < 0 ? "" : rest.substring(0, dot);
        return first.isEmpty() || first.equals("access") ? LIBRARY : LIBRARY + "." + first;
    }

    private static int count(Map<Outcome, Integer> counts, Outcome... outcomes) {
        int sum = 0;
        for (Outcome outcome : outcomes) {
            sum += counts.getOrDefault(outcome, 0);
        }
        return sum;
    }

    /** Returns the percentage of survivors among the mutants that a test runs. */
    private static double share(Map<Outcome, Integer> counts) {
        int covered = count(counts, Outcome.KILLED, Outcome.TIMED_OUT, Outcome.SURVIVED);
        return covered == 0 ? 0 : 100.0 * count(counts, Outcome.SURVIVED) / covered;
    }

    /** Returns the packages with too many survivors. */
    List<String> failed() {
        return packages.entrySet().stream()
                .filter(each -> share(each.getValue()) >= LIMIT)
                .map(Map.Entry::getKey)
                .toList();
    }

    /** Returns a table with a line for each package. */
    String table() {
        List<String> lines = new ArrayList<>();
        lines.add(
                "| package | mutants | killed | timed out | survived | no coverage | equivalent | survived of covered |");
        lines.add("|---|---|---|---|---|---|---|---|");
        packages.forEach((name, counts) -> lines.add("| %s | %d | %d | %d | %d | %d | %d | %.1f%% |"
                .formatted(
                        name,
                        counts.values().stream().mapToInt(Integer::intValue).sum(),
                        count(counts, Outcome.KILLED),
                        count(counts, Outcome.TIMED_OUT),
                        count(counts, Outcome.SURVIVED),
                        count(counts, Outcome.NOT_COVERED),
                        count(counts, Outcome.EQUIVALENT),
                        share(counts))));
        return String.join("\n", lines);
    }

    /** Returns the line of a mutant in a list. */
    String line(Result result) {
        Mutant mutant = result.mutant();
        return "- %s %s: %s: `%s` %s"
                .formatted(mutant.place(), mutant.method(), mutant.what(), text.apply(mutant), result.by())
                .stripTrailing();
    }

    /** Returns all: the table, the survivors, and the number of mutants without coverage in each class. */
    String markdown(String title) {
        List<String> lines = new ArrayList<>(List.of("# Mutants", "", title, "", table(), "", "## Survivors", ""));
        results.stream()
                .filter(result -> result.outcome() == Outcome.SURVIVED)
                .map(this::line)
                .forEach(lines::add);
        lines.addAll(List.of("", "## Without coverage", ""));
        Map<String, Integer> uncovered = new TreeMap<>();
        results.stream()
                .filter(result -> result.outcome() == Outcome.NOT_COVERED)
                .forEach(result -> uncovered.merge(result.mutant().source(), 1, Integer::sum));
        uncovered.forEach((source, count) -> lines.add("- " + source + ": " + count));
        lines.addAll(List.of("", "## Timed out or crashed", ""));
        results.stream()
                .filter(result -> result.outcome() == Outcome.TIMED_OUT)
                .map(this::line)
                .forEach(lines::add);
        return String.join("\n", lines) + "\n";
    }
}
