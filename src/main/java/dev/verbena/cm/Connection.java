package dev.verbena.cm;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A reliable connection: an id, with a protection domain, a queue pair and a completion queue of its own. A program can wait
 * for completions.
 *
 * <p>A connection of a shared arena can be used by many threads at once. A connection of a confined arena can be used by the
 * arena's thread only.
 *
 * {@snippet file="ConnectionSnippets.java" region="client"}
 */
public final class Connection implements AutoCloseable {
    static final QueueCapabilities SIZES = QueueCapabilities.of(64, 64);

    private final @Nullable EventChannel own;
    private final ConnectionId id;
    private final ProtectionDomain domain;
    private final CompletionChannel waiting;
    private final CompletionQueue completions;
    private final QueuePair queuePair;
    private final PrivateData request;
    private volatile boolean answered;

    private Connection(@Nullable EventChannel own, ConnectionId id, PrivateData request, QueueCapabilities sizes) {
        Context context = id.context();
        VerbsArena arena = id.arena();
        this.own = own;
        this.id = id;
        this.request = request;
        domain = context.allocateProtectionDomain(arena);
        waiting = context.createCompletionChannel(arena);
        completions = context.createCompletionQueue(
                CompletionQueueOptions.of(Math.max(1, sizes.sendDepth() + sizes.receiveDepth()))
                        .channel(waiting),
                arena);
        queuePair = id.createQueuePair(
                domain,
                QueuePair.rc(completions)
                        .sendDepth(sizes.sendDepth())
                        .receiveDepth(sizes.receiveDepth())
                        .sendSge(sizes.sendSge())
                        .receiveSge(sizes.receiveSge())
                        .inlineSize(sizes.inlineSize()),
                arena);
    }

    static Connection of(@Nullable EventChannel own, ConnectionId id, PrivateData request, QueueCapabilities sizes) {
        return new Connection(own, id, request, sizes);
    }

    /**
     * Connects to a server. If the server sends first, use {@link #to}, and post a receive before connecting.
     *
     * @param server the server's address
     * @param timeout the longest time to wait in each step
     * @param arena the arena that closes the connection
     * @return an established connection
     * @throws ConnectionException if the server can't be found, or rejects
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    public static Connection open(InetSocketAddress server, Duration timeout, VerbsArena arena)
            throws InterruptedException {
        Connection connection = to(server, timeout, arena);
        try {
            connection.connect(timeout);
            return connection;
        } catch (Throwable t) {
            connection.close();
            throw t;
        }
    }

    /**
     * Finds the route to a server, and makes the objects that a connection needs. Sends nothing to the server before
     * {@link #connect(Duration)}.
     *
     * @param server the server's address
     * @param timeout the longest time to wait in each step
     * @param arena the arena that closes the connection
     * @return a connection that is not established yet
     * @throws ConnectionException if no machine answers for the address
     * @throws InterruptedException if the thread was interrupted
     */
    public static Connection to(InetSocketAddress server, Duration timeout, VerbsArena arena)
            throws InterruptedException {
        return to(server, timeout, SIZES, arena);
    }

    /**
     * Finds the route to a server, and makes the objects that a connection needs. Sends nothing to the server before
     * {@link #connect(Duration)}.
     *
     * @param server the server's address
     * @param timeout the longest time to wait in each step
     * @param sizes the sizes of its queues
     * @param arena the arena that closes the connection
     * @return a connection that is not established yet
     * @throws ConnectionException if no machine answers for the address
     * @throws InterruptedException if the thread was interrupted
     */
    public static Connection to(InetSocketAddress server, Duration timeout, QueueCapabilities sizes, VerbsArena arena)
            throws InterruptedException {
        EventChannel channel = EventChannel.create(arena);
        try {
            ConnectionId id = channel.createId(PortSpace.TCP);
            try {
                id.resolveAddress(server, timeout);
                id.resolveRoute(timeout);
                return of(channel, id, PrivateData.NONE, sizes);
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
     * Connects to the server with default parameters.
     *
     * @param timeout the longest time to wait
     * @throws ConnectionException if the server rejects or does not answer
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    public void connect(Duration timeout) throws InterruptedException {
        connect(ConnectionParameters.defaults(), timeout);
    }

    /**
     * Connects to the server.
     *
     * @param parameters the parameters to offer
     * @param timeout how long to wait
     * @return the private data of the server's answer, padded with zeros
     * @throws ConnectionException if the server rejects or does not answer
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    public PrivateData connect(ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        answered = true;
        return ((CmEvent.Connected) id.connect(parameters, timeout))
                .parameters()
                .privateData();
    }

    /**
     * Accepts the peer of a {@link Listener}'s connection with default parameters.
     *
     * @param timeout the longest time to wait
     * @throws ConnectionException if the peer has given up
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    public void accept(Duration timeout) throws InterruptedException {
        accept(ConnectionParameters.defaults(), timeout);
    }

    /**
     * Accepts the peer of a {@link Listener}'s connection.
     *
     * @param parameters the parameters to offer
     * @param timeout how long to wait
     * @throws ConnectionException if the peer has given up
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    public void accept(ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        answered = true;
        id.accept(parameters, timeout);
    }

    /**
     * Rejects the peer of a {@link Listener}'s connection, and closes this connection.
     *
     * @param data bytes for the peer
     */
    public void reject(PrivateData data) {
        id.reject(data);
        close();
    }

    /**
     * Returns the private data of the peer's request.
     *
     * @return the bytes, padded with zeros; none at the client
     */
    public PrivateData request() {
        return request;
    }

    /**
     * Returns the id of this connection.
     *
     * @return the id
     */
    public ConnectionId id() {
        return id;
    }

    /**
     * Returns the protection domain that this connection registers memory in.
     *
     * @return this connection's protection domain
     */
    public ProtectionDomain domain() {
        return domain;
    }

    /**
     * Returns the completion queue of this connection's sends and receives.
     *
     * @return the completion queue
     */
    public CompletionQueue completionQueue() {
        return completions;
    }

    /**
     * Returns the queue pair that sends and receives are posted to.
     *
     * @return the queue pair
     */
    public QueuePair queuePair() {
        return queuePair;
    }

    /**
     * Registers memory for this connection ({@code ibv_reg_mr}).
     *
     * @param memory a segment of this connection's arena, or another segment that outlives the registration
     * @param access the operations that are allowed on it
     * @return the memory region, closed with this connection's arena
     */
    public MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        id.checkUsable(); // the domain may be open still, because of other memory
        return domain.register(memory, access);
    }

    /**
     * Ends the connection without waiting for the peer, and closes the objects that belong to it. Close registered memory
     * before, or leave it to the arena.
     */
    @Override
    public void close() {
        if (id.isOpen()) {
            disconnect();
        }
        queuePair.close();
        completions.close();
        waiting.close();
        closeUnlessUsed();
        id.close();
        if (own != null) {
            own.close();
        }
    }

    private void disconnect() {
        if (answered) {
            try {
                id.beginDisconnect();
            } catch (VerbsException neverConnected) {
                // There is no connection to end.
            }
        }
    }

    /** Registered memory keeps the domain open, until the arena closes both. */
    private void closeUnlessUsed() {
        try {
            domain.close();
        } catch (ResourceBusyException inUse) {
            // By memory that is registered in it.
        }
    }

    @Override
    public String toString() {
        return "connection: " + id;
    }
}
