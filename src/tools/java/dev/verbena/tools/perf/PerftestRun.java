package dev.verbena.tools.perf;

import dev.verbena.tools.command.Tcp;
import dev.verbena.tools.perf.PerfPlan.Mode;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.tools.perf.PerftestPeer.Point;
import dev.verbena.tools.perf.PerftestPeer.Report;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import org.HdrHistogram.Histogram;

/**
 * One run with a C program of perftest as the peer: measures as the client, or does the server's part. The ends do not
 * exchange size and count, so there are no messages to warm up: {@link PerfWarmUp} comes before.
 */
final class PerftestRun {
    private static final Duration LONG = Duration.ofHours(1);

    private final PerfPlan plan;
    private final Mode mode;
    private final int size;
    private final PerfLink link;
    private final PerftestPeer peer;
    private final Tcp tcp;
    private final boolean client;
    private final PerfRun run;

    PerftestRun(PerfPlan plan, PerfLink link, PerftestPeer peer, Tcp tcp, boolean client) {
        this.plan = plan;
        this.mode = plan.modes().getFirst();
        this.size = plan.largest();
        this.link = link;
        this.peer = peer;
        this.tcp = tcp;
        this.client = client;
        this.run = new PerfRun(plan, link, tcp, 0);
    }

    /** Returns the name of the C program at the other end. */
    static String program(PerfPlan plan) {
        return "ib_" + plan.operation().text() + "_" + plan.modes().getFirst().text();
    }

    /** Measures as the client. */
    Result measure() throws IOException, InterruptedException {
        begin();
        Histogram nanos = PerfRun.histogram();
        double seconds = mode == Mode.BW
                ? run.bandwidth(size, nanos)
                : plan.operation() == Operation.WRITE ? writeLatency(nanos) : run.latency(size, nanos);
        Result result = new Result(mode, size, plan.iterations(), nanos, seconds);
        peer.repeat(Point.AFTER_IT_HAS_MEASURED, plan);
        if (reports()) {
            peer.exchange(Report.of(result));
        }
        end();
        return result;
    }

    /** Does the server's part. Returns the client's results, if the test sends them. */
    Optional<Report> serve() throws IOException, InterruptedException {
        begin();
        if (plan.operation() == Operation.SEND) {
            receive();
        } else if (isWritePong()) {
            writeLatency(PerfRun.histogram());
        } else {
            tcp.patience(LONG); // the server can't see the client's progress
        }
        peer.repeat(Point.AFTER_IT_HAS_MEASURED, plan);
        Optional<Report> report = reports() ? Optional.of(peer.exchange(new Report(0, 0, 0, 0))) : Optional.empty();
        end();
        return report;
    }

    private boolean isWritePong() {
        return mode == Mode.LAT && plan.operation() == Operation.WRITE;
    }

    private boolean reports() {
        return mode == Mode.BW && plan.operation() != Operation.SEND;
    }

    private void begin() throws IOException, InterruptedException {
        if (plan.receives()) {
            link.postReceives();
        }
        peer.repeat(Point.BEFORE_IT_MEASURES, plan);
    }

    private void end() throws IOException, InterruptedException {
        peer.repeat(Point.BEFORE_IT_CLOSES, plan);
        if (!isWritePong()) {
            peer.end();
        } else if (!client) {
            peer.awaitItsEnd();
        }
    }

    /** Receives all messages, and answers each if the latency is measured. */
    private void receive() throws IOException, InterruptedException {
        int due = plan.iterations() * (mode == Mode.LAT ? 2 : 1);
        while (due > 0) {
            due -= run.answer(mode, size, run.await());
        }
    }

    /** Does a ping-pong of writes. The server writes first; the last byte of each write is its number. */
    private double writeLatency(Histogram nanos) throws IOException, InterruptedException {
        long begin = System.nanoTime();
        long posted = begin;
        for (int n = 1; n <= plan.iterations(); n++) {
            if (client) {
                run.awaitMark(size, (byte) n);
                posted = n == 1 ? System.nanoTime() : record(nanos, posted); // the first write is no answer
            }
            run.write(size, (byte) n);
            if (!client) {
                run.awaitMark(size, (byte) n);
                posted = record(nanos, posted);
            }
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        run.finishLastWrites();
        return seconds;
    }

    private long record(Histogram nanos, long posted) {
        long now = System.nanoTime();
        run.record(nanos, (now - posted) / 2);
        return now;
    }
}
