package dev.verbena.tools;

import dev.verbena.support.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** TCP ports and their listeners. */
public final class Listening {
    private static final String LISTEN = "0A";

    /** The ports of all processes of tests. The system gives none of them to whoever asks for any: those are from 32768 on. */
    private static final int FIRST = 16_384;

    private static final int LAST = 32_767;

    /** The number of ports of one process. */
    private static final int COUNT = 128;

    /** The first port of this process, which shows others as long as it lives that the next ones are taken. */
    private static final ServerSocket OWN = takeRange();

    private static int given;

    private Listening() {}

    private static ServerSocket takeRange() {
        for (int first = FIRST; first + COUNT <= LAST + 1; first += COUNT) {
            ServerSocket taken = listen(first);
            if (taken != null) {
                return taken;
            }
        }
        throw new AssertionError("no range of ports is free");
    }

    /** Returns a port that nobody listens at, and that nobody else of this machine's tests gets. */
    public static synchronized int freePort() {
        for (int tries = 1; tries < COUNT; tries++) {
            int port = OWN.getLocalPort() + 1 + given++ % (COUNT - 1);
            try (ServerSocket free = listen(port)) {
                if (free != null) {
                    return port;
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        throw new AssertionError("no port of this process is free");
    }

    private static @Nullable ServerSocket listen(int port) {
        try {
            return new ServerSocket(port);
        } catch (IOException taken) {
            return null;
        }
    }

    /** Waits until a port has a listener, without connecting: a server would accept the connection as its client. */
    public static void await(int port, BooleanSupplier alive) {
        Await.until("a listener on port " + port, () -> {
            if (!alive.getAsBoolean()) {
                throw new AssertionError("nobody listens to port " + port);
            }
            try {
                return isListening(port);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    /** Waits until a server listens. If it has ended before, the failure has its result. */
    public static void await(int port, Future<?> server) {
        try {
            await(port, () -> !server.isDone());
        } catch (AssertionError nobody) {
            throw server.state() == Future.State.SUCCESS
                    ? new AssertionError("the server has ended: " + server.resultNow(), nobody)
                    : nobody;
        }
    }

    private static boolean isListening(int port) throws IOException {
        String address = String.format(":%04X", port);
        for (String table : List.of("/proc/net/tcp", "/proc/net/tcp6")) {
            if (!Files.exists(Path.of(table))) {
                continue;
            }
            for (String line : Files.readAllLines(Path.of(table))) {
                String[] fields = line.strip().split("\\s+");
                if (fields[1].endsWith(address) && fields[3].equals(LISTEN)) {
                    return true;
                }
            }
        }
        return false;
    }
}
