package dev.verbena.bench;

import com.sun.management.ThreadMXBean;
import dev.verbena.VerbsArena;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Measures one row in its own JVM: C and Java alternate on this thread, and each round is checked. Prints the figures
 * as one line.
 *
 * <p>The loop is our own, and not one of JMH, on purpose. What is asked for is a ratio of two figures that differ by a few
 * nanoseconds, on machines whose speed changes by more than that within a second. JMH measures one method for seconds and
 * the other one seconds later. Here a round of C and a round of Java, each of less than a millisecond, follow each other
 * on the same core, and the least figure of many rounds is that of a quiet moment for both. JMH's guards are not needed:
 * every operation calls C, whose effects no compiler removes, and every completion is checked. Each row has fresh JVMs,
 * as JMH's forks are.
 */
final class Measurement {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int FIXED = 7;

    /**
     * Arguments: row, arena, library of the loops in C, warm-up rounds, rounds, operations in a round, GID index; then,
     * if not 1, the number of frames between loop and library; then "bare" for bare calls in place of Verbena.
     */
    public static void main(String[] args) throws Throwable {
        Row row = Row.of(args[0]).orElseThrow();
        Path library = Path.of(args[2]);
        int gidIndex = Integer.parseInt(args[6]);
        int frames = args.length > FIXED ? Integer.parseInt(args[FIXED]) : 1;
        boolean bare = args.length > FIXED + 1 && args[FIXED + 1].equals("bare");
        Twin twin = new Twin(library, row.function(), row.kinds(), gidIndex);
        try (VerbsArena arena = args[1].equals("shared") ? VerbsArena.ofShared() : VerbsArena.ofConfined()) {
            Work work = bare
                    ? row.work(new Twin(library, row.function(), row.kinds(), gidIndex))
                    : row.work(new Loops(row, arena, gidIndex));
            Work.Loop loop = frames == 1 ? work.loop() : new Callers(work.step(), row.size(), frames);
            int rounds = Integer.parseInt(args[4]);
            new Measurement(row, twin, loop, Integer.parseInt(args[5])).run(Integer.parseInt(args[3]), rounds);
        }
    }

    private final Row row;
    private final Twin twin;
    private final Work.Loop loop;
    private final int operations;

    private Measurement(Row row, Twin twin, Work.Loop loop, int operations) {
        this.row = row;
        this.twin = twin;
        this.loop = loop;
        this.operations = operations - operations % row.size();
    }

    private void run(int warm, int rounds) {
        for (int i = 0; i < warm; i++) {
            check(twin.run(operations) + loop.run(operations));
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
            bad += loop.run(operations);
            long end = System.nanoTime();
            least = Math.min(least, THREADS.getCurrentThreadAllocatedBytes() - before);
            check(bad);
            c[i] = (double) (middle - start) / operations;
            java[i] = (double) (end - again) / operations;
        }
        Arrays.sort(c);
        Arrays.sort(java);
        System.out.println("measured " + c[0] + " " + c[rounds / 2] + " " + java[0] + " " + java[rounds / 2] + " "
                + (double) least / operations);
    }

    private void check(long bad) {
        if (bad != 0) {
            throw new AssertionError(row + ": " + bad + " completions were not what was posted");
        }
    }
}
