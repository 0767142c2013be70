package dev.verbena.tools.shell;

import dev.verbena.VerbsArena;
import dev.verbena.tools.device.LoopbackPair;
import dev.verbena.tools.shell.Frames.Pipe;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.WorkCompletion;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import jdk.jshell.execution.LocalExecutionControl;
import jdk.jshell.execution.StreamingExecutionControl;
import jdk.jshell.execution.Util;
import jdk.jshell.spi.ExecutionControl;
import jdk.jshell.spi.ExecutionControl.ClassBytecodes;

/**
 * A first use of what snippets use, while no shell has come for an {@link Agent}: on an emulated processor, the first
 * {@code pair()} takes seconds, most of them for classes that load.
 */
final class Rehearsal {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final String LINE = Line.class.getName();

    private Rehearsal() {}

    private interface Step {
        void run() throws Exception;
    }

    /** A class as the compiler makes one for a line of a shell. */
    static final class Line {
        private Line() {}

        static String value() {
            return List.of(1, 2).toString();
        }
    }

    /** Uses snippets, then a pair, then nodes, as long as no command has come. */
    static void run(InputStream fromShell) throws Exception {
        for (Step step : new Step[] {Rehearsal::snippet, Rehearsal::pair, Rehearsal::nodes}) {
            if (fromShell.available() > 0) {
                return;
            }
            step.run();
        }
    }

    private static void snippet() throws Exception {
        Pipe commands = new Pipe(() -> {});
        Pipe results = new Pipe(() -> {});
        Thread other = new Thread(() -> serve(commands, results), "rehearsal");
        other.setDaemon(true);
        other.start();
        ObjectOutputStream to = new ObjectOutputStream(output(commands));
        to.flush();
        try (ExecutionControl line = new StreamingExecutionControl(to, new ObjectInputStream(results));
                InputStream bytes = Line.class.getResourceAsStream("Rehearsal$Line.class")) {
            line.load(new ClassBytecodes[] {new ClassBytecodes(LINE, bytes.readAllBytes())});
            line.invoke(LINE, "value");
        }
    }

    private static void serve(InputStream commands, Pipe results) {
        try {
            ObjectOutputStream to = new ObjectOutputStream(output(results));
            to.flush();
            Util.forwardExecutionControl(new LocalExecutionControl(), new ObjectInputStream(commands), to);
        } catch (IOException ended) {
            results.give(new byte[0]);
        }
    }

    private static OutputStream output(Pipe to) {
        return new OutputStream() {
            @Override
            public void write(int one) {
                to.give(new byte[] {(byte) one});
            }

            @Override
            public void write(byte[] bytes, int offset, int length) {
                if (length > 0) { // an empty array would be the end
                    to.give(Arrays.copyOfRange(bytes, offset, offset + length));
                }
            }
        };
    }

    private static void pair() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Context context = Shell.devices().getFirst().open(arena);
            LoopbackPair pair = LoopbackPair.connect(context);
            LoopbackPair.End left = pair.left();
            MemoryRegion remote = pair.right().buffer();
            remote.segment().setString(0, "read");
            left.pair().postRead(1, left.buffer(), remote.remote());
            WorkCompletion done = left.queue().await(TIMEOUT).orThrow();
            String _ = List.of(pair, done, left.buffer().segment().getString(0), context.port(1), context.gids())
                    .toString();
        }
    }

    private static void nodes() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Context context = Shell.devices().getFirst().open(arena);
            String _ = NodePair.connect(
                            new InetSocketAddress(context.bestGid(1).gid().toInetAddress(), 0), arena)
                    .toString();
        }
    }
}
