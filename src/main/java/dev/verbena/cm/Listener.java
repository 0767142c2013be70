package dev.verbena.cm;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.verbs.QueueCapabilities;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * A server: waits for peers and makes a {@link Connection} of each. Many threads can accept at once, if the arena is
 * shared.
 *
 * <pre>{@code
 * try (VerbsArena arena = VerbsArena.ofShared()) {
 *     Listener listener = Listener.open(new InetSocketAddress("10.9.9.1", 7471), arena);
 *     Connection peer = listener.next(timeout);
 *     peer.queuePair().postReceive(1, buffer);                  // before the peer can send
 *     peer.accept(timeout);
 * }
 * }</pre>
 */
public final class Listener implements AutoCloseable {
    private static final int BACKLOG = 128;

    private final EventChannel channel;
    private final ConnectionId id;

    private Listener(EventChannel channel, ConnectionId id) {
        this.channel = channel;
        this.id = id;
    }

    /**
     * Listens for reliable connections.
     *
     * @param address an address of a device's, or of all devices; port 0 for any that is free
     * @param arena what will close it
     * @return a new listener
     * @throws dev.verbena.VerbsException if the address is none of this machine's, or in use
     */
    public static Listener open(InetSocketAddress address, VerbsArena arena) {
        EventChannel channel = EventChannel.create(arena);
        try {
            ConnectionId id = channel.createId(PortSpace.TCP);
            try {
                id.bind(address);
                id.listen(BACKLOG);
                return new Listener(channel, id);
            } catch (Throwable t) {
                id.close();
                throw t;
            }
        } catch (Throwable t) {
            channel.close();
            throw t;
        }
    }

    /**
     * The listening id.
     *
     * @return the id
     */
    public ConnectionId id() {
        return id;
    }

    /**
     * Where it listens.
     *
     * @return the address with the port, also when any was asked for
     */
    public InetSocketAddress address() {
        return id.localAddress().orElseThrow();
    }

    /**
     * Waits for a peer, and makes what a connection needs. Accept it, or reject it.
     *
     * @param timeout how long to wait
     * @return a connection that is not accepted yet, closed by this listener's arena
     * @throws VerbsTimeoutException if none came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the listener is closed, also while waiting
     */
    public Connection next(Duration timeout) throws InterruptedException {
        return next(timeout, Connection.SIZES, id.arena());
    }

    /**
     * Waits for a peer, and makes what a connection needs. Accept it, or reject it.
     *
     * @param timeout how long to wait
     * @param sizes of its queues
     * @param arena what will close it
     * @return a connection that is not accepted yet
     * @throws VerbsTimeoutException if none came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the listener is closed, also while waiting
     */
    public Connection next(Duration timeout, QueueCapabilities sizes, VerbsArena arena) throws InterruptedException {
        CmFailures.checkOpen(arena);
        ConnectRequest request = id.nextRequest(timeout);
        ConnectionId claimed = request.claim(arena);
        try {
            return Connection.of(null, claimed, request.privateData(), sizes);
        } catch (Throwable t) {
            claimed.close();
            throw t;
        }
    }

    /**
     * Waits for a peer, and accepts it. Where the peer sends first, use {@link #next} and post a receive before it is
     * accepted.
     *
     * @param timeout how long to wait for each
     * @return a connection that stands, closed by this listener's arena
     * @throws ConnectionException if the peer has given up
     * @throws VerbsTimeoutException if none came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the listener is closed, also while waiting
     */
    public Connection accept(Duration timeout) throws InterruptedException {
        Connection peer = next(timeout);
        try {
            peer.accept(timeout);
            return peer;
        } catch (Throwable t) {
            peer.close();
            throw t;
        }
    }

    /** Ends listening: who waits gets an {@link IllegalStateException}. Connections that were accepted stay. */
    @Override
    public void close() {
        id.close();
        if (channel.isUnused()) {
            channel.close();
        }
    }

    @Override
    public String toString() {
        return "listener: " + id;
    }
}
