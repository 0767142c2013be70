package dev.verbena.docs;

import dev.verbena.VerbsArena;
import dev.verbena.cm.AddressInfo;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.Listener;
import dev.verbena.cm.ListenerOptions;
import dev.verbena.cm.PortSpace;
import dev.verbena.cm.PrivateData;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/** Examples of the connection manager. */
final class ConnectionSnippets {
    private ConnectionSnippets() {}

    static String server(InetSocketAddress address, Consumer<InetSocketAddress> ready, Duration timeout)
            throws InterruptedException {
        String text;
        // @start region="server"
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Listener listener = Listener.open(address, arena);
            ready.accept(listener.address());
            Connection peer = listener.awaitConnection(timeout);
            MemoryRegion buffer = peer.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE);
            peer.queuePair().postReceive(1, buffer); // before the peer can send
            peer.accept(timeout);
            peer.completionQueue().await(timeout).orThrow();
            text = buffer.segment().getString(0);
        }
        // @end
        return text;
    }

    static InetSocketAddress limits(InetSocketAddress address) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            // @start region="limits"
            ListenerOptions limits = ListenerOptions.defaults().backlog(1024).handshakeTimeout(Duration.ofSeconds(2));
            Listener listener = Listener.open(address, limits, arena);
            // @end
            return listener.address();
        }
    }

    static void client(InetSocketAddress address, Duration timeout) throws InterruptedException {
        // @start region="client"
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Connection server = Connection.open(address, timeout, arena);
            MemoryRegion hello = server.register(arena.allocateFrom("hello"));
            server.queuePair().postSend(1, hello);
            server.completionQueue().await(timeout).orThrow();
        }
        // @end
    }

    static List<Connection> share(Listener listener, Duration timeout) throws InterruptedException {
        VerbsArena arena = listener.id().arena();
        // @start region="share"
        CompletionQueue completions = listener.id().context().createCompletionQueue(256); // one queue to wait at
        ConnectionResources options = ConnectionResources.defaults().completionQueue(completions);
        Connection first = listener.accept(timeout, options, arena);
        Connection second = listener.accept(timeout, options, arena);
        MemoryRegion buffer = first.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE);
        second.queuePair().postReceive(1, buffer); // both are in the listener's protection domain
        // @end
        return List.of(first, second);
    }

    static void ended(Connection peer) {
        // @start region="ended"
        peer.ended().thenAccept(end -> {
            System.out.println(end.getMessage());
            peer.close();
        });
        // @end
    }

    static QueuePair id(EventChannel channel, InetSocketAddress server, Duration timeout) throws InterruptedException {
        // @start region="id"
        ConnectionId id = channel.createId(PortSpace.TCP);
        id.resolveAddress(server, timeout);
        id.resolveRoute(timeout);
        ProtectionDomain domain = id.context().allocateProtectionDomain();
        QueuePair qp = id.createQueuePair(domain, QueuePair.rc(id.context().createCompletionQueue(64)));
        id.connect(ConnectionParameters.defaults(), timeout);
        // @end
        return qp;
    }

    static ConnectionId find(EventChannel channel, String host, String port, Duration timeout)
            throws InterruptedException {
        // @start region="find"
        AddressInfo server = AddressInfo.find(host, port, AddressInfo.hints().space(PortSpace.TCP), timeout)
                .getFirst();
        ConnectionId id = channel.createEndpoint(server, timeout);
        // @end
        return id;
    }

    static void greet(ConnectionId id, Duration timeout) throws InterruptedException {
        // @start region="parameters"
        PrivateData greeting = PrivateData.of("hello"); // the server reads it before it accepts
        id.connect(ConnectionParameters.defaults().privateData(greeting).retryCount(3), timeout);
        // @end
    }
}
