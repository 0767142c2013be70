package dev.verbena.tools.shell;

import dev.verbena.tools.device.LoopbackPair;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.time.Duration;
import java.util.Locale;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/** The latencies of a series of operations, which prints as a small histogram. */
public final class Latency {
    private static final int BAR = 40;
    private static final int LINES = 10;
    private static final int WARM_UP = 200;
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final String what;
    private final Histogram nanos;

    private Latency(String what, Histogram nanos) {
        this.what = what;
        this.nanos = nanos;
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
        LocalMemory local = left.buffer().slice(0, bytes);
        RemoteMemory remote = pair.right().buffer().remote().slice(0, bytes);
        Histogram nanos = new Histogram(3);
        for (int i = -WARM_UP; i < count; i++) {
            long start = System.nanoTime();
            left.pair().postRead(1, local, remote);
            done.await(PATIENCE);
            while (done.next()) {
                done.orThrow();
            }
            if (i >= 0) {
                nanos.recordValue(System.nanoTime() - start);
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
        return nanos.getValueAtPercentile(percent) / 1e3;
    }

    /** Returns the usual percentiles and a bar for each power of two. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(String.format(
                Locale.ROOT,
                "%s, %d times: 50%% %.1f us, 90%% %.1f us, 99%% %.1f us, max %.1f us",
                what,
                nanos.getTotalCount(),
                percentile(50),
                percentile(90),
                percentile(99),
                percentile(100)));
        int lines = 0;
        for (HistogramIterationValue step : nanos.logarithmicBucketValues(1, 2)) {
            long count = step.getCountAddedInThisIterationStep();
            if (count > 0 && lines++ < LINES) {
                text.append(String.format(
                        Locale.ROOT,
                        "%n  up to %9.1f us %7d %s",
                        step.getValueIteratedTo() / 1e3,
                        count,
                        "#".repeat((int) Math.max(1, count * BAR / nanos.getTotalCount()))));
            }
        }
        return text.toString();
    }
}
