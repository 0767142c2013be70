package dev.verbena.bench;

import dev.verbena.bench.Case.ArenaKind;
import dev.verbena.bench.Case.Calls;
import dev.verbena.bench.Case.Profile;
import dev.verbena.bench.Case.Target;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Measures the overhead of Verbena over C on a provider without a device, and compares it with the targets. Measures
 * each row in several JVMs. Discards and repeats a measurement in which C itself was slower than it can be.
 */
final class Bench {
    private static final double C_IS_OFF = 1.10;
    private static final int MAX_RUNS = 6;

    private final Child child;
    private final int warm;
    private final int rounds;
    private final Map<Case, List<Result>> found = new LinkedHashMap<>();

    private Bench(Child child, int warm, int rounds) {
        this.child = child;
        this.warm = warm;
        this.rounds = rounds;
    }

    /** Arguments: folder of the stub providers, folder for results, short or full, the core, rows (default: all). */
    public static void main(String[] args) throws IOException, InterruptedException {
        boolean brief = args[2].equals("short");
        Path results = Path.of(args[1]);
        Child child = new Child(Path.of(args[0]), Integer.parseInt(args[3]));
        List<String> rows = List.of(args).subList(4, args.length);
        Bench bench = brief ? new Bench(child, 250, 60) : new Bench(child, 600, 200);
        List<Case> cases = (brief ? shortPlan() : fullPlan())
                .stream()
                        .filter(one -> rows.isEmpty() || rows.contains(one.row().key()))
                        .toList();
        List<Result> best = brief ? bench.runUntilGood(cases) : bench.run(cases, 2);
        Report report = new Report(best);
        System.out.print(report.table());
        Files.createDirectories(results);
        Files.writeString(results.resolve("results.json"), report.json());
        Files.writeString(results.resolve("chart.svg"), new Chart(best).svg());
        List<String> farOff = report.farOff();
        if (brief && !farOff.isEmpty()) {
            System.out.println("Beyond twice the target, or allocating: " + String.join("; ", farOff));
            System.exit(1);
        }
    }

    private static List<Case> fullPlan() {
        List<Case> plan = new ArrayList<>();
        for (Profile profile : Profile.values()) {
            for (Row row : Row.values()) {
                plan.add(confined(profile, row));
            }
            for (Row row : List.of(Row.POST_POLL, Row.SINGLE, Row.BATCH_16, Row.EMPTY_POLL)) {
                plan.add(new Case(profile, row, ArenaKind.SHARED, Calls.CRITICAL, Target.NONE));
            }
            boolean lean = profile == Profile.LEAN;
            plan.add(new Case(
                    profile,
                    Row.POST_POLL,
                    ArenaKind.CONFINED,
                    Calls.PLAIN,
                    lean ? Target.over(17) : Target.ratio(1.75)));
            plan.add(new Case(profile, Row.BATCH_16, ArenaKind.CONFINED, Calls.PLAIN, Target.NONE));
            plan.add(new Case(profile, Row.EMPTY_POLL, ArenaKind.CONFINED, Calls.PLAIN, Target.NONE));
        }
        return plan;
    }

    private static List<Case> shortPlan() {
        List<Case> plan = new ArrayList<>();
        for (Row row : Row.values()) {
            plan.add(confined(Profile.LEAN, row));
        }
        plan.add(new Case(Profile.LEAN, Row.POST_POLL, ArenaKind.SHARED, Calls.CRITICAL, Target.NONE));
        for (Row row : List.of(Row.POST_POLL, Row.REBUILT, Row.BATCH_16, Row.EMPTY_POLL)) {
            plan.add(confined(Profile.MLX5, row));
        }
        plan.add(new Case(Profile.MLX5, Row.POST_POLL, ArenaKind.CONFINED, Calls.PLAIN, Target.ratio(1.75)));
        return plan;
    }

    private static Case confined(Profile profile, Row row) {
        boolean lean = profile == Profile.LEAN;
        Target target = switch (row) {
            case POST_POLL -> lean ? new Target(1.35, 4) : Target.ratio(1.15);
            case SINGLE, REBUILT -> Target.ratio(lean ? 1.40 : 1.20);
            case BATCH_16 -> Target.ratio(lean ? 1.10 : 1.08);
            case EMPTY_POLL -> Target.ratio(lean ? 1.15 : 1.08);
            default -> Target.NONE;
        };
        return new Case(profile, row, ArenaKind.CONFINED, Calls.CRITICAL, target);
    }

    /** Returns the best result of each case among those with a plausible figure of C. */
    private List<Result> run(List<Case> cases, int passes) throws IOException, InterruptedException {
        for (int pass = 0; pass < passes; pass++) {
            for (Case one : cases) {
                measure(one);
            }
        }
        for (Case one : cases) {
            while (trusted(one).isEmpty() && found.get(one).size() < MAX_RUNS) {
                measure(one);
            }
        }
        List<Result> best = new ArrayList<>();
        for (Case one : cases) {
            List<Result> candidates = trusted(one).isEmpty() ? found.get(one) : trusted(one);
            best.add(candidates.stream()
                    .min(Comparator.comparingDouble(Result::ratio))
                    .orElseThrow());
        }
        return best;
    }

    /** Measures each case in one JVM, and those far off in more, to exclude a busy machine or one bad compilation. */
    private List<Result> runUntilGood(List<Case> cases) throws IOException, InterruptedException {
        List<Result> best = new ArrayList<>();
        for (Case one : cases) {
            do {
                measure(one);
            } while (found.get(one).stream().allMatch(Result::isFarOff)
                    && found.get(one).size() < MAX_RUNS);
            best.add(found.get(one).stream()
                    .min(Comparator.comparing(Result::isFarOff).thenComparing(Result::ratio))
                    .orElseThrow());
        }
        return best;
    }

    private void measure(Case one) throws IOException, InterruptedException {
        found.computeIfAbsent(one, any -> new ArrayList<>()).add(child.measure(one, warm, rounds));
    }

    private List<Result> trusted(Case one) {
        double usual = found.values().stream()
                .flatMap(List::stream)
                .filter(result -> result.of().profile() == one.profile()
                        && result.of().row().function().equals(one.row().function()))
                .mapToDouble(Result::c)
                .min()
                .orElseThrow();
        return found.get(one).stream()
                .filter(result -> result.c() <= usual * C_IS_OFF)
                .toList();
    }
}
