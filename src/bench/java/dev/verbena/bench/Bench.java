package dev.verbena.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Measures the overhead of Verbena over C, and over bare calls, on a provider without a device, and compares it with the
 * targets. Each row has several JVMs. The rows take turns, so that a busy minute of the machine does not hit one row alone.
 */
final class Bench {
    private static final int PASSES = 3;
    private static final int MAX_RUNS = 5;

    private final Child child;
    private final int warm;
    private final int rounds;

    private Bench(Child child, int warm, int rounds) {
        this.child = child;
        this.warm = warm;
        this.rounds = rounds;
    }

    /** Arguments: folder of what is measured, folder for results, short, full, write or mlx5, the core, rows (default: all). */
    public static void main(String[] args) throws IOException, InterruptedException {
        boolean brief = args[2].equals("short");
        Path folder = Path.of(args[1]);
        Child child = new Child(Path.of(args[0]), Integer.parseInt(args[3]));
        List<String> rows = List.of(args).subList(4, args.length);
        List<Case> cases = (brief ? Plan.brief() : args[2].equals("mlx5") ? Plan.mlx5() : Plan.full())
                .stream()
                        .filter(one -> rows.isEmpty() || rows.contains(one.row().key()))
                        .toList();
        if (cases.isEmpty()) {
            System.err.println("No such row here: the rows are "
                    + Stream.of(Row.values()).map(Row::key).collect(Collectors.joining(" ")));
            System.exit(2);
        }
        Report report = new Report();
        System.out.print(report.heading());
        List<Result> results = brief
                ? new Bench(child, 250, 60).briefly(cases, report)
                : new Bench(child, 400, 150).byTurns(cases, report);
        Files.createDirectories(folder);
        Files.writeString(folder.resolve("results.json"), report.json(results));
        Files.writeString(folder.resolve("chart.svg"), new Chart(results).svg());
        if (args[2].equals("write")) {
            new PerformanceChapter(results).write();
        }
        List<String> farOff = report.farOff(results);
        if (brief && !farOff.isEmpty()) {
            System.out.println("Beyond 1.5 times the target and 1.4 times bare calls, or allocating: "
                    + String.join("; ", farOff));
            System.exit(1);
        }
    }

    /** Measures all cases again and again, and prints them at the end, because the last pass may change each. */
    private List<Result> byTurns(List<Case> cases, Report report) throws IOException, InterruptedException {
        List<Result> results = new ArrayList<>();
        for (Case one : cases) {
            results.add(new Result(one));
        }
        for (int pass = 1; pass <= PASSES; pass++) {
            for (Result result : results) {
                measure(result, true);
            }
            System.err.println("pass " + pass + " of " + PASSES + " is done");
        }
        for (Result result : results) {
            System.out.print(report.line(result, results));
        }
        return results;
    }

    /**
     * Measures each case in one JVM. Measures those far off again, together with bare calls, and in more JVMs: the cause
     * may be a busy moment of the machine, in C or in Java, or one bad compilation.
     */
    private List<Result> briefly(List<Case> cases, Report report) throws IOException, InterruptedException {
        List<Result> results = new ArrayList<>();
        for (Case one : cases) {
            Result result;
            int runs = 0;
            do {
                result = new Result(one);
                measure(result, runs > 0);
                runs++;
            } while (result.isFarOff(results) && runs < MAX_RUNS);
            results.add(result);
            System.out.print(report.line(result, results));
        }
        return results;
    }

    private void measure(Result result, boolean withBare) throws IOException, InterruptedException {
        result.verbena().add(child.measure(result.of(), "verbena", warm, rounds));
        if (withBare && !result.of().row().is(Row.Kind.TWO_DRIVERS)) { // bare calls take the function as an argument
            result.bare().add(child.measure(result.of(), "bare", warm, rounds));
        }
        if (withBare
                && result.of().profile() == Case.Profile.MLX5
                && result.of().frames() == 1) {
            result.domain().add(child.measure(result.of(), "domain", warm, rounds));
        }
    }
}
