package dev.verbena.tools;

import dev.verbena.tools.PerfPlan.Mode;
import dev.verbena.verbs.Completions;
import java.io.IOException;
import java.time.Duration;
import org.HdrHistogram.Histogram;

/** Measures, as the client; or does the server's part. */
final class PerfRun {
    private static final byte[] GO = {'g'};
    private static final byte[] READY = {'r'};
    private static final byte[] DONE = {'d'};
    private static final long LONGEST_NANOS = 60_000_000_000L;
    private static final Duration LOOK_UP = Duration.ofMillis(20);

    private final PerfPlan plan;
    private final PerfLink link;
    private final Tcp tcp;

    PerfRun(PerfPlan plan, PerfLink link, Tcp tcp) {
        this.plan = plan;
        this.link = link;
        this.tcp = tcp;
    }

    /**
     * What was measured with messages of one size.
     *
     * @param nanos how long each took: there and back, halved, for sends; until it completed, for all else
     * @param seconds how long all took together
     */
    record Result(Mode mode, int size, int iterations, Histogram nanos, double seconds) {
        double micros(double percentile) {
            return nanos.getValueAtPercentile(percentile) / 1e3;
        }

        double megabytesPerSecond() {
            return (double) size * iterations / seconds / 1e6;
        }

        double messagesPerSecond() {
            return iterations / seconds;
        }
    }

    /** Serves until the client has measured all. */
    void serve() throws IOException, InterruptedException {
        for (Mode mode : plan.modes()) {
            for (int size : plan.sizes()) {
                tcp.read(1, "the word to begin");
                link.postReceives();
                tcp.write(READY, "the word that this side is ready");
                if (plan.receives()) {
                    receive(mode, size);
                }
                tcp.read(1, "the word that it has measured");
            }
        }
    }

    private void receive(Mode mode, int size) throws IOException, InterruptedException {
        while (!tcp.hasMore()) {
            if (!link.awaitFor(LOOK_UP)) {
                continue;
            }
            Completions done = link.completions();
            while (done.next()) {
                done.orThrow();
                if (done.id() == PerfLink.RECEIVE) {
                    link.received();
                    if (mode == Mode.LAT) {
                        link.post(size);
                    }
                }
            }
        }
    }

    Result measure(Mode mode, int size) throws IOException, InterruptedException {
        link.postReceives();
        tcp.write(GO, "the word to begin");
        tcp.read(1, "the word that it is ready");
        Histogram nanos = new Histogram(1, LONGEST_NANOS, 3);
        double seconds = mode == Mode.LAT ? latency(size, nanos) : bandwidth(size, nanos);
        tcp.write(DONE, "the word that all is measured");
        return new Result(mode, size, plan.iterations(), nanos, seconds);
    }

    private double latency(int size, Histogram nanos) throws InterruptedException {
        boolean pong = plan.receives();
        int warmUp = Math.max(1, plan.iterations() / 10);
        long begin = 0;
        for (int i = -warmUp; i < plan.iterations(); i++) {
            long start = System.nanoTime();
            if (i == 0) {
                begin = start;
            }
            link.post(size);
            for (int due = pong ? 2 : 1; due > 0;) {
                Completions done = link.await();
                while (done.next()) {
                    done.orThrow();
                    due--;
                    if (done.id() == PerfLink.RECEIVE) {
                        link.received();
                    }
                }
            }
            if (i >= 0) {
                record(nanos, (System.nanoTime() - start) / (pong ? 2 : 1));
            }
        }
        return (System.nanoTime() - begin) / 1e9;
    }

    private double bandwidth(int size, Histogram nanos) throws InterruptedException {
        long[] posted = new long[plan.depth()];
        int posts = 0;
        int ends = 0;
        long begin = System.nanoTime();
        while (ends < plan.iterations()) {
            while (posts < plan.iterations() && posts - ends < plan.depth()) {
                posted[posts++ % posted.length] = System.nanoTime();
                link.post(size);
            }
            Completions done = link.await();
            long now = System.nanoTime();
            while (done.next()) {
                done.orThrow();
                record(nanos, now - posted[ends++ % posted.length]);
            }
        }
        return (System.nanoTime() - begin) / 1e9;
    }

    private static void record(Histogram nanos, long value) {
        nanos.recordValue(Math.clamp(value, 1, LONGEST_NANOS));
    }
}
