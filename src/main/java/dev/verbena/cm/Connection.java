package dev.verbena.cm;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.StackRoom;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import org.jspecify.annotations.Nullable;

/**
 * A reliable connection: an id, with a queue pair and a completion queue of its own. A program can wait for completions.
 *
 * <p>All connections of a listener that are on one device have one protection domain, {@link #domain}. So they can use the
 * same registered memory. {@link ConnectionResources} has more that connections can share.
 *
 * <p>When the peer disconnects, or its process ends, the connection manager reports the end. {@link #isOpen} is false from
 * then on, and posted requests are flushed: their completions name the end. {@link #awaitCompletion} and the waits of the
 * connection's {@linkplain #completionQueue own queue} and of its {@linkplain #completions cursors} throw a
 * {@link ConnectionException}. {@link #ended} is a future of the end. The connection manager does not report that the peer's
 * machine or the network has failed. Then requests that were sent fail.
 *
 * <p>A connection needs no file descriptor of its own. All connections that a process makes with {@link #open} and {@link #to}
 * share one for the events of the connection manager, and those of a listener use the listener's. All connections on one
 * device share one for the events of their completion queues.
 *
 * <p>A connection of a shared arena can be used by many threads at once. A connection of a confined arena can be used by the
 * arena's thread only.
 *
 * {@snippet file="ConnectionSnippets.java" region="client"}
 */
public final class Connection implements AutoCloseable {
    private final @Nullable EventChannel own;
    private final ConnectionId id;
    private final ConnectionParts parts;
    private final PrivateData request;
    private final Optional<InetSocketAddress> peer;
    private volatile boolean answered;

    /** The future of the end, once the program has asked for it. */
    private volatile @Nullable CompletableFuture<ConnectionException> ended;

    private Connection(
            @Nullable EventChannel own,
            ConnectionId id,
            ConnectionParts parts,
            PrivateData request,
            Optional<InetSocketAddress> peer) {
        this.own = own;
        this.id = id;
        this.parts = parts;
        this.request = request;
        this.peer = peer;
    }

    /**
     * Makes a connection of an id that has a device. Closes nothing of the caller's on failure.
     *
     * @param own the channel that the connection closes; null for a channel of others
     * @throws ConnectionException if the peer of a request has left
     */
    static Connection of(
            @Nullable EventChannel own, ConnectionId id, PrivateData request, ConnectionResources options) {
        Optional<InetSocketAddress> peer = id.peerAddress();
        ConnectionParts parts = options.make(id);
        return CmFailures.orUndo(parts::close, () -> {
            Connection made = new Connection(own, id, parts, request, peer);
            parts.endWith(made::end, id::waits);
            id.atEnd(made::tellEnd);
            return made;
        });
    }

    /** Returns an exception for the end of this connection; null while it goes on. */
    private @Nullable ConnectionException end() {
        IdEvents.End end = id.end();
        return end == null ? null : ConnectionException.ended(end, peer.orElse(null));
    }

    /** Tells all who wait that this connection has ended, or that its id is destroyed. */
    private void tellEnd() {
        parts.wakeWaits(); // first, because it allocates nothing
        CompletableFuture<ConnectionException> future = ended;
        if (future != null && !future.isDone()) {
            ConnectionException end = end();
            if (end != null) {
                future.completeAsync(() -> end); // the program's code must not run in the thread that takes the events
            } else if (!id.isOpen()) {
                ForkJoinPool.commonPool().execute(() -> future.cancel(false));
            }
        }
    }

    /**
     * Connects to a server. If the server sends first, use {@link #to}, and post a receive before connecting.
     *
     * @param server the server's address
     * @param timeout the longest time to wait for the address, the route and the answer together
     * @param arena the arena that closes the connection
     * @return an established connection
     * @throws ConnectionException if the server can't be found, or rejects
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    public static Connection open(InetSocketAddress server, Duration timeout, VerbsArena arena)
            throws InterruptedException {
        return open(server, timeout, ConnectionResources.defaults(), arena);
    }

    /**
     * Connects to a server. If the server sends first, use {@link #to}, and post a receive before connecting.
     *
     * @param server the server's address
     * @param timeout the longest time to wait for the address, the route and the answer together
     * @param options the sizes of its queues, and the objects to share with other connections
     * @param arena the arena that closes the connection
     * @return an established connection
     * @throws ConnectionException if the server can't be found, or rejects
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    public static Connection open(
            InetSocketAddress server, Duration timeout, ConnectionResources options, VerbsArena arena)
            throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // before anything is made
        Deadline deadline = Deadline.after(timeout);
        Connection connection = to(server, deadline, options, arena);
        return CmFailures.orUndo(connection::close, () -> {
            connection.connect(deadline.left());
            return connection;
        });
    }

    /**
     * Finds the route to a server, and makes the objects that a connection needs. Sends nothing to the server before
     * {@link #connect(Duration)}.
     *
     * @param server the server's address
     * @param timeout the longest time to wait for the address and the route together
     * @param arena the arena that closes the connection
     * @return a connection that is not established yet
     * @throws ConnectionException if no machine answers for the address
     * @throws VerbsTimeoutException if the time is over
     * @throws InterruptedException if the thread was interrupted
     */
    public static Connection to(InetSocketAddress server, Duration timeout, VerbsArena arena)
            throws InterruptedException {
        return to(server, timeout, ConnectionResources.defaults(), arena);
    }

    /**
     * Finds the route to a server, and makes the objects that a connection needs. Sends nothing to the server before
     * {@link #connect(Duration)}.
     *
     * @param server the server's address
     * @param timeout the longest time to wait for the address and the route together
     * @param options the sizes of its queues, and the objects to share with other connections
     * @param arena the arena that closes the connection
     * @return a connection that is not established yet
     * @throws ConnectionException if no machine answers for the address
     * @throws VerbsTimeoutException if the time is over
     * @throws InterruptedException if the thread was interrupted
     */
    public static Connection to(
            InetSocketAddress server, Duration timeout, ConnectionResources options, VerbsArena arena)
            throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // before anything is made
        return to(server, Deadline.after(timeout), options, arena);
    }

    private static Connection to(
            InetSocketAddress server, Deadline deadline, ConnectionResources options, VerbsArena arena)
            throws InterruptedException {
        Objects.requireNonNull(server, "server"); // before anything is made
        Objects.requireNonNull(options, "options");
        StackRoom.forLinking();
        EventChannel channel = EventChannel.createShared(arena);
        return CmFailures.orUndo(channel::close, () -> {
            ConnectionId id = channel.createId(PortSpace.TCP);
            return CmFailures.orUndo(id::close, () -> {
                id.resolveAddress(server, deadline.left());
                id.resolveRoute(deadline.left());
                return of(channel, id, PrivateData.NONE, options);
            });
        });
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
        Objects.requireNonNull(parameters, "parameters"); // before the handshake begins
        Objects.requireNonNull(timeout, "timeout");
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
        Objects.requireNonNull(parameters, "parameters"); // before the handshake begins
        Objects.requireNonNull(timeout, "timeout");
        answered = true;
        id.accept(parameters, timeout);
    }

    /**
     * Rejects the peer of a {@link Listener}'s connection, and closes this connection, also on failure.
     *
     * @param data bytes for the peer
     * @throws ConnectionException if the peer has given up
     */
    public void reject(PrivateData data) {
        Objects.requireNonNull(data, "data"); // before the connection is closed
        try {
            id.reject(data);
        } finally {
            close();
        }
    }

    /**
     * Returns the private data of the peer's request.
     *
     * @return the bytes, padded with zeros; none at the client
     */
    public PrivateData privateData() {
        return request;
    }

    /**
     * Returns the address of the peer, also once this connection is closed.
     *
     * @return the address; empty if the peer has no IP address
     */
    public Optional<InetSocketAddress> peer() {
        return peer;
    }

    /**
     * Returns true until this connection is closed, or the connection manager reports its end. The peer has then
     * disconnected, or its process has ended. Any thread can call this method.
     *
     * @return false if nothing can be sent or received any more
     */
    public boolean isOpen() {
        return id.isOpen() && id.end() == null;
    }

    /**
     * Returns a future of the end of this connection, which the connection manager reports when the peer has disconnected,
     * or its process has ended. So a server whose connections share a receive queue, and post nothing else, learns that a
     * peer has left:
     *
     * {@snippet file="ConnectionSnippets.java" region="ended"}
     *
     * <p>The value describes the end, as the exceptions of waits do. The future is cancelled if this connection is closed
     * before. Code that depends on it runs in {@link ForkJoinPool#commonPool}, and can close this
     * connection if its arena is shared. Any thread can call this method.
     *
     * @return a new future, which may be completed or cancelled without an effect on others
     */
    public CompletableFuture<ConnectionException> ended() {
        CompletableFuture<ConnectionException> all = endFuture();
        if (id.end() != null || !id.isOpen()) {
            tellEnd();
        }
        CompletableFuture<ConnectionException> own = new CompletableFuture<>();
        var _ = all.whenComplete((end, closed) -> {
            if (end == null) {
                own.cancel(false);
            } else {
                own.complete(end);
            }
        });
        return own;
    }

    private synchronized CompletableFuture<ConnectionException> endFuture() {
        CompletableFuture<ConnectionException> all = ended;
        if (all == null) {
            all = new CompletableFuture<>();
            ended = all;
        }
        return all;
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
     * Returns the protection domain that this connection registers memory in. All connections of a listener that are on one
     * device have one domain, unless {@link ConnectionResources#domain another was given}.
     *
     * @return the protection domain
     */
    public ProtectionDomain domain() {
        return parts.domain();
    }

    /**
     * Returns the completion queue of this connection's sends and receives. The waits of a queue that was made for this
     * connection see its end: they return the completions that there are, also those of requests that are flushed by then,
     * and then throw a {@link ConnectionException}.
     *
     * @return the completion queue
     */
    public CompletionQueue completionQueue() {
        return parts.completions();
    }

    /**
     * Returns the queue pair that sends and receives are posted to.
     *
     * @return the queue pair
     */
    public QueuePair queuePair() {
        return parts.queuePair();
    }

    /**
     * Registers memory for this connection ({@code ibv_reg_mr}).
     *
     * @param memory a segment of this connection's arena, or another segment that outlives the registration
     * @param access the operations that are allowed on it
     * @return the memory region, closed with this connection's arena
     */
    public MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        id.checkUsable(); // the domain may be open still, because others use it
        return domain().register(memory, List.of(access), id.arena());
    }

    /**
     * Waits for one completion of this connection, and takes it. Throws once the connection has ended: because the peer has
     * disconnected, or its process is gone, or this side has disconnected. Completions that came before the end are returned
     * first. Requests that the end has flushed are not returned: none of them has been carried out, and closing the
     * connection ends their use of memory.
     *
     * @param timeout the longest time to wait
     * @return the completion, successful or not: see {@link WorkCompletion#orThrow}
     * @throws ConnectionException if the connection has ended, also while waiting
     * @throws VerbsTimeoutException if no completion came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the connection is closed, also while waiting, or if its completion queue was given by
     *     {@link ConnectionResources#completionQueue(CompletionQueue)}: wait at that queue, where flushed requests report the
     *     end
     */
    public WorkCompletion awaitCompletion(Duration timeout) throws InterruptedException {
        id.checkUsable();
        return parts.await(this::nextOrEnd, timeout);
    }

    /**
     * Makes a cursor over the completions of this connection, which allocates nothing. {@link Completions#await} sees the end
     * of the connection: the wait returns the completions that there are, also those of requests that are flushed by then, and
     * then throws a {@link ConnectionException}. {@link Completions#poll} only looks into the queue: a program that polls asks
     * {@link #isOpen} too.
     *
     * @param max the number of completions that one poll fetches at most
     * @return a new cursor, for one thread
     * @throws IllegalStateException if the connection is closed, or if its completion queue was given by
     *     {@link ConnectionResources#completionQueue(CompletionQueue)}: make a cursor of that queue
     */
    public Completions completions(int max) {
        id.checkUsable();
        parts.checkOwnsCompletions();
        return completionQueue().completions(max);
    }

    /** Takes a completion, or throws if none is left and the connection has ended. */
    private @Nullable WorkCompletion nextOrEnd() {
        id.checkUsable();
        IdEvents.End end = id.end(); // first: all that completed before the end is in the queue by then
        WorkCompletion next = completionQueue().poll();
        if (end == null && isFlushed(next)) {
            end = id.end(); // again: the end is known before it flushes a request
        }
        if (end == null) {
            return next;
        }
        while (isFlushed(next)) {
            next = completionQueue().poll();
        }
        if (next == null) {
            throw ConnectionException.ended(end, peer.orElse(null));
        }
        return next;
    }

    private static boolean isFlushed(@Nullable WorkCompletion completion) {
        return completion != null && completion.status() == WorkStatus.WORK_REQUEST_FLUSHED;
    }

    /**
     * Ends the connection without waiting for the peer, and closes the objects that were made for it. Registered memory and
     * the protection domain stay open until they are closed, or the arena.
     */
    @Override
    public void close() {
        disconnect();
        parts.close();
        id.close();
        if (own != null) {
            own.close();
        }
    }

    private void disconnect() {
        if (answered) {
            try {
                id.beginDisconnect();
            } catch (VerbsException | IllegalStateException neverConnectedOrClosed) {
                // There is no connection to end.
            }
        }
    }

    @Override
    public String toString() {
        return "connection: " + id;
    }
}
