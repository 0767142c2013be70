package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.Listener;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueueCapabilities;
import java.net.InetSocketAddress;

/**
 * Connections that come, carry one message, and go. Also a program for {@link ChildJvm} on the provider for tests, which
 * prints the growth of its resident memory in KiB and its remaining objects. Arguments: warm-up cycles, cycles.
 */
public final class ConnectAndClose {
    private static final ConnectionResources SMALL = ConnectionResources.of(QueueCapabilities.of(4, 4));

    private ConnectAndClose() {}

    public static void main(String[] arguments) throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Listener listener = Listener.open(new InetSocketAddress("10.9.9.1", 0), arena);
            cycles(listener, Integer.parseInt(arguments[0]));
            long before = ResidentMemory.kib();
            cycles(listener, Integer.parseInt(arguments[1]));
            System.out.println("grown " + (ResidentMemory.kib() - before));
        }
        System.out.println("left " + Fenced.remains());
    }

    /** Connects to a listener, sends and receives, disconnects and closes, one connection after the other. */
    public static void cycles(Listener listener, int count) throws InterruptedException {
        InetSocketAddress address = listener.address();
        for (int i = 0; i < count; i++) {
            cycle(listener, address);
        }
    }

    private static void cycle(Listener listener, InetSocketAddress address) throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Connection client = Connection.to(address, Loopback.DEADLINE, SMALL, arena);
            client.id().beginConnect(ConnectionParameters.defaults());
            Connection server = listener.awaitConnection(Loopback.DEADLINE, SMALL, arena);
            server.id().beginAccept(ConnectionParameters.defaults());
            expect(client, CmEvent.Type.ESTABLISHED);
            expect(server, CmEvent.Type.ESTABLISHED);
            MemoryRegion source = client.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
            MemoryRegion sink = server.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
            server.queuePair().postReceive(1, sink);
            client.queuePair().postSend(2, source);
            client.completionQueue().await(Loopback.DEADLINE).orThrow();
            server.completionQueue().await(Loopback.DEADLINE).orThrow();
            client.id().beginDisconnect();
            expect(server, CmEvent.Type.DISCONNECTED);
            server.id().beginDisconnect();
            expect(client, CmEvent.Type.DISCONNECTED);
        }
    }

    private static void expect(Connection side, CmEvent.Type type) throws InterruptedException {
        CmEvent event = side.id().awaitEvent(Loopback.DEADLINE);
        if (event.type() != type) {
            throw new AssertionError("expected " + type + ", got " + event);
        }
    }
}
