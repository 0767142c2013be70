package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.MemoryRegion;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Future;

/** A listener of a shared arena, and threads that accept and wait. */
final class AcceptingListener extends Workers {
    final VerbsArena arena = VerbsArena.ofShared();
    final Listener listener;

    /** Both ends of a connection. */
    record Ends(Connection client, Connection server) {}

    AcceptingListener(InetSocketAddress address) {
        listener = Listener.open(address, arena);
    }

    Ends connected() throws Exception {
        return connected(ConnectionResources.defaults());
    }

    /** Connects a client; the options are the server's. */
    Ends connected(ConnectionResources options) throws Exception {
        Future<Connection> accepted = start(() -> listener.accept(DEADLINE, options, arena));
        Connection client = Connection.open(listener.address(), DEADLINE, arena);
        return new Ends(client, end(accepted));
    }

    /** Connects clients that come at once, and returns the peers that the listener has accepted. */
    Set<Object> connectedAtOnce(int clients) throws Exception {
        List<Future<Connection>> accepted = new ArrayList<>();
        List<Future<Connection>> opened = new ArrayList<>();
        for (int i = 0; i < clients; i++) {
            accepted.add(start(() -> listener.accept(DEADLINE)));
            opened.add(start(() -> Connection.open(listener.address(), DEADLINE, arena)));
        }
        Set<Object> peers = new HashSet<>();
        for (int i = 0; i < clients; i++) {
            end(opened.get(i));
            peers.add(end(accepted.get(i)).peer());
        }
        return peers;
    }

    /** Returns a client whose request waits to be taken. */
    Connection requesting() throws InterruptedException {
        return requesting(arena);
    }

    Connection requesting(VerbsArena of) throws InterruptedException {
        Connection client = Connection.to(listener.address(), DEADLINE, of);
        client.id().beginConnect(ConnectionParameters.defaults());
        return client;
    }

    MemoryRegion buffer(Connection of) {
        return of.register(arena.allocate(64), LOCAL_WRITE, REMOTE_READ);
    }

    @Override
    public void close() {
        super.close();
        arena.close();
    }
}
