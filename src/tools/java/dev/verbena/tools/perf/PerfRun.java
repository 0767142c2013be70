package dev.verbena.tools.perf;

import dev.verbena.tools.command.Spin;
import dev.verbena.tools.command.Tcp;
import dev.verbena.tools.perf.PerfPlan.Mode;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.device.QueuePairType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import org.HdrHistogram.Histogram;

/** One run of a plan: measures as the client, or does the server's part. */
final class PerfRun {
    private static final byte[] GO = {'g'};
    private static final byte[] READY = {'r'};
    private static final byte[] DONE = {'d'};

    /** The length of a side's result when both ends send: the number of messages, and the seconds. */
    private static final int REPORT_BYTES = Integer.BYTES + Double.BYTES;

    private static final long LONGEST_NANOS = 60_000_000_000L;

    /** Time without progress after which a measurement fails. */
    static final Duration PATIENCE = Duration.ofSeconds(30);

    /** Time without progress after which the connection to the peer is checked. */
    private static final Duration LOOK_UP = Duration.ofMillis(20);

    private final PerfPlan plan;
    private final PerfLink link;
    private final Tcp tcp;
    private final int warmUp;
    private final long longest;
    private final int limit;
    private volatile int soFar;
    private volatile long begun;
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
        this.limit = plan.limit();
        this.longest = Duration.ofSeconds(plan.traffic().seconds()).toNanos();
    }

    /** Returns the current size and how much of it is measured, as a text. Any thread may call this method. */
    String progress() {
        long percent = longest == 0 || soFar == 0
                ? 100L * soFar / limit
                : Math.min(100, 100 * (System.nanoTime() - begun) / longest);
        return what + " ... " + percent + "%";
    }

    /** Returns true if a measurement goes on after so many messages. */
    private boolean goesOn(int messages, long now) {
        return messages < limit && (longest == 0 || now - begun < longest);
    }

    // Server

    /** Serves until the client has finished. */
    void serve() throws IOException, InterruptedException {
        for (Mode mode : plan.modes()) {
            for (int size : plan.sizes()) {
                tcp.read(1, "its signal to begin");
                prepare(size);
                tcp.write(READY, "the signal that this side is ready");
                if (plan.traffic().bothWays()) {
                    bothWays(size);
                } else if (plan.receives()) {
                    receive(mode, size);
                } else if (isWritePong(mode)) {
                    writeBack(size);
                }
                tcp.read(1, "its signal that the measurement is over");
                tcp.write(DONE, "the signal that this side waits for nothing more");
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
            if (link.isReceive()) {
                link.received();
                if (mode == Mode.LAT) {
                    link.post(size);
                }
            }
        }
        return taken;
    }

    private void writeBack(int size) throws IOException, InterruptedException {
        for (int n = -warmUp; awaitMarkOrSignal(size, mark(n)); n++) {
            write(size, mark(n));
        }
        finishWrites(0);
    }

    /** Waits for the client's mark. Returns false if the client says that the measurement is over, or has gone. */
    private boolean awaitMarkOrSignal(int size, byte mark) throws IOException, InterruptedException {
        long patience = System.nanoTime() + PATIENCE.toNanos();
        while (!link.awaitMark(size, mark, LOOK_UP)) {
            link.unfinishedWrites(); // throws if a write failed
            if (tcp.hasMore()) {
                return false;
            }
            checkTime(patience);
        }
        return true;
    }

    // Client

    Result measure(Mode mode, int size) throws IOException, InterruptedException {
        what = plan.title() + (mode == Mode.LAT ? ", latency: " : ", bandwidth: ") + size + " bytes";
        prepare(size);
        tcp.write(GO, "the signal to begin");
        tcp.read(1, "its signal that it is ready");
        Result result = plan.traffic().bothWays() ? bothWays(size) : oneWay(mode, size);
        tcp.write(DONE, "the signal that the measurement is over");
        tcp.read(1, "its signal that it waits for nothing more"); // else it would see how this side disconnects
        return result;
    }

    private Result oneWay(Mode mode, int size) throws IOException, InterruptedException {
        Histogram nanos = histogram();
        double seconds = mode == Mode.BW
                ? bandwidth(size, nanos)
                : isWritePong(mode) ? writeLatency(size, nanos) : latency(size, nanos);
        return new Result(mode, size, soFar, nanos, seconds);
    }

    /** Measures the bandwidth while the peer does the same. Returns the sum of both directions. */
    private Result bothWays(int size) throws IOException, InterruptedException {
        Histogram nanos = histogram();
        double seconds = bandwidth(size, nanos);
        int own = soFar;
        ByteBuffer mine = ByteBuffer.allocate(REPORT_BYTES).putInt(own).putDouble(seconds);
        tcp.write(mine.array(), "the result of this side");
        while (!tcp.hasMore()) {
            takeReceives(size, LOOK_UP);
        }
        ByteBuffer theirs = ByteBuffer.wrap(tcp.read(REPORT_BYTES, "the result of its side"));
        while (takeReceives(size, Duration.ZERO)) {
            Spin.checkInterrupt();
        }
        int count = theirs.getInt();
        double rate = own / seconds + count / theirs.getDouble();
        return new Result(Mode.BW, size, own + count, nanos, (own + count) / rate);
    }

    private boolean takeReceives(int size, Duration time) throws InterruptedException {
        return link.await(time) && answer(Mode.BW, size, link.completions()) > 0;
    }

    static Histogram histogram() {
        return new Histogram(1, LONGEST_NANOS, 3);
    }

    /** Measures operations one after the other, each of which the server may answer. Returns the time in seconds. */
    double latency(int size, Histogram nanos) throws IOException, InterruptedException {
        boolean pong = plan.receives();
        soFar = 0;
        for (int i = -warmUp; ; i++) {
            long start = System.nanoTime();
            if (i == 0) {
                begun = start;
            } else if (i > 0 && !goesOn(i, start)) {
                return (start - begun) / 1e9;
            }
            link.post(size);
            for (int due = pong ? 2 : 1; due > 0; ) {
                Completions done = await();
                while (done.next()) {
                    done.orThrow();
                    due--;
                    if (link.isReceive()) {
                        link.received();
                    }
                }
            }
            if (i >= 0) {
                record(nanos, (System.nanoTime() - start) / (pong ? 2 : 1));
            }
        }
    }

    /** Measures a ping-pong of writes: each side polls its memory for the last byte, then writes back. */
    private double writeLatency(int size, Histogram nanos) throws IOException, InterruptedException {
        soFar = 0;
        for (int n = -warmUp; ; n++) {
            long start = System.nanoTime();
            if (n == 0) {
                begun = start;
            } else if (n > 0 && !goesOn(n, start)) {
                finishWrites(0);
                return (start - begun) / 1e9;
            }
            write(size, mark(n));
            awaitMark(size, mark(n));
            if (n >= 0) {
                record(nanos, (System.nanoTime() - start) / 2);
            }
        }
    }

    /**
     * Measures with as many outstanding operations as the plan allows on each queue pair. If the peer sends too, takes its
     * messages meanwhile. Returns the time in seconds.
     */
    double bandwidth(int size, Histogram nanos) throws IOException, InterruptedException {
        Outstanding work = new Outstanding(plan.traffic().pairs(), plan.depth());
        soFar = 0;
        begun = System.nanoTime();
        long look = begun;
        long now = begun;
        while (work.post(size) || work.count > 0) {
            Completions done = await();
            now = System.nanoTime();
            if (now - look > LOOK_UP.toNanos()) { // unreliable sends complete even if the peer has gone
                tcp.checkPeer();
                look = now;
            }
            while (done.next()) {
                done.orThrow();
                if (link.isReceive()) {
                    link.received();
                } else {
                    record(nanos, now - work.completed(link.completed()));
                }
            }
        }
        return (now - begun) / 1e9;
    }

    /** The operations that are outstanding on each queue pair, with the times at which they were posted. */
    private final class Outstanding {
        private final long[][] times;
        private final int[] posts;
        private final int[] ends;
        private int all;
        private int next;
        private int count;

        Outstanding(int pairs, int depth) {
            times = new long[pairs][depth];
            posts = new int[pairs];
            ends = new int[pairs];
        }

        /** Posts to all queue pairs by turns until they are full. Returns false if the measurement is over. */
        boolean post(int size) {
            int pairs = times.length;
            for (int full = 0; full < pairs; next = next + 1 == pairs ? 0 : next + 1) {
                int depth = times[next].length;
                if (posts[next] - ends[next] == depth) {
                    full++;
                    continue;
                }
                long now = System.nanoTime();
                if (!goesOn(all, now)) {
                    return false;
                }
                full = 0;
                times[next][posts[next]++ % depth] = now;
                link.post(next, size);
                all++;
                count++;
            }
            return true;
        }

        /** Notes the completion of the oldest operation of a queue pair. Returns the time at which it was posted. */
        long completed(int pair) {
            count--;
            return times[pair][ends[pair]++ % times[pair].length];
        }
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
