package dev.verbena.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Measures the start of programs in fresh JVMs, by turns: an empty one, one that lists the devices, one that runs to its first
 * completion, and one that runs to its first message over TCP, the latter two without and with an AOT cache. Each is run on
 * all processors, where the compilers run beside the program, and on one.
 *
 * <p>A busy machine more than doubles the time that passes, but hardly changes the time of the processors. So both are
 * printed. The processors' time includes that of the compiler's and other threads of the JVM.
 */
final class StartUp {
    private static final int RUNS = 15;
    private static final int FIRST_WITH_CACHE = 25;

    /** Keep the compilers from compiling at the start what they have compiled in the run that made the cache. */
    private static final List<String> WITHOUT_PROFILES =
            List.of("-XX:+UnlockDiagnosticVMOptions", "-XX:-AOTRecordTraining");

    /** The first compiler alone, with which the scripts make and use the caches of their programs. */
    private static final List<String> FIRST_COMPILER = List.of("-XX:TieredStopAtLevel=1");

    private final Child child;

    /** A program, how it is started, and what it cost in each run. */
    private static final class Start {
        private final String name;
        private final Class<?> program;
        private final List<String> options;
        private final boolean oneCore;
        private final double[] passed = new double[RUNS];
        private final double[] used = new double[RUNS];
        private final double[] registering = new double[RUNS];

        Start(String name, Class<?> program, List<String> options, boolean oneCore) {
            this.name = name;
            this.program = program;
            this.options = options;
            this.oneCore = oneCore;
        }
    }

    private StartUp(Child child) {
        this.child = child;
    }

    /** Arguments: folder of the stub providers, folder for the caches, the core. */
    public static void main(String[] args) throws IOException, InterruptedException {
        new StartUp(new Child(Path.of(args[0]), Integer.parseInt(args[2]))).measure(Path.of(args[1]));
    }

    private void measure(Path folder) throws IOException, InterruptedException {
        System.out.println(
                Report.machine() + "\nstart and end of a virtual machine and its program, least and median of " + RUNS
                        + " by turns, ms");
        List<Start> onAll = starts(folder, false);
        List<Start> onOne = starts(folder, true);
        for (int i = 0; i < RUNS; i++) {
            for (int k = 0; k < onAll.size(); k++) {
                run(onAll.get(k), i);
                run(onOne.get(k), i);
            }
        }
        print("on " + Runtime.getRuntime().availableProcessors() + " processors", onAll);
        print("on one processor", onOne);
    }

    /** Returns the programs to start, and makes their caches. */
    private List<Start> starts(Path folder, boolean oneCore) throws IOException, InterruptedException {
        List<Start> starts = new ArrayList<>(List.of(
                new Start("empty main", Empty.class, List.of(), oneCore),
                new Start("Device.list()", ListDevices.class, List.of(), oneCore),
                new Start("first completion", FirstCompletion.class, List.of(), oneCore),
                new Start("first message over TCP", FirstMessage.class, List.of(), oneCore)));
        if (Runtime.version().feature() < FIRST_WITH_CACHE) {
            System.out.println("an AOT cache needs JDK " + FIRST_WITH_CACHE);
        } else {
            starts.add(new Start("empty main, AOT cache", Empty.class, cache(folder, Empty.class, List.of()), oneCore));
            starts.add(new Start(
                    "first completion, AOT cache",
                    FirstCompletion.class,
                    cache(folder, FirstCompletion.class, List.of()),
                    oneCore));
            starts.add(new Start(
                    "first message, AOT cache",
                    FirstMessage.class,
                    cache(folder, FirstMessage.class, List.of()),
                    oneCore));
            List<String> c1Alone = new ArrayList<>(FIRST_COMPILER);
            c1Alone.addAll(cache(folder, FirstCompletion.class, FIRST_COMPILER));
            starts.add(new Start("the same, C1 alone", FirstCompletion.class, List.copyOf(c1Alone), oneCore));
            starts.add(new Start(
                    "the same without profiles",
                    FirstCompletion.class,
                    cache(folder, FirstCompletion.class, WITHOUT_PROFILES),
                    oneCore));
        }
        return starts;
    }

    private void print(String where, List<Start> starts) throws IOException, InterruptedException {
        System.out.printf("%-28s %8s %8s %10s %8s %9s%n", where, "passed", "median", "processor", "median", "classes");
        for (Start start : starts) {
            print(start);
        }
    }

    /** Makes a cache by a run of a program with further options, and returns the option that uses the cache. */
    private List<String> cache(Path folder, Class<?> program, List<String> further)
            throws IOException, InterruptedException {
        Path cache = folder.resolve(program.getSimpleName() + further.size() + ".aot");
        Files.deleteIfExists(cache);
        List<String> options = new ArrayList<>(further);
        options.add("-XX:AOTCacheOutput=" + cache);
        child.run(Case.Profile.LEAN, options, program.getName());
        return List.of("-XX:AOTCache=" + cache);
    }

    private void run(Start start, int run) throws IOException, InterruptedException {
        long before = System.nanoTime();
        Child.Ended ended =
                child.runAndMeasure(Case.Profile.LEAN, start.options, start.program.getName(), start.oneCore);
        start.passed[run] = (System.nanoTime() - before) / 1e6;
        start.used[run] = ended.processorMillis();
        start.registering[run] = FirstCompletion.registering(ended.output());
    }

    private void print(Start start) throws IOException, InterruptedException {
        List<String> logging = new ArrayList<>(start.options);
        logging.add("-Xlog:class+load");
        long classes = child.run(Case.Profile.LEAN, logging, start.program.getName()).stream()
                .filter(line -> line.contains(" source: "))
                .count();
        System.out.printf(
                "%-28s %8.0f %8.0f %10.0f %8.0f %9d%n",
                start.name, least(start.passed), median(start.passed), least(start.used), median(start.used), classes);
        if (least(start.registering) > 0) {
            System.out.printf(
                    "%-28s %8.1f %8.1f%n", "  its register()", least(start.registering), median(start.registering));
        }
    }

    private static double least(double[] values) {
        return Arrays.stream(values).min().orElseThrow();
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[RUNS / 2];
    }
}
