package dev.verbena.pair;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.Loopback;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/** A process of {@link ClusterMember} whose stream channels are RDMA sockets. */
final class ClusterProcess implements AutoCloseable {
    private static final String ANSWER = "answer ";

    private final Process process;
    private final PrintStream out;
    private final BufferedReader in;

    ClusterProcess() throws IOException {
        process = ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED",
                        "-Djava.nio.channels.spi.SelectorProvider=dev.verbena.sockets.RdmaSelectorProvider")
                .startOnClassPath(
                        ClusterMember.class,
                        Laboratory.own(0).getHostString(),
                        Laboratory.own(0).getHostString(),
                        Laboratory.peer(0).getHostString());
        out = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
        in = process.inputReader(StandardCharsets.UTF_8);
    }

    /** Waits for the member to start. */
    ClusterProcess started() throws IOException {
        next();
        return this;
    }

    private String next() throws IOException {
        StringBuilder log = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.startsWith(ANSWER)) {
                return line.substring(ANSWER.length());
            }
            log.append(line).append('\n');
        }
        throw new EOFException("the member has ended: " + log);
    }

    String ask(String question) throws IOException {
        out.println(question);
        return next();
    }

    @Override
    public void close() {
        process.destroyForcibly();
        try {
            if (!process.waitFor(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS)) {
                throw new AssertionError("the member does not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }
}
