package dev.verbena.tools.perf;

import dev.verbena.tools.perf.PerfPlan.Mode;
import java.io.PrintStream;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A line on the terminal that shows the progress of a measurement and disappears at the end. */
final class PerfProgress implements AutoCloseable {
    private static final Duration PAUSE = Duration.ofMillis(200);
    private static final String CLEAR = "\r" + " ".repeat(70) + "\r";

    private final PerfPlan plan;
    private final PerfRun run;
    private final PrintStream err = System.err;
    private final @Nullable Thread teller;
    private volatile String what = "";
    private boolean ended;

    private PerfProgress(PerfPlan plan, PerfRun run, boolean tells) {
        this.plan = plan;
        this.run = run;
        teller = tells ? Thread.ofPlatform().daemon().name("progress").start(this::tell) : null;
    }

    /** Starts the display, or returns one that shows nothing if there is no terminal. */
    static PerfProgress onTerminal(PerfPlan plan, PerfRun run) {
        return new PerfProgress(
                plan, run, System.console() != null && System.console().isTerminal());
    }

    /** Shows another size from now on. */
    void begin(Mode mode, int size) {
        what = plan.title() + (mode == Mode.LAT ? ", latency: " : ", bandwidth: ") + size + " bytes";
    }

    private void tell() {
        try {
            while (print("\r" + what + " ... " + 100L * run.soFar() / plan.iterations() + "%   ")) {
                Thread.sleep(PAUSE);
            }
        } catch (InterruptedException over) {
            return;
        }
    }

    /** Prints a text and returns true, or returns false if the display is closed. */
    private synchronized boolean print(String text) {
        if (!ended) {
            err.print(text);
            err.flush();
        }
        return !ended;
    }

    @Override
    public synchronized void close() {
        if (teller != null) {
            print(CLEAR);
            ended = true;
            teller.interrupt();
        }
    }
}
