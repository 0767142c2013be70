package dev.verbena.tools.shell;

import dev.verbena.tools.device.LoopbackPair;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemorySlice;
import dev.verbena.verbs.RemoteMemory;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;

/** The latencies of a series of operations, which prints as a small histogram. */
public final class Latency {
    private static final int BAR = 40;
    private static final int LINES = 10;
    private static final int WARM_UP = 200;
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final String what;
    private final long[] sorted;

    private Latency(String what, long[] nanos) {
        this.what = what;
        this.sorted = nanos.clone();
        Arrays.sort(sorted);
    }

    /**
     * Measures RDMA reads of the right end's memory by the left end.
     *
     * @param pair both ends
     * @param bytes length of each read
     * @param count number of reads
     * @return the latencies
     * @throws InterruptedException if the thread was interrupted
     */
    static Latency ofReads(LoopbackPair pair, int bytes, int count) throws InterruptedException {
        LoopbackPair.End left = pair.left();
        Completions done = left.queue().completions(1);
        MemorySlice local = left.buffer().slice(0, bytes);
        RemoteMemory remote = pair.right().buffer().remote().slice(0, bytes);
        long[] nanos = new long[count];
        for (int i = -WARM_UP; i < count; i++) {
            long start = System.nanoTime();
            left.pair().postRead(1, local, remote);
            done.await(PATIENCE);
            while (done.next()) {
                done.orThrow();
            }
            if (i >= 0) {
                nanos[i] = System.nanoTime() - start;
            }
        }
        return new Latency("RDMA read of " + bytes + " bytes", nanos);
    }

    /**
     * Returns a percentile of the latencies.
     *
     * @param percent for example 99
     * @return microseconds
     */
    public double percentile(double percent) {
        if (percent < 0 || percent > 100) {
            throw new IllegalArgumentException("percentile must be from 0 to 100, got " + percent);
        }
        int rank = (int) Math.ceil(percent / 100 * sorted.length);
        return sorted[Math.max(0, rank - 1)] / 1e3;
    }

    /** Returns the usual percentiles and a bar for each power of two. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(String.format(
                Locale.ROOT,
                "%s, %d times: 50%% %.1f us, 90%% %.1f us, 99%% %.1f us, max %.1f us",
                what,
                sorted.length,
                percentile(50),
                percentile(90),
                percentile(99),
                percentile(100)));
        int[] counts = new int[Long.SIZE];
        for (long nanos : sorted) {
            counts[Long.SIZE - 1 - Long.numberOfLeadingZeros(Math.max(1, nanos))]++;
        }
        int most = Arrays.stream(counts).max().orElse(1);
        int lines = 0;
        for (int i = 0; i < counts.length && lines < LINES; i++) {
            if (counts[i] > 0) {
                lines++;
                text.append(String.format(
                        Locale.ROOT,
                        "%n  from %10.1f us %7d %s",
                        (1L << i) / 1e3,
                        counts[i],
                        "#".repeat(Math.max(1, counts[i] * BAR / most))));
            }
        }
        return text.toString();
    }
}
