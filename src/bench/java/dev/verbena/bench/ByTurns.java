package dev.verbena.bench;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;

/** The rounds of some subjects that were measured by turns, so that a quiet or busy moment of the machine meets all of them. */
final class ByTurns {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** The figures of each subject, sorted. */
    private final double[][] figures;

    /** The fewest bytes that a round of each subject has allocated. */
    private final long[] bytes;

    private ByTurns(double[][] figures, long[] bytes) {
        this.figures = figures;
        this.bytes = bytes;
    }

    /** A round of a subject. */
    @FunctionalInterface
    interface Round<X extends Throwable> {
        /** Returns the figure of the round, most often nanoseconds of an operation. */
        double take() throws X;
    }

    /**
     * Measures subjects by turns, in the calling thread.
     *
     * @param warm the rounds of each subject before those that count
     * @param rounds the rounds of each subject that count
     */
    @SafeVarargs
    static <X extends Throwable> ByTurns measure(int warm, int rounds, Round<X>... subjects) throws X {
        double[][] figures = new double[subjects.length][rounds];
        long[] bytes = new long[subjects.length];
        Arrays.fill(bytes, Long.MAX_VALUE);
        for (int i = -warm; i < rounds; i++) {
            for (int subject = 0; subject < subjects.length; subject++) {
                long before = THREADS.getCurrentThreadAllocatedBytes();
                double figure = subjects[subject].take();
                if (i >= 0) {
                    bytes[subject] = Math.min(bytes[subject], THREADS.getCurrentThreadAllocatedBytes() - before);
                    figures[subject][i] = figure;
                }
            }
        }
        for (double[] each : figures) {
            Arrays.sort(each);
        }
        return new ByTurns(figures, bytes);
    }

    /** Returns the figures of a subject, the least first. */
    double[] sorted(int subject) {
        return figures[subject];
    }

    double least(int subject) {
        return figures[subject][0];
    }

    double median(int subject) {
        return figures[subject][figures[subject].length / 2];
    }

    /** Returns the fewest bytes that a round of a subject has allocated. */
    long bytes(int subject) {
        return bytes[subject];
    }
}
