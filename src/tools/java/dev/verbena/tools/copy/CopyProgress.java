package dev.verbena.tools.copy;

import java.io.PrintStream;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** A bar on the terminal that shows how much of a file is done, and disappears at the end. */
final class CopyProgress implements AutoCloseable {
    private static final int WIDTH = 30;
    private static final int NAME = 24;
    private static final long PAUSE_NANOS = 100_000_000;
    private static final String CLEAR = "\r" + " ".repeat(79) + "\r";

    private final String what;
    private final long size;
    private final @Nullable PrintStream terminal;
    private final long start = System.nanoTime();
    private long first = -1;
    private long shown = start - PAUSE_NANOS;

    CopyProgress(String what, long size, @Nullable PrintStream terminal) {
        this.what = Serve.printable(what);
        this.size = size;
        this.terminal = terminal;
    }

    /** Returns a bar on the terminal, or one that shows nothing if there is none. */
    static CopyProgress onTerminal(String what, long size) {
        boolean shows = System.console() != null && System.console().isTerminal();
        return new CopyProgress(what, size, shows ? System.err : null);
    }

    /** Shows the number of bytes that are done. */
    void show(long done) {
        if (first < 0) {
            first = done;
        }
        long now = System.nanoTime();
        if (terminal != null && (now - shown >= PAUSE_NANOS || done == size)) {
            shown = now;
            terminal.print("\r" + line(what, done, size, (done - first) / Math.max(1e-9, (now - start) / 1e9)));
            terminal.flush();
        }
    }

    /** Returns the line: name, bar, percentage and speed, in at most 79 columns. */
    static String line(String what, long done, long size, double bytesPerSecond) {
        double part = size == 0 ? 1 : (double) done / size;
        int filled = (int) (part * WIDTH);
        String name = what.length() <= NAME ? what : "..." + what.substring(what.length() - NAME + 3);
        return String.format(
                Locale.ROOT,
                "%-" + NAME + "s [%s%s] %3d%% %8.1f MB/s",
                name,
                "=".repeat(filled),
                " ".repeat(WIDTH - filled),
                (int) (100 * part),
                bytesPerSecond / 1e6);
    }

    @Override
    public void close() {
        if (terminal != null) {
            terminal.print(CLEAR);
            terminal.flush();
        }
    }
}
