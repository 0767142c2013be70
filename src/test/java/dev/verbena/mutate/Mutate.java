package dev.verbena.mutate;

import dev.verbena.mutate.Result.Outcome;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The program behind {@code scripts/mutate}: puts small bugs into the library, one at a time, and runs the tests that
 * cover them on the provider for tests. A bug that no test notices is a survivor.
 */
public final class Mutate {
    private static final List<String> PACKAGES =
            List.of("dev.verbena", "dev.verbena.internal", "dev.verbena.verbs", "dev.verbena.net");
    static final String GENERATED = "dev/verbena/internal/raw/";
    private static final Duration BETWEEN_REPORTS = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Duration.ofSeconds(3);

    /**
     * Tests of the repository rather than of the library, tests in other JVMs, tests that measure memory, and tests that
     * differ in each run.
     */
    private static final String LEFT_OUT =
            "dev\\.verbena\\.((mutate|ledger|docs|pair|load|internal\\.raw)\\..*|tools\\.(?!ToolsOn).*)"
                    + "|.*\\.(RandomWalk|Storm|GuardHammer|CloseStress|Allocation|FlatMemory|Leak|LockedMemoryLimit|RdmaUnavailable"
                    + "|HalfOpenFlood|DeviceRemoval|\\w+OnDevice|FlatMemoryOnTheFencedProvider"
                    + "|Architecture|Words|PublicFace|OptionsIdiom|ArenaParameter)Test\\..*"
                    + "|.*\\.(memoryOfEndedThreadsIsFreed|makersWithoutDirectMemoryLeaveNothingInC|failedAddLeavesTheBatchAsItWas"
                    + "|awaitServes\\w+|overrunEvent\\w+)";

    /** Tests for a device. Those that need more than the provider offers fail without a mutant, and are left out. */
    private static final String ON_DEVICE = "dev\\.verbena\\.(net|verbs)\\..*";

    private final PrintStream out;
    private final Path folder;
    private final Path library;
    private final Path classes;
    private final Equivalents equivalents;
    private long seed = new SplittableRandom().nextLong() >>> 32;
    private int sample = Integer.MAX_VALUE;
    private int jobs = 1;
    private long budgetMillis = 3_000;
    private boolean onlySurvivors;
    private boolean resume;
    private boolean all;
    private long lastReport = System.nanoTime();
    private Costs costs = new Costs(Set.of());
    private String tests = ".*";
    private final List<String> names = new ArrayList<>();

    private Mutate(PrintStream out, Path project, Path library) throws IOException {
        this.out = out;
        folder = project.resolve("target/mutants");
        this.library = library;
        classes = folder.resolve("run/classes");
        equivalents = new Equivalents(
                project.resolve("src/test/resources/mutants-equivalent.tsv"), classes.resolveSibling("sources"));
    }

    /**
     * Runs the program, and ends the JVM: status 1 if a package has too many survivors.
     *
     * @param arguments the folder of the project, the provider for tests, and the arguments of the script
     */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        Mutate program = new Mutate(System.out, Path.of(arguments[0]), Path.of(arguments[1]));
        try {
            program.parse(List.of(arguments).subList(2, arguments.length));
        } catch (IllegalArgumentException e) {
            System.err.println("mutate: " + e.getMessage());
            System.exit(2);
        }
        System.exit(program.run());
    }

    private void parse(List<String> arguments) {
        for (int i = 0; i < arguments.size(); i++) {
            String option = arguments.get(i);
            switch (option) {
                case "--survivors" -> onlySurvivors = true;
                case "--resume" -> resume = true;
                case "--all" -> all = true;
                case "--seed", "--sample", "--jobs", "--budget", "--tests" -> {
                    if (++i == arguments.size()) {
                        throw new IllegalArgumentException(option + " needs a value");
                    }
                    set(option, arguments.get(i));
                }
                default -> {
                    if (option.startsWith("-")) {
                        throw new IllegalArgumentException("unknown option " + option);
                    }
                    names.add(option);
                }
            }
        }
    }

    private void set(String option, String value) {
        if (option.equals("--tests")) {
            tests = ".*(" + value + ").*";
            return;
        }
        double number;
        try {
            number = Double.parseDouble(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(option + " needs a number, got '" + value + "'", e);
        }
        if (number < 0 || number == 0 && !option.equals("--seed")) {
            throw new IllegalArgumentException(option + " needs a positive number, got " + number);
        }
        switch (option) {
            case "--seed" -> seed = (long) number;
            case "--sample" -> sample = (int) Math.min(number, Integer.MAX_VALUE);
            case "--jobs" -> jobs = (int) Math.min(number, 64);
            default -> budgetMillis = (long) (Math.min(number, 3_600) * 1000);
        }
    }

    private int run() throws IOException, InterruptedException {
        Files.createDirectories(folder);
        List<Mutant> everything = everything();
        List<String> stale = equivalents.stale(everything);
        if (!stale.isEmpty()) {
            out.println("Entries of mutants-equivalent.tsv without a mutant:");
            stale.forEach(out::println);
            return 1;
        }
        Map<String, Result> known = Map.of();
        List<Mutant> chosen;
        if (onlySurvivors || resume) {
            List<String> former = Files.readAllLines(folder.resolve("results.tsv"));
            String[] first = former.getFirst().split("\t");
            seed = Long.parseLong(first[0]);
            all = Boolean.parseBoolean(first[1]);
            if (onlySurvivors && first.length > 2) {
                costs = new Costs(Set.of(first[2].split("\\|")));
            }
            everything = thinned(everything);
            known = former(former.subList(1, former.size()), everything);
            chosen = chosen(everything, known);
        } else {
            chosen = chosen(thinned(everything), known);
        }
        if (chosen.isEmpty()) {
            out.println("No mutants in these classes.");
            return 2;
        }
        String title =
                "Seed %d, %d mutants%s".formatted(seed, chosen.size(), known.isEmpty() ? "" : " after a former run");
        out.println(title);
        long began = System.nanoTime();
        Setup setup = new Setup(
                classes,
                classes.resolveSibling("test-classes"),
                tests,
                LEFT_OUT,
                ON_DEVICE,
                library,
                folder.resolve("agent.jar"),
                PATIENCE);
        Coverage coverage = Coverage.of(setup, folder.resolve("coverage.bin"));
        coverage.problems().forEach(problem -> out.println("left out: " + problem));
        out.printf("%d tests on the provider, after %d s%n", coverage.tests().size(), seconds(began));
        costs.remember(known.values(), coverage.tests());
        title += ", %d tests".formatted(coverage.tests().size());
        Report report = save(known, hunt(chosen, setup, coverage, known, title), coverage, title);
        out.println(report.table());
        out.println("The list is in target/mutants.md.");
        report.failed().forEach(name -> out.println(name + ": " + Report.LIMIT + "% or more of the mutants survived"));
        return report.failed().isEmpty() ? 0 : 1;
    }

    /** Writes the results of a former run and those of this one. */
    private Report save(Map<String, Result> known, List<Result> found, Coverage coverage, String title)
            throws IOException {
        Map<String, Result> results = new LinkedHashMap<>(known);
        found.forEach(result -> results.put(result.mutant().id(), result));
        Report report = new Report(results.values(), equivalents::text);
        Files.writeString(
                folder.resolveSibling("mutants.md"), report.markdown(title + ", " + found.size() + " of them tested"));
        List<String> lines = new ArrayList<>(List.of(seed + "\t" + all + "\t" + coverage.names()));
        results.values().forEach(result -> lines.add(line(result)));
        Files.write(folder.resolve("results.tsv"), lines);
        return report;
    }

    private static long seconds(long began) {
        return (System.nanoTime() - began) / 1_000_000_000;
    }

    private static boolean isOpen(Result result) {
        return result.outcome() == Outcome.SURVIVED || result.outcome() == Outcome.NOT_COVERED;
    }

    private String line(Result result) {
        return String.join(
                "\t", result.outcome().name(), result.by(), result.mutant().place(equivalents.text(result.mutant())));
    }

    /** Returns the results of a former run for the mutants that are still the same. */
    private Map<String, Result> former(List<String> lines, List<Mutant> everything) {
        Map<String, Mutant> places = new HashMap<>();
        everything.forEach(mutant -> places.put(mutant.place(equivalents.text(mutant)), mutant));
        Map<String, Result> results = new LinkedHashMap<>();
        for (String line : lines) {
            String[] part = line.split("\t", 3);
            Mutant mutant = places.get(part[2]);
            if (mutant != null) {
                results.put(mutant.id(), new Result(mutant, Outcome.valueOf(part[0]), part[1]));
            }
        }
        return results;
    }

    /** Returns all mutants of the library but those of the generated bindings. */
    private List<Mutant> everything() throws IOException {
        Finder finder = new Finder(this::classFile);
        List<Mutant> found = new ArrayList<>();
        try (Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.sorted().toList()) {
                String name = classes.relativize(file).toString();
                if (name.startsWith("dev/") && name.endsWith(".class") && !name.startsWith(GENERATED)) {
                    found.addAll(finder.mutantsOf(Files.readAllBytes(file)));
                }
            }
        }
        return found;
    }

    private byte @Nullable [] classFile(String type) {
        try {
            Path file = classes.resolve(type + ".class");
            return Files.exists(file) ? Files.readAllBytes(file) : null;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private boolean isNamed(Mutant mutant) {
        String name = mutant.className();
        return names.isEmpty()
                ? PACKAGES.contains(Report.packageOf(name))
                : names.stream()
                        .anyMatch(each -> (name + ".").startsWith(each + ".")
                                || name.startsWith(each + "$")
                                || name.endsWith("." + each)
                                || name.contains("." + each + "$"));
    }

    /**
     * Returns one mutant of each line: most of those of the same line live and die together. The choice for a line is the
     * same while the line is the same.
     */
    private List<Mutant> thinned(List<Mutant> everything) {
        if (all) {
            return everything;
        }
        Map<String, Mutant> ofLines = new LinkedHashMap<>();
        everything.forEach(mutant ->
                ofLines.merge(mutant.probe(), mutant, (one, other) -> order(one) <= order(other) ? one : other));
        return new ArrayList<>(ofLines.values());
    }

    /** Returns a number at random, which stays the same for the seed. */
    private long order(Mutant mutant) {
        return new SplittableRandom(
                        seed ^ mutant.place(equivalents.text(mutant)).hashCode())
                .nextLong();
    }

    /** Returns the sample: mutants have the same order for a seed while their code stays the same. */
    private List<Mutant> chosen(List<Mutant> everything, Map<String, Result> known) {
        Map<Mutant, Long> order = new LinkedHashMap<>();
        for (Mutant mutant : everything) {
            Result result = known.get(mutant.id());
            boolean wanted = result == null ? resume || !onlySurvivors : onlySurvivors && isOpen(result);
            if (wanted && isNamed(mutant)) {
                order.put(mutant, order(mutant));
            }
        }
        return order.entrySet().stream()
                .sorted(Map.Entry.comparingByValue())
                .limit(sample)
                .map(Map.Entry::getKey)
                .toList();
    }

    private List<Result> hunt(
            List<Mutant> chosen, Setup setup, Coverage coverage, Map<String, Result> known, String title)
            throws InterruptedException {
        long began = System.nanoTime();
        BlockingQueue<Mutant> waiting = new LinkedBlockingQueue<>(chosen);
        List<Result> results = Collections.synchronizedList(new ArrayList<>());
        Set<String> unreliable = Collections.synchronizedSet(new LinkedHashSet<>());
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        Report lines = new Report(List.of(), equivalents::text);
        for (int i = 0; i < jobs; i++) {
            threads.add(Thread.ofPlatform().start(() -> {
                try (Hunt hunt = new Hunt(setup, coverage, costs, budgetMillis)) {
                    for (Mutant next = waiting.poll(); next != null; next = waiting.poll()) {
                        Result result =
                                equivalents.contains(next) ? new Result(next, Outcome.EQUIVALENT, "") : hunt.hunt(next);
                        results.add(result);
                        if (result.outcome() == Outcome.SURVIVED) {
                            out.println(lines.line(result));
                        }
                        report(results, chosen.size(), known, coverage, title, began);
                    }
                    unreliable.addAll(hunt.unreliable());
                } catch (Throwable thrown) {
                    failure.set(thrown);
                    waiting.clear();
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Throwable thrown = failure.get();
        if (thrown != null) {
            throw new IllegalStateException("a mutant cannot be tested", thrown);
        }
        unreliable.forEach(test -> out.println("fails alone, without a mutant: " + test));
        return results;
    }

    /** Prints and saves the results from time to time: a run may be ended early. */
    private void report(
            List<Result> results, int all, Map<String, Result> known, Coverage coverage, String title, long began)
            throws IOException {
        synchronized (results) {
            if (System.nanoTime() - lastReport > BETWEEN_REPORTS.toNanos()) {
                lastReport = System.nanoTime();
                Map<Outcome, Integer> counts = new TreeMap<>();
                results.forEach(result -> counts.merge(result.outcome(), 1, Integer::sum));
                out.printf(
                        "%d of %d, %s, %d s, %d JVMs%n",
                        results.size(), all, counts, seconds(began), Minion.STARTED.get());
                save(known, results, coverage, title);
            }
        }
    }
}
