package dev.verbena.tools.shell;

import dev.verbena.tools.command.Spin;
import dev.verbena.tools.device.LoopbackPair;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.LocalMemory;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** Round trips between both ends of a pair, with a polling thread for each end. */
final class RoundTrips {
    private static final int SPINS = 100;

    private final LoopbackPair pair;
    private final int bytes;
    private final Duration patience;
    private volatile boolean over;

    /**
     * Makes round trips of messages.
     *
     * @param bytes length of a message
     * @param patience the time without a completion after which a round trip fails, however many came before
     */
    RoundTrips(LoopbackPair pair, int bytes, Duration patience) {
        this.pair = pair;
        this.bytes = bytes;
        this.patience = patience;
    }

    /**
     * Runs series of round trips, at least one, and returns the median of their means in microseconds.
     *
     * @param rounds number of round trips of a series
     * @param most largest number of series
     * @param time the time after which no other series begins
     */
    double median(int rounds, int most, Duration time) throws InterruptedException {
        double[] micros = new double[most];
        int done = 0;
        long limit = System.nanoTime() + time.toNanos();
        do {
            micros[done++] = run(rounds);
        } while (done < most && System.nanoTime() < limit);
        Arrays.sort(micros, 0, done);
        return micros[done / 2];
    }

    /** Runs a series and returns the microseconds of a round trip. */
    private double run(int rounds) throws InterruptedException {
        LoopbackPair.End left = pair.left();
        LoopbackPair.End right = pair.right();
        left.pair().postReceive(1, left.buffer().slice(bytes, bytes));
        right.pair().postReceive(1, right.buffer().slice(bytes, bytes));
        over = false;
        FutureTask<Boolean> answering = new FutureTask<>(() -> play(right, rounds, false));
        Thread thread = Thread.ofPlatform().daemon().name("answering").start(answering);
        try {
            long start = System.nanoTime();
            play(left, rounds, true);
            long nanos = System.nanoTime() - start;
            answering.get();
            return nanos / 1e3 / rounds;
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException reason ? reason : new IllegalStateException(e.getCause());
        } finally {
            over = true;
            thread.join();
        }
    }

    private boolean play(LoopbackPair.End end, int rounds, boolean begins) throws InterruptedException {
        Completions done = end.queue().completions(8);
        LocalMemory send = end.buffer().slice(0, bytes);
        LocalMemory receive = end.buffer().slice(bytes, bytes);
        int sent = 0;
        int received = 0;
        if (begins) {
            end.pair().postSend(2, send);
        }
        while (sent < rounds || received < rounds) {
            await(done);
            while (done.next()) {
                done.orThrow();
                if (!done.isReceive()) {
                    sent++;
                    continue;
                }
                received++;
                if (received < rounds) {
                    end.pair().postReceive(1, receive);
                }
                if (!begins || received < rounds) {
                    end.pair().postSend(2, send);
                }
            }
        }
        return true;
    }

    private void await(Completions done) throws InterruptedException {
        if (!Spin.until(() -> over || done.poll() > 0, SPINS, patience) || over) {
            throw new IllegalStateException("no completion within " + patience.toSeconds()
                    + " s: this machine may be too busy for two threads that poll");
        }
    }
}
