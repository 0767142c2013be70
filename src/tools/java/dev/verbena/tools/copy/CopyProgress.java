package dev.verbena.tools.copy;

import dev.verbena.tools.command.PeerText;
import dev.verbena.tools.command.Progress;
import java.util.Locale;

/** A bar on the terminal that shows how much of a file is done. */
final class CopyProgress implements AutoCloseable {
    private static final int WIDTH = 30;
    private static final int NAME = 24;

    private final String what;
    private final long size;
    private final long start = System.nanoTime();
    private long first = -1;
    private volatile long done;
    private final Progress progress = Progress.onTerminal();

    CopyProgress(String what, long size) {
        this.what = PeerText.harmless(what);
        this.size = size;
        progress.show(this::line);
    }

    /** Shows the number of bytes that are done. One thread calls this method. */
    void show(long bytes) {
        if (first < 0) {
            first = bytes;
        }
        done = bytes;
    }

    private String line() {
        long now = done; // also makes the first visible
        return line(what, now, size, Math.max(0, now - first) / Math.max(1e-9, (System.nanoTime() - start) / 1e9));
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
        progress.close();
    }
}
