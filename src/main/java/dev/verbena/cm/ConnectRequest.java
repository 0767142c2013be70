package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.raw.rdma_addr;
import dev.verbena.internal.raw.rdma_cm_id;
import dev.verbena.internal.raw.rdma_route;
import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.util.Objects;
import java.util.Optional;

/**
 * A request of a peer to connect to a listening id. {@link #claim} the request, and accept or reject with the resulting id;
 * or {@link #reject} it at once. A request that is not claimed is rejected when its listener closes.
 *
 * <p>Many threads can use a request at once: the first to claim or reject it wins.
 */
public final class ConnectRequest {
    private final EventChannel channel;
    private final IdEvents listener;
    private final IdEvents inbox;
    private final ConnectionId listeningId;
    private final RawEvent event;
    private final Optional<InetSocketAddress> peer;
    private final Mutex answering = new Mutex();
    private boolean gone;

    ConnectRequest(EventChannel channel, IdEvents listener, IdEvents inbox, ConnectionId listeningId, RawEvent event) {
        this.channel = channel;
        this.listener = listener;
        this.inbox = inbox;
        this.listeningId = listeningId;
        this.event = event;
        this.peer = SocketAddresses.read(rdma_addr.dst_storage(
                rdma_route.addr(rdma_cm_id.route(Memory.struct(event.id(), rdma_cm_id.sizeof())))));
    }

    IdEvents listener() {
        return listener;
    }

    /**
     * Returns the peer's address, if it is an IP address.
     *
     * @return the address
     */
    public Optional<InetSocketAddress> peer() {
        return peer;
    }

    /**
     * Returns the private data of the request.
     *
     * @return the bytes, padded with zeros
     */
    public PrivateData privateData() {
        return event.privateData();
    }

    /**
     * Returns the parameters that the peer wants.
     *
     * @return the parameters, with the numbers of reads and atomics as seen from here; empty for datagrams
     */
    public Optional<ConnectionParameters> parameters() {
        return Optional.ofNullable(event.parameters());
    }

    /**
     * Makes an id of this request, closed by the listener's arena.
     *
     * @return the id, to accept or reject with
     * @throws IllegalStateException if the request was claimed or rejected already, or its listener is closed
     */
    public ConnectionId claim() {
        return claim(listeningId.arena());
    }

    /**
     * Makes an id of this request.
     *
     * @param arena the arena that closes the id
     * @return the id, to accept or reject with
     * @throws IllegalStateException if the request was claimed or rejected already, or its listener is closed
     */
    public ConnectionId claim(VerbsArena arena) {
        try (var _ = answering.held()) {
            checkThere();
            ConnectionId id = IdFactory.claim(channel, event, inbox, arena);
            gone = true;
            channel.claimed(this, inbox, id);
            return id;
        }
    }

    /**
     * Makes a connection of this request, with the objects that it needs. Accept or reject the connection. A program that
     * reads the {@link #privateData} first can so choose the sizes of the queues for each peer. The request is gone
     * afterwards, also on failure.
     *
     * @param options the sizes of its queues, and the objects to share with other connections
     * @param arena the arena that closes the connection
     * @return a connection that is not accepted yet
     * @throws ConnectionException if the peer has left meanwhile, or the listener's device was removed
     * @throws IllegalStateException if the request was claimed or rejected already, or its listener is closed
     */
    public Connection connection(ConnectionResources options, VerbsArena arena) {
        Objects.requireNonNull(options, "options"); // before the request is gone
        IdFactory.checkMakesIn(channel, arena);
        // Nobody else can answer the request if claiming fails.
        ConnectionId claimed = CmFailures.orUndo(this::drop, () -> claim(arena));
        return CmFailures.orUndo(claimed::close, () -> Connection.of(null, claimed, privateData(), options));
    }

    /**
     * Rejects this request ({@code rdma_reject}).
     *
     * @param data bytes for the peer
     * @throws IllegalStateException if the request was claimed or rejected already, or its listener is closed
     */
    @CName("rdma_reject")
    public void reject(PrivateData data) {
        Objects.requireNonNull(data, "data"); // before the request is gone
        answering.lock();
        try (Arena scratch = Arena.ofConfined()) {
            checkThere();
            try {
                Calls.run(
                        RdmaCm.REJECT,
                        this,
                        CmFailures.tooLong(data),
                        event.id(),
                        ConnectionParameters.write(data, scratch).address(),
                        data.size());
            } finally {
                drop();
            }
        } finally {
            answering.unlock();
        }
    }

    private void checkThere() {
        listeningId.checkUsable();
        if (gone) {
            throw new IllegalStateException(this + " was claimed or rejected, or its listener was closed");
        }
    }

    /** Destroys the id in C, which rejects the request if it was not rejected before. */
    void drop() {
        try (var _ = answering.held()) {
            if (!gone) {
                gone = true;
                RdmaCm.DESTROY_ID.call(event.id());
                channel.remove(event.id(), inbox);
                channel.dropped(this);
            }
        }
    }

    @Override
    public String toString() {
        return "request of " + ConnectionException.text(peer.orElse(null));
    }
}
