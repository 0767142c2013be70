package dev.verbena.cm;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.StackRoom;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A server: listens at an address, and makes a {@link Connection} of each peer that wants to connect.
 *
 * <p>A peer may leave before it is accepted. Taking or accepting it then throws a {@link ConnectionException}, and leaves
 * nothing behind. A loop that accepts peers continues after this exception with the next peer.
 *
 * <p>{@link ListenerOptions} limit the requests that wait, and the time of a handshake that is not complete.
 *
 * <p>A listener of a shared arena can be used by many threads at once. A listener of a confined arena can be used by the
 * arena's thread only.
 *
 * {@snippet file="ConnectionSnippets.java" region="server"}
 */
public final class Listener implements AutoCloseable {
    private final EventChannel channel;
    private final ConnectionId id;
    private final ListenerOptions limits;

    private Listener(EventChannel channel, ConnectionId id, ListenerOptions limits) {
        this.channel = channel;
        this.id = id;
        this.limits = limits;
    }

    /**
     * Listens for reliable connections.
     *
     * @param address the address of a device, or the wildcard address for all devices; port 0 for any free port
     * @param arena the arena that closes the listener
     * @return a new listener
     * @throws dev.verbena.VerbsException if this machine does not have the address, or another program uses it
     */
    public static Listener open(InetSocketAddress address, VerbsArena arena) {
        return open(address, ListenerOptions.defaults(), arena);
    }

    /**
     * Listens for reliable connections.
     *
     * @param address the address of a device, or the wildcard address for all devices; port 0 for any free port
     * @param limits the limits on peers that have not connected yet
     * @param arena the arena that closes the listener
     * @return a new listener
     * @throws dev.verbena.VerbsException if this machine does not have the address, or another program uses it
     */
    public static Listener open(InetSocketAddress address, ListenerOptions limits, VerbsArena arena) {
        StackRoom.forLinking();
        Objects.requireNonNull(address, "address"); // before anything is made
        Objects.requireNonNull(limits, "limits");
        EventChannel channel = EventChannel.create(arena);
        return CmFailures.orUndo(channel::close, () -> {
            ConnectionId id = channel.createId(PortSpace.TCP);
            return CmFailures.orUndo(id::close, () -> {
                id.bind(address);
                id.listen(ListenerOptions.BACKLOG.of(limits));
                return new Listener(channel, id, limits);
            });
        });
    }

    /**
     * Returns the listening id.
     *
     * @return the id
     */
    public ConnectionId id() {
        return id;
    }

    /**
     * Returns the address that this listener is bound to.
     *
     * @return the address, with the port that was chosen if port 0 was asked for
     */
    public InetSocketAddress address() {
        return id.localAddress().orElseThrow();
    }

    /**
     * Takes a peer that wants to connect, if there is one, and makes the objects that its connection needs. Accept or reject
     * the connection. This listener's arena closes the connection.
     *
     * @return a connection that is not accepted yet, or null if no peer waits
     * @throws ConnectionException if the peer has left meanwhile, or the listener's device was removed
     * @throws IllegalStateException if the listener is closed
     */
    public @Nullable Connection pollConnection() {
        return pollConnection(ConnectionResources.defaults(), id.arena());
    }

    /**
     * Takes a peer that wants to connect, if there is one, and makes the objects that its connection needs. Accept or reject
     * the connection.
     *
     * @param options the sizes of its queues, and the objects to share with other connections
     * @param arena the arena that closes the connection
     * @return a connection that is not accepted yet, or null if no peer waits
     * @throws ConnectionException if the peer has left meanwhile, or the listener's device was removed
     * @throws IllegalStateException if the listener or the arena is closed
     */
    public @Nullable Connection pollConnection(ConnectionResources options, VerbsArena arena) {
        checkArguments(options, arena);
        ConnectRequest request = id.pollRequest();
        return request == null ? null : request.connection(options, arena);
    }

    /**
     * Waits for a peer that wants to connect, and makes the objects that its connection needs. Accept or reject the
     * connection.
     *
     * @param timeout the longest time to wait
     * @return a connection that is not accepted yet, closed by this listener's arena
     * @throws ConnectionException if the peer has left meanwhile, or the listener's device was removed
     * @throws VerbsTimeoutException if no peer came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the listener is closed, also while waiting
     */
    public Connection awaitConnection(Duration timeout) throws InterruptedException {
        return awaitConnection(timeout, ConnectionResources.defaults(), id.arena());
    }

    /**
     * Waits for a peer that wants to connect, and makes the objects that its connection needs. Accept or reject the
     * connection.
     *
     * @param timeout the longest time to wait
     * @param options the sizes of its queues, and the objects to share with other connections
     * @param arena the arena that closes the connection
     * @return a connection that is not accepted yet
     * @throws ConnectionException if the peer has left meanwhile, or the listener's device was removed
     * @throws VerbsTimeoutException if no peer came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the listener is closed, also while waiting
     */
    public Connection awaitConnection(Duration timeout, ConnectionResources options, VerbsArena arena)
            throws InterruptedException {
        checkArguments(options, arena);
        return id.awaitRequest(timeout).connection(options, arena);
    }

    /** Checks what a connection is made with before a request is taken, which is dropped if making fails. */
    private void checkArguments(ConnectionResources options, VerbsArena arena) {
        Objects.requireNonNull(options, "options");
        id.checkUsable();
        IdFactory.checkMakesIn(channel, arena);
    }

    /**
     * Waits for a peer, and accepts it. If the peer sends first, call {@link #awaitConnection} instead, and post a receive
     * before accepting.
     *
     * <p>If a peer does not confirm within the {@linkplain ListenerOptions#handshakeTimeout time of a handshake}, this
     * method closes its connection, and goes on with the next peer. Several threads can accept at once.
     *
     * @param timeout the longest time to wait for the peer, and again for its answer
     * @return an established connection, closed by this listener's arena
     * @throws ConnectionException if the peer has given up, or the listener's device was removed
     * @throws VerbsTimeoutException if no peer came in time, or it did not answer in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the listener is closed, also while waiting
     */
    public Connection accept(Duration timeout) throws InterruptedException {
        return accept(timeout, ConnectionResources.defaults(), id.arena());
    }

    /**
     * Waits for a peer, and accepts it. If the peer sends first, call {@link #awaitConnection} instead, and post a receive
     * before accepting.
     *
     * <p>If a peer does not confirm within the {@linkplain ListenerOptions#handshakeTimeout time of a handshake}, this
     * method closes its connection, and goes on with the next peer. Several threads can accept at once.
     *
     * @param timeout the longest time to wait for the peer, and again for its answer
     * @param options the sizes of its queues, and the objects to share with other connections
     * @param arena the arena that closes the connection
     * @return an established connection
     * @throws ConnectionException if the peer has given up, or the listener's device was removed
     * @throws VerbsTimeoutException if no peer came in time, or it did not answer in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the listener is closed, also while waiting
     */
    public Connection accept(Duration timeout, ConnectionResources options, VerbsArena arena)
            throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout");
        Deadline deadline = Deadline.after(timeout);
        Connection accepted = null;
        for (Duration left = timeout; accepted == null; left = deadline.left()) {
            accepted = acceptOrClose(awaitConnection(left, options, arena), timeout);
        }
        return accepted;
    }

    /** Accepts a peer. Closes the connection and returns null if the time of a handshake is over before the timeout is. */
    private @Nullable Connection acceptOrClose(Connection peer, Duration timeout) throws InterruptedException {
        Duration most = ListenerOptions.HANDSHAKE_TIMEOUT.of(limits);
        boolean limited = most.compareTo(timeout) < 0;
        try {
            peer.accept(limited ? most : timeout);
            return peer;
        } catch (VerbsTimeoutException late) {
            CmFailures.undo(late, peer::close);
            if (!limited || late.getSuppressed().length > 0) {
                throw late;
            }
            return null;
        } catch (Throwable t) {
            CmFailures.undo(t, peer::close);
            throw t;
        }
    }

    /**
     * Stops listening. Threads that wait for a peer get an {@link IllegalStateException}. Connections that were accepted
     * stay open.
     */
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
