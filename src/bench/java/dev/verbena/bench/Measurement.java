package dev.verbena.bench;

import com.sun.management.ThreadMXBean;
import dev.verbena.VerbsArena;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Measures one row in its own JVM: C and Java alternate on this thread, and each round is checked. Prints the figures
 * as one line.
 */
final class Measurement {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private Measurement() {}

    /** Arguments: row, arena, library of the loops in C, warm-up rounds, rounds, operations in a round, GID index. */
    public static void main(String[] args) throws Throwable {
        Row row = Row.of(args[0]).orElseThrow();
        int warm = Integer.parseInt(args[3]);
        int rounds = Integer.parseInt(args[4]);
        int operations = Integer.parseInt(args[5]);
        int gidIndex = Integer.parseInt(args[6]);
        Twin twin = new Twin(Path.of(args[2]), row.function(), row.extended(), gidIndex);
        try (VerbsArena arena = args[1].equals("shared") ? VerbsArena.ofShared() : VerbsArena.ofConfined()) {
            Loops loops = new Loops(row, arena, gidIndex);
            for (int i = 0; i < warm; i++) {
                check(row, twin.run(operations) + row.run(loops, operations));
            }
            double[] c = new double[rounds];
            double[] java = new double[rounds];
            long least = Long.MAX_VALUE;
            for (int i = 0; i < rounds; i++) {
                long start = System.nanoTime();
                long bad = twin.run(operations);
                long middle = System.nanoTime();
                long before = THREADS.getCurrentThreadAllocatedBytes();
                long again = System.nanoTime();
                bad += row.run(loops, operations);
                long end = System.nanoTime();
                least = Math.min(least, THREADS.getCurrentThreadAllocatedBytes() - before);
                check(row, bad);
                c[i] = (double) (middle - start) / operations;
                java[i] = (double) (end - again) / operations;
            }
            Arrays.sort(c);
            Arrays.sort(java);
            System.out.println("measured " + c[0] + " " + c[rounds / 2] + " " + java[0] + " " + java[rounds / 2] + " "
                    + (double) least / operations);
        }
    }

    private static void check(Row row, long bad) {
        if (bad != 0) {
            throw new AssertionError(row + ": " + bad + " completions were not what was posted");
        }
    }
}
