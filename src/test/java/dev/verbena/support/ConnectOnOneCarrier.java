package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.Listener;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** A program with virtual threads that accept, connect and disconnect on one carrier thread, which none may pin. */
public final class ConnectOnOneCarrier {
    private static final int CONNECTIONS = 20;

    private ConnectOnOneCarrier() {}

    public static void main(String[] arguments) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Listener listener = Listener.open(new InetSocketAddress("10.9.9.1", 0), arena);
            List<Future<Connection>> servers = new ArrayList<>();
            List<Future<?>> clients = new ArrayList<>();
            for (int i = 0; i < CONNECTIONS; i++) {
                servers.add(threads.submit(() -> listener.accept(Loopback.DEADLINE)));
            }
            for (int i = 0; i < CONNECTIONS; i++) {
                clients.add(threads.submit(() -> {
                    Connection client = Connection.open(listener.address(), Loopback.DEADLINE, arena);
                    client.id().awaitEvent(Loopback.DEADLINE); // the end
                    return client;
                }));
            }
            for (Future<Connection> server : servers) {
                server.get().id().beginDisconnect();
            }
            for (Future<?> client : clients) {
                client.get();
            }
            System.out.println("served " + servers.size());
        }
    }
}
