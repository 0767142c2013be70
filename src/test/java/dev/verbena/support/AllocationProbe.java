package dev.verbena.support;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Programs for {@link ChildJvm} that repeat operations until they allocate nothing, or until their time is over, and print
 * the bytes allocated by the last round. They need the optimising compiler.
 */
public final class AllocationProbe {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int OPERATIONS = 4_000;
    private static final int CLEAN_ROUNDS = 2;
    private static final long PATIENCE = Duration.ofSeconds(60).toNanos();
    private static final int ATTEMPTS = 5;

    /** The compiler has decided long before, because the operations wait for it: see {@link #cleanRows}. */
    private static final int MOST_ROUNDS = 200;

    private AllocationProbe() {}

    /**
     * Runs a probe until each of its rows has been clean in one of the runs, and at most a few times. What the code
     * allocates it allocates in each run. Whether the compiler sees through a call is decided anew in each, now and then
     * badly. Operations wait while the compiler works, so that a number of them is enough on a busy machine too. Returns the
     * names of the clean rows, and prints the output if some are not.
     */
    public static Set<String> cleanRows(int rows, Supplier<ChildJvm> jvm, Class<?> probe, String... arguments) {
        Set<String> clean = new HashSet<>();
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < ATTEMPTS && clean.size() < rows; i++) {
            String output = jvm.get()
                    .option("-Xbatch")
                    .optimizing()
                    .runOnClassPath(probe, arguments)
                    .successfulOutput();
            all.append(output);
            List<String> measured =
                    output.lines().filter(line -> line.contains(" bytes in ")).toList();
            assertThat(measured).hasSize(rows);
            measured.stream()
                    .filter(line -> line.contains(": 0 bytes in "))
                    .forEach(line -> clean.add(line.substring(0, line.indexOf(':'))));
        }
        if (clean.size() < rows) {
            System.out.println(all);
        }
        return clean;
    }

    /**
     * Repeats an operation until rounds of it allocate nothing, or until there were enough, and prints the bytes that the
     * last round has allocated.
     */
    public static void measure(String name, Runnable operation) {
        measure(name, OPERATIONS, operation);
    }

    /** Does the same with rounds of a given length. The options of the JVM say after how many calls it compiles. */
    public static void measure(String name, int operations, Runnable operation) {
        long end = System.nanoTime() + PATIENCE;
        int rounds = 0;
        int clean = 0;
        long bytes;
        do {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < operations; i++) {
                operation.run();
            }
            bytes = THREADS.getCurrentThreadAllocatedBytes() - before;
            clean = bytes == 0 ? clean + 1 : 0;
            rounds++;
        } while (clean < CLEAN_ROUNDS && rounds < MOST_ROUNDS && System.nanoTime() < end);
        System.out.println(
                name + ": " + bytes + " bytes in " + operations + " operations, after " + rounds + " rounds");
    }
}
