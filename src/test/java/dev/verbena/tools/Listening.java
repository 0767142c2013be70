package dev.verbena.tools;

import dev.verbena.support.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BooleanSupplier;

/** TCP ports and their listeners. */
public final class Listening {
    private static final String LISTEN = "0A";

    private Listening() {}

    public static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
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
