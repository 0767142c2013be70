package dev.verbena.tools.shell;

import dev.verbena.tools.shell.Frames.Frame;
import dev.verbena.tools.shell.Frames.Pipe;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.io.SequenceInputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import jdk.jshell.execution.LocalExecutionControlProvider;
import jdk.jshell.execution.StreamingExecutionControl;
import jdk.jshell.spi.ExecutionControl;
import jdk.jshell.spi.ExecutionControlProvider;
import jdk.jshell.spi.ExecutionEnv;
import org.jspecify.annotations.Nullable;

/**
 * Has a shell's snippets run by an {@link Agent}, in a process that may be in a guest. The compiler and the terminal stay
 * here: in an emulated guest they take most of the time. JShell finds this class by its name, {@value #NAME}.
 */
public final class GuestExecution implements ExecutionControlProvider {
    /** The property with the command that starts the agent, its words separated by tabs. */
    static final String COMMAND = "dev.verbena.shell.agent";

    static final String NAME = "guest";

    /** The first bytes of an {@code ObjectOutputStream}. With them, this side need not wait for the guest before it compiles. */
    private static final byte[] HEADER = {(byte) 0xac, (byte) 0xed, 0, 5};

    private @Nullable Process process;
    private volatile boolean closing;

    /** Whether the agent has ended before the shell. */
    private volatile boolean lost;

    private final List<String> command;

    /** Makes a provider for the agent that the property names: for JShell, which loads this class as a service. */
    public GuestExecution() {
        this(List.of(System.getProperty(COMMAND, "").split("\t")));
    }

    /** Makes a provider for the agent that a command starts. */
    GuestExecution(List<String> command) {
        this.command = command;
    }

    /** Returns a provider for the agent that the property names, or null if snippets run in the shell's own process. */
    static @Nullable GuestExecution wanted() {
        return System.getProperty(COMMAND) == null ? null : new GuestExecution();
    }

    /** Returns what runs the snippets of a shell. */
    static ExecutionControlProvider engine(@Nullable GuestExecution guest) {
        return guest == null ? new LocalExecutionControlProvider() : guest;
    }

    /** Returns the status of an agent that has ended before the shell, for example because a snippet called {@code exit}. */
    OptionalInt status() {
        Process last = process;
        return lost && last != null ? OptionalInt.of(last.exitValue()) : OptionalInt.empty();
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public ExecutionControl generate(ExecutionEnv shell, Map<String, String> parameters) throws IOException {
        Process started = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        process = started;
        closing = false;
        lost = false;
        return new Control(shell, started);
    }

    private final class Control extends StreamingExecutionControl {
        private final Process agent;
        private final OutputStream toAgent;

        Control(ExecutionEnv shell, Process agent) throws IOException {
            this(shell, agent, agent.getOutputStream(), new Pipe(() -> {}));
        }

        private Control(ExecutionEnv shell, Process agent, OutputStream toAgent, Pipe results) throws IOException {
            super(
                    new ObjectOutputStream(new BufferedOutputStream(Frames.output(toAgent, Frames.COMMANDS))),
                    new ObjectInputStream(new SequenceInputStream(new ByteArrayInputStream(HEADER), results)));
            this.agent = agent;
            this.toAgent = toAgent;
            start("agent", () -> sort(shell, results));
        }

        private Thread start(String name, Runnable work) {
            Thread thread = new Thread(work, name);
            thread.setDaemon(true);
            thread.start();
            return thread;
        }

        /** Sorts what comes from the agent, until it ends. */
        private void sort(ExecutionEnv shell, Pipe results) {
            int skipped = 0;
            Thread keys = null;
            Pipe asked = new Pipe(() -> {});
            try (DataInputStream from = new DataInputStream(new BufferedInputStream(agent.getInputStream()))) {
                for (Frame frame = Frames.read(from); frame != null; frame = Frames.read(from)) {
                    byte[] bytes = frame.bytes();
                    switch (frame.kind()) {
                        case Frames.RESULTS -> {
                            int header = Math.min(HEADER.length - skipped, bytes.length);
                            skipped += header;
                            if (header < bytes.length) {
                                results.give(Arrays.copyOfRange(bytes, header, bytes.length));
                            }
                        }
                        case Frames.OUTPUT -> shell.userOut().write(bytes, 0, bytes.length);
                        case Frames.ERRORS -> shell.userErr().write(bytes, 0, bytes.length);
                        case Frames.WAITS -> {
                            asked.give(new byte[1]);
                            if (keys == null) {
                                keys = start("input", () -> passInput(shell.userIn(), asked));
                            }
                        }
                        default -> throw new IOException("unknown frame " + frame.kind());
                    }
                }
            } catch (IOException lost) {
                // As at the end of the stream.
            }
            lost = !closing;
            results.give(new byte[0]);
        }

        /** Reads a byte of input whenever a snippet waits for one: the rest is the shell's, whose terminal waits for lines. */
        private void passInput(InputStream input, Pipe asked) {
            try {
                while (asked.read() >= 0) {
                    int one = input.read();
                    Frames.write(toAgent, Frames.INPUT, new byte[] {(byte) one}, 0, one < 0 ? 0 : 1);
                }
            } catch (IOException gone) {
                // The agent has ended.
            }
        }

        @Override
        public void stop() throws EngineTerminationException {
            try {
                Frames.write(toAgent, Frames.STOP);
            } catch (IOException e) {
                throw new EngineTerminationException("The agent has ended");
            }
        }

        /** Ends the agent, and waits until its machine has ended. */
        @Override
        public void close() {
            closing = true;
            super.close();
            try {
                toAgent.close();
            } catch (IOException gone) {
                // It has ended.
            }
            try {
                agent.waitFor();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
