package dev.verbena.tools.shell;

import dev.verbena.tools.shell.Frames.Frame;
import dev.verbena.tools.shell.Frames.Pipe;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import jdk.jshell.execution.LocalExecutionControl;
import jdk.jshell.execution.Util;
import jdk.jshell.spi.ExecutionControl;

/**
 * Runs the classes of a shell's snippets on the machine that has the device, for a shell that compiles them on another one:
 * see {@link GuestExecution}. Commands come by standard input, results and the snippets' output go to standard output.
 */
public final class Agent {
    /** The time in which the command that runs may end when the shell is gone. */
    private static final int LAST_SECONDS = 2;

    private Agent() {}

    /**
     * Runs snippets until the shell ends.
     *
     * @param args none
     * @throws IOException if the shell can't be reached
     */
    public static void main(String[] args) throws IOException {
        CountDownLatch ended = new CountDownLatch(1);
        try {
            Rehearsal.run(System.in);
        } catch (Exception | LinkageError failed) {
            // For example, there is no device. The snippet that needs one will tell.
        }
        serve(System.in, new FileOutputStream(FileDescriptor.out), ended);
        ended.countDown();
        System.exit(0); // although threads of snippets may run
    }

    private static void serve(InputStream fromShell, OutputStream toShell, CountDownLatch ended) throws IOException {
        Pipe commands = new Pipe(() -> {});
        Pipe input = new Pipe(() -> Frames.write(toShell, Frames.WAITS));
        System.setOut(printer(toShell, Frames.OUTPUT));
        System.setErr(printer(toShell, Frames.ERRORS));
        System.setIn(input);
        ExecutionControl snippets = new LocalExecutionControl();
        Thread reader = new Thread(() -> sort(fromShell, commands, input, snippets, ended), "shell");
        reader.setDaemon(true);
        reader.start();
        ObjectOutputStream results = new ObjectOutputStream(Frames.output(toShell, Frames.RESULTS));
        results.flush();
        try {
            Util.forwardExecutionControl(snippets, new ObjectInputStream(commands), results);
        } catch (EOFException gone) {
            // The shell has ended without a word.
        }
    }

    private static PrintStream printer(OutputStream toShell, byte kind) {
        return new PrintStream(new BufferedOutputStream(Frames.output(toShell, kind)), true, StandardCharsets.UTF_8);
    }

    private static void sort(
            InputStream fromShell, Pipe commands, Pipe input, ExecutionControl snippets, CountDownLatch ended) {
        try (DataInputStream from = new DataInputStream(fromShell)) {
            for (Frame frame = Frames.read(from); frame != null; frame = Frames.read(from)) {
                switch (frame.kind()) {
                    case Frames.COMMANDS -> commands.give(frame.bytes());
                    case Frames.INPUT -> input.give(frame.bytes());
                    case Frames.STOP -> snippets.stop();
                    default -> throw new IOException("unknown frame " + frame.kind());
                }
            }
            commands.give(new byte[0]);
            if (ended.await(LAST_SECONDS, TimeUnit.SECONDS)) {
                return;
            }
        } catch (IOException | ExecutionControl.ExecutionControlException | InterruptedException lost) {
            // The shell is gone, or this side can't go on.
        }
        Runtime.getRuntime().halt(1); // a snippet runs
    }
}
