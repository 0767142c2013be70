package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.support.Fenced;
import dev.verbena.verbs.QueueCapabilities;
import java.net.InetSocketAddress;

/** A listener and its clients on the provider for tests, and threads that use them. */
final class FencedIds extends Workers {
    static final InetSocketAddress OWN = new InetSocketAddress("10.9.9.1", 0);
    static final InetSocketAddress GROUP = new InetSocketAddress("239.1.1.1", 0);
    static final QueueCapabilities SIZES = QueueCapabilities.of(4, 4);

    final VerbsArena arena = VerbsArena.ofShared();
    final EventChannel channel = EventChannel.create(arena);

    /** Returns a new id that listens. */
    ConnectionId listener(int backlog) {
        ConnectionId id = EventChannel.create(arena).createId(PortSpace.TCP);
        id.bind(OWN);
        id.listen(backlog);
        return id;
    }

    /** Returns a new id that is ready to connect to a listener. */
    ConnectionId client(EventChannel of, ConnectionId listener) throws InterruptedException {
        ConnectionId id = of.createId(PortSpace.TCP);
        id.resolveAddress(listener.localAddress().orElseThrow(), DEADLINE);
        id.resolveRoute(DEADLINE);
        id.createQueuePair(SIZES);
        return id;
    }

    /** Returns a new id for datagrams with a queue pair. */
    ConnectionId datagrams() {
        ConnectionId id = channel.createId(PortSpace.UDP);
        id.bind(OWN);
        id.createQueuePair(SIZES);
        return id;
    }

    @Override
    public void close() {
        Fenced.calm(); // lets stopped calls go on
        super.close();
        arena.close();
    }
}
