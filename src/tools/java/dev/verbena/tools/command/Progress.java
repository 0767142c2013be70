package dev.verbena.tools.command;

import java.io.PrintStream;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A line on the terminal that shows the progress of a tool and disappears at the end. */
public final class Progress implements AutoCloseable {
    private static final Duration PAUSE = Duration.ofMillis(200);
    private static final String CLEAR = "\r" + " ".repeat(79) + "\r";

    private final PrintStream terminal;
    private final @Nullable Thread teller;
    private volatile Supplier<String> line = () -> "";
    private boolean ended;

    Progress(PrintStream terminal, boolean tells) {
        this.terminal = terminal;
        teller = tells ? Thread.ofPlatform().daemon().name("progress").start(this::tell) : null;
    }

    /**
     * Starts a line on the terminal, or one that shows nothing if there is no terminal.
     *
     * @return the line, to close at the end
     */
    public static Progress onTerminal() {
        return new Progress(
                System.err, System.console() != null && System.console().isTerminal());
    }

    /**
     * Shows a text from now on.
     *
     * @param text returns the text, in another thread
     */
    public void show(Supplier<String> text) {
        line = text;
    }

    private void tell() {
        try {
            while (print("\r" + line.get() + "   ")) {
                Thread.sleep(PAUSE);
            }
        } catch (InterruptedException over) {
            return;
        }
    }

    /** Prints a text and returns true, or returns false if the line has ended. */
    private synchronized boolean print(String text) {
        if (!ended) {
            terminal.print(text);
            terminal.flush();
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
