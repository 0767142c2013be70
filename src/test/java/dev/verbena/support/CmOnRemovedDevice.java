package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Listener;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** A program that removes the device of a connection: all waits end, and all objects can be closed. */
public final class CmOnRemovedDevice {
    private CmOnRemovedDevice() {}

    public static void main(String[] arguments) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Listener listener = Listener.open(new InetSocketAddress(arguments[0], 0), arena);
            Future<Connection> accepted = threads.submit(() -> listener.accept(Loopback.DEADLINE));
            Connection client = Connection.open(listener.address(), Loopback.DEADLINE, arena);
            Connection server = accepted.get();
            Connection waiting = Connection.to(listener.address(), Loopback.DEADLINE, arena);
            Future<?> connecting = threads.submit(() -> {
                waiting.connect(Loopback.DEADLINE);
                return null;
            });
            listener.awaitConnection(Loopback.DEADLINE); // does not accept
            System.out.println("connected");
            for (Connection end : List.of(client, server)) {
                CmEvent event = end.id().awaitEvent(Loopback.DEADLINE);
                while (event.type() != CmEvent.Type.DEVICE_REMOVAL) {
                    event = end.id().awaitEvent(Loopback.DEADLINE);
                }
            }
            System.out.println("told");
            try {
                connecting.get();
            } catch (java.util.concurrent.ExecutionException e) {
                System.out.println("ended: " + (e.getCause() instanceof ConnectionException ended ? ended.event() : e));
            }
        }
        System.out.println("closed");
    }
}
