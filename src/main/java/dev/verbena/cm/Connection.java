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
 * A reliable connection with all that belongs to it: an id, a protection domain, a completion queue that can be waited
 * for, and a queue pair.
 *
 * <pre>{@code
 * try (VerbsArena arena = VerbsArena.ofConfined()) {
 *     Connection server = Connection.open(new InetSocketAddress("10.9.9.1", 7471), timeout, arena);
 *     MemoryRegion buffer = server.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE);
 *     server.queuePair().postSend(1, buffer.slice(0, 64));
 *     server.completionQueue().await(timeout).orThrow();
 * }
 * }</pre>
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
     * Connects to a server. Where the server sends first, use {@link #to} and post a receive before connecting.
     *
     * @param server its address
     * @param timeout how long to wait in each step
     * @param arena what will close the connection
     * @return a connection that stands
     * @throws ConnectionException if the server can't be found, or refuses
     * @throws VerbsTimeoutException if it does not answer in time
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
     * Finds the way to a server, and makes what a connection needs. Nothing is sent to the server before
     * {@link #connect(Duration)}.
     *
     * @param server its address
     * @param timeout how long to wait in each step
     * @param arena what will close the connection
     * @return a connection that does not stand yet
     * @throws ConnectionException if nobody answers for the address
     * @throws InterruptedException if the thread was interrupted
     */
    public static Connection to(InetSocketAddress server, Duration timeout, VerbsArena arena)
            throws InterruptedException {
        return to(server, timeout, SIZES, arena);
    }

    /**
     * Finds the way to a server, and makes what a connection needs. Nothing is sent to the server before
     * {@link #connect(Duration)}.
     *
     * @param server its address
     * @param timeout how long to wait in each step
     * @param sizes of its queues
     * @param arena what will close the connection
     * @return a connection that does not stand yet
     * @throws ConnectionException if nobody answers for the address
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
     * Connects.
     *
     * @param timeout how long to wait
     * @throws ConnectionException if the server refuses or does not answer
     * @throws VerbsTimeoutException if it does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    public void connect(Duration timeout) throws InterruptedException {
        connect(ConnectionParameters.defaults(), timeout);
    }

    /**
     * Connects.
     *
     * @param parameters what to offer
     * @param timeout how long to wait
     * @return what the server sent along, padded with zeros
     * @throws ConnectionException if the server refuses or does not answer
     * @throws VerbsTimeoutException if it does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    public PrivateData connect(ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        answered = true;
        return ((CmEvent.Connected) id.connect(parameters, timeout))
                .parameters()
                .privateData();
    }

    /**
     * Accepts a peer that a {@link Listener} has told of.
     *
     * @param timeout how long to wait
     * @throws ConnectionException if the peer has given up
     * @throws VerbsTimeoutException if it does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    public void accept(Duration timeout) throws InterruptedException {
        accept(ConnectionParameters.defaults(), timeout);
    }

    /**
     * Accepts a peer that a {@link Listener} has told of.
     *
     * @param parameters what to offer
     * @param timeout how long to wait
     * @throws ConnectionException if the peer has given up
     * @throws VerbsTimeoutException if it does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    public void accept(ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        answered = true;
        id.accept(parameters, timeout);
    }

    /**
     * Refuses a peer that a {@link Listener} has told of, and closes this.
     *
     * @param why bytes for the peer
     */
    public void reject(PrivateData why) {
        id.reject(why);
        close();
    }

    /**
     * What the peer sent along with its request.
     *
     * @return the bytes, padded with zeros; none at the client
     */
    public PrivateData request() {
        return request;
    }

    /**
     * The id.
     *
     * @return the id
     */
    public ConnectionId id() {
        return id;
    }

    /**
     * Where memory is registered.
     *
     * @return this connection's protection domain
     */
    public ProtectionDomain domain() {
        return domain;
    }

    /**
     * Where sends and receives end.
     *
     * @return this connection's completion queue
     */
    public CompletionQueue completionQueue() {
        return completions;
    }

    /**
     * Where sends and receives are posted.
     *
     * @return this connection's queue pair
     */
    public QueuePair queuePair() {
        return queuePair;
    }

    /**
     * Registers memory for this connection ({@code ibv_reg_mr}).
     *
     * @param memory a segment of this connection's arena, or another that lives long enough
     * @param access what may be done with it
     * @return the memory region, closed with this connection's arena
     */
    public MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        id.checkUsable(); // also where the domain is kept open by other memory
        return domain.register(memory, access);
    }

    /**
     * Ends the connection, if it stands, without waiting for the peer, and closes what belongs to it. Memory that was
     * registered must be closed before, or is closed with the arena.
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
                // Then there is nothing to end.
            }
        }
    }

    /** Registered memory keeps the domain open, until the arena closes both. */
    private void closeUnlessUsed() {
        try {
            domain.close();
        } catch (ResourceBusyException inUse) {
            // See above.
        }
    }

    @Override
    public String toString() {
        return "connection: " + id;
    }
}
