package dev.verbena.tools.perf;

import dev.verbena.tools.command.Spin;
import dev.verbena.tools.command.Tcp;
import dev.verbena.tools.perf.PerfPlan.Mode;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.device.QueuePairType;
import java.io.IOException;
import java.time.Duration;
import org.HdrHistogram.Histogram;

/** One run of a plan: measures as the client, or does the server's part. */
final class PerfRun {
    private static final byte[] GO = {'g'};
    private static final byte[] READY = {'r'};
    private static final byte[] DONE = {'d'};
    private static final long LONGEST_NANOS = 60_000_000_000L;

    /** Time without progress after which a measurement fails. */
    static final Duration PATIENCE = Duration.ofSeconds(30);

    /** Time without progress after which the connection to the peer is checked. */
    private static final Duration LOOK_UP = Duration.ofMillis(20);

    private final PerfPlan plan;
    private final PerfLink link;
    private final Tcp tcp;
    private final int warmUp;
    private volatile int soFar;
    private volatile String what = "";

    PerfRun(PerfPlan plan, PerfLink link, Tcp tcp) {
        this(plan, link, tcp, plan.warmUp());
    }

    /** Makes a run with {@code warmUp} messages before the latency is measured. */
    PerfRun(PerfPlan plan, PerfLink link, Tcp tcp, int warmUp) {
        this.plan = plan;
        this.link = link;
        this.tcp = tcp;
        this.warmUp = warmUp;
    }

    /** Returns the current size and how much of it is measured, as a text. Any thread may call this method. */
    String progress() {
        return what + " ... " + 100L * soFar / plan.iterations() + "%";
    }

    // Server

    /** Serves until the client has finished. */
    void serve() throws IOException, InterruptedException {
        for (Mode mode : plan.modes()) {
            for (int size : plan.sizes()) {
                tcp.read(1, "its signal to begin");
                prepare(size);
                tcp.write(READY, "the signal that this side is ready");
                if (plan.receives()) {
                    receive(mode, size);
                } else if (isWritePong(mode)) {
                    writeBack(size);
                }
                tcp.read(1, "its signal that the measurement is over");
            }
        }
    }

    private boolean isWritePong(Mode mode) {
        return mode == Mode.LAT && plan.operation() == Operation.WRITE;
    }

    private void prepare(int size) {
        if (plan.receives()) {
            link.postReceives();
        }
        link.clearMark(size);
    }

    private void receive(Mode mode, int size) throws IOException, InterruptedException {
        while (!tcp.hasMore()) {
            if (!link.await(LOOK_UP)) {
                continue;
            }
            answer(mode, size, link.completions());
        }
    }

    /** Takes completions as the server of sends: replaces receives, and answers each if the latency is measured. */
    int answer(Mode mode, int size, Completions done) {
        int taken = 0;
        for (; done.next(); taken++) {
            done.orThrow();
            if (done.id() == PerfLink.RECEIVE) {
                link.received();
                if (mode == Mode.LAT) {
                    link.post(size);
                }
            }
        }
        return taken;
    }

    private void writeBack(int size) throws IOException, InterruptedException {
        for (int n = -warmUp; n < plan.iterations(); n++) {
            awaitMark(size, mark(n));
            write(size, mark(n));
        }
        finishWrites(0);
    }

    // Client

    Result measure(Mode mode, int size) throws IOException, InterruptedException {
        soFar = 0;
        what = plan.title() + (mode == Mode.LAT ? ", latency: " : ", bandwidth: ") + size + " bytes";
        prepare(size);
        tcp.write(GO, "the signal to begin");
        tcp.read(1, "its signal that it is ready");
        Histogram nanos = histogram();
        double seconds = mode == Mode.BW
                ? bandwidth(size, nanos)
                : isWritePong(mode) ? writeLatency(size, nanos) : latency(size, nanos);
        tcp.write(DONE, "the signal that the measurement is over");
        return new Result(mode, size, plan.iterations(), nanos, seconds);
    }

    static Histogram histogram() {
        return new Histogram(1, LONGEST_NANOS, 3);
    }

    /** Measures operations one after the other, each of which the server may answer. Returns the time in seconds. */
    double latency(int size, Histogram nanos) throws IOException, InterruptedException {
        boolean pong = plan.receives();
        long begin = 0;
        for (int i = -warmUp; i < plan.iterations(); i++) {
            long start = System.nanoTime();
            if (i == 0) {
                begin = start;
            }
            link.post(size);
            for (int due = pong ? 2 : 1; due > 0; ) {
                Completions done = await();
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

    /** Measures a ping-pong of writes: each side polls its memory for the last byte, then writes back. */
    private double writeLatency(int size, Histogram nanos) throws IOException, InterruptedException {
        long begin = 0;
        for (int n = -warmUp; n < plan.iterations(); n++) {
            long start = System.nanoTime();
            if (n == 0) {
                begin = start;
            }
            write(size, mark(n));
            awaitMark(size, mark(n));
            if (n >= 0) {
                record(nanos, (System.nanoTime() - start) / 2);
            }
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        finishWrites(0);
        return seconds;
    }

    /** Measures with as many outstanding operations as the plan allows. Returns the time in seconds. */
    double bandwidth(int size, Histogram nanos) throws IOException, InterruptedException {
        long[] posted = new long[plan.depth()];
        int posts = 0;
        int ends = 0;
        long begin = System.nanoTime();
        long look = begin;
        while (ends < plan.iterations()) {
            while (posts < plan.iterations() && posts - ends < plan.depth()) {
                posted[posts++ % posted.length] = System.nanoTime();
                link.post(size);
            }
            Completions done = await();
            long now = System.nanoTime();
            if (now - look > LOOK_UP.toNanos()) { // unreliable sends complete even if the peer has gone
                tcp.checkPeer();
                look = now;
            }
            while (done.next()) {
                done.orThrow();
                record(nanos, now - posted[ends++ % posted.length]);
            }
        }
        return (System.nanoTime() - begin) / 1e9;
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // one thread writes
    void record(Histogram nanos, long value) {
        nanos.recordValue(Math.clamp(value, 1, LONGEST_NANOS));
        soFar++;
    }

    // Ping-pong of writes

    /** Returns the mark of a write, which differs from the previous mark and from zero. */
    private static byte mark(int n) {
        return (byte) (Math.floorMod(n, 100) + 1);
    }

    void write(int size, byte mark) throws IOException, InterruptedException {
        finishWrites(plan.depth() - 1);
        link.writeMark(size, mark);
    }

    void awaitMark(int size, byte mark) throws IOException, InterruptedException {
        long limit = System.nanoTime() + PATIENCE.toNanos();
        while (!link.awaitMark(size, mark, LOOK_UP)) {
            link.unfinishedWrites(); // throws if a write failed
            try {
                checkTime(limit);
            } catch (IOException gone) {
                if (link.awaitMark(size, mark, Duration.ZERO)) { // the peer's last write has arrived
                    return;
                }
                throw gone;
            }
        }
    }

    /** Waits until at most {@code most} writes are outstanding. */
    private void finishWrites(int most) throws IOException, InterruptedException {
        long limit = link.unfinishedWrites() <= most ? 0 : System.nanoTime() + PATIENCE.toNanos();
        while (link.unfinishedWrites() > most) {
            Spin.checkInterrupt();
            checkTime(limit);
            Thread.yield();
        }
    }

    /** Waits for all writes, without the TCP connection: a C peer closes it when the last write has arrived. */
    void finishLastWrites() throws InterruptedException {
        if (!Spin.until(() -> link.unfinishedWrites() == 0, 1, PATIENCE)) {
            throw new IllegalStateException("the last write did not complete within " + PATIENCE.toSeconds() + " s");
        }
    }

    // Waits

    /** Waits for completions. */
    Completions await() throws IOException, InterruptedException {
        if (!link.await(LOOK_UP)) {
            long limit = System.nanoTime() + PATIENCE.toNanos();
            do {
                checkTime(limit);
            } while (!link.await(LOOK_UP));
        }
        return link.completions();
    }

    private void checkTime(long limit) throws IOException, InterruptedException {
        tcp.checkPeer();
        if (System.nanoTime() > limit) {
            throw new IllegalStateException("no completion within " + PATIENCE.toSeconds() + " s"
                    + (plan.type() == QueuePairType.RC ? "" : ": was a message lost?"));
        }
    }
}
