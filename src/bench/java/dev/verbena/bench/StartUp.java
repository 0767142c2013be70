package dev.verbena.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Measures the time from a JVM's start to its first completion, and its loaded classes, without and with a cache. */
final class StartUp {
    private static final int RUNS = 15;
    private static final int FIRST_WITH_CACHE = 25;

    private final Child child;

    private StartUp(Child child) {
        this.child = child;
    }

    /** Arguments: folder of the stub providers, folder for the cache, the core. */
    public static void main(String[] args) throws IOException, InterruptedException {
        StartUp startUp = new StartUp(new Child(Path.of(args[0]), Integer.parseInt(args[2])));
        System.out.println(Report.machine()
                + "\nfrom the start of the virtual machine to the first completion, median and " + "least of " + RUNS);
        List<String> plain = List.of();
        if (Runtime.version().feature() < FIRST_WITH_CACHE) {
            startUp.compare(plain, plain);
            System.out.println("-XX:AOTCacheOutput needs JDK " + FIRST_WITH_CACHE);
            return;
        }
        Path cache = Path.of(args[1]).resolve("verbena.aot");
        Files.deleteIfExists(cache);
        startUp.run(List.of("-XX:AOTCacheOutput=" + cache));
        startUp.compare(plain, List.of("-XX:AOTCache=" + cache));
    }

    /** Measures both by turns, so that a busy machine slows both. */
    private void compare(List<String> plain, List<String> cached) throws IOException, InterruptedException {
        double[] before = new double[RUNS];
        double[] after = new double[RUNS];
        for (int i = 0; i < RUNS; i++) {
            before[i] = millis(plain);
            after[i] = millis(cached);
        }
        print("as it is", plain, before);
        if (!cached.equals(plain)) {
            print("with an AOT cache", cached, after);
        }
    }

    private List<String> run(List<String> options) throws IOException, InterruptedException {
        return child.run(Case.Profile.LEAN, options, FirstCompletion.class.getName());
    }

    private double millis(List<String> options) throws IOException, InterruptedException {
        long before = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
        return (completed(run(options)) - before) / 1000.0;
    }

    private void print(String name, List<String> options, double[] millis) throws IOException, InterruptedException {
        Arrays.sort(millis);
        List<String> logging = new ArrayList<>(options);
        logging.add("-Xlog:class+load");
        long classes =
                run(logging).stream().filter(line -> line.contains(" source: ")).count();
        System.out.printf(
                "%-18s %6.0f ms (least %.0f), %d classes loaded%n", name, millis[RUNS / 2], millis[0], classes);
    }

    private static long completed(List<String> output) throws IOException {
        return output.stream()
                .filter(line -> line.startsWith("completed "))
                .mapToLong(line -> Long.parseLong(line.substring("completed ".length())))
                .findFirst()
                .orElseThrow(() -> new IOException(String.join("\n", output)));
    }
}
