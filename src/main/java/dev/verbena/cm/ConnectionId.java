package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.RdmaCm;
import dev.verbena.internal.raw.ibv_ece;
import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.internal.raw.ibv_qp_init_attr_ex;
import dev.verbena.internal.raw.rdma_cm_id;
import dev.verbena.internal.raw.rdma_cm_join_mc_attr_ex;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.AsyncEventType;
import dev.verbena.verbs.Ece;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One end of a connection, or a listener ({@code struct rdma_cm_id}): what a socket is to TCP.
 *
 * <p>Each step comes twice: {@code beginConnect} only starts it, as the C function does, and its end is an event; {@code
 * connect} waits for the end. A step that waits has a deadline, and ends with an exception as soon as an event says that it
 * has failed, when the thread is interrupted, and when the id is closed.
 *
 * <pre>{@code
 * ConnectionId id = channel.createId(PortSpace.TCP);
 * id.resolveAddress(server, timeout);
 * id.resolveRoute(timeout);
 * ProtectionDomain pd = id.context().allocateProtectionDomain();
 * QueuePair qp = id.createQueuePair(pd, QueuePair.rc(id.context().createCompletionQueue(64)));
 * id.connect(ConnectionParameters.defaults(), timeout);
 * }</pre>
 */
public final class ConnectionId extends ConnectionEnd {
    /** The kernel keeps the time of a resolution itself, and tells with an event a little later. */
    private static final Duration GRACE = Duration.ofMillis(500);

    private volatile @Nullable QueuePair queuePair;

    private ConnectionId(VerbsArena arena, EventChannel channel, PortSpace space, long address, Inbox inbox) {
        super(arena, channel, space, address, inbox);
    }

    @Override
    ConnectionId self() {
        return this;
    }

    static ConnectionId make(EventChannel channel, PortSpace space, VerbsArena arena) {
        if (space == PortSpace.UNKNOWN) {
            throw new IllegalArgumentException("An id needs one of C's port spaces");
        }
        return create(arena, () -> {
            try (Arena scratch = Arena.ofConfined()) {
                MemorySegment made = scratch.allocate(ValueLayout.JAVA_LONG);
                Cm.check(RdmaCm.CREATE_ID, RdmaCm.CREATE_ID.call(
                        channel.address(), made.address(), 0, space.code()), space.toString());
                Inbox inbox = new Inbox(space);
                long address = made.get(ValueLayout.JAVA_LONG, 0);
                ConnectionId id = new ConnectionId(arena, channel, space, address, inbox);
                inbox.owner = id;
                channel.add(address, inbox);
                return id;
            }
        }, channel);
    }

    /** The id that came with a request. */
    static ConnectionId claim(EventChannel channel, RawEvent event, Inbox inbox, VerbsArena arena) {
        return create(arena, () -> new ConnectionId(arena, channel, inbox.space, event.id(), inbox), channel);
    }

    @CName("rdma_destroy_id")
    @Override
    protected void destroy() {
        inbox.waiters.wakeAll();
        channel.unclaimedOf(inbox).forEach(ConnectRequest::drop);
        Cm.check(RdmaCm.DESTROY_ID, RdmaCm.DESTROY_ID.call(address), "");
        channel.remove(address, inbox);
    }

    /** C has made the queue pair ready. */
    void established() {
        QueuePair pair = queuePair;
        if (pair != null) {
            VerbsFloor.changed(pair, QueuePairState.RTS);
        }
    }

    /**
     * Its queue pair, if one was made on it.
     *
     * @return the queue pair of {@link #createQueuePair}
     */
    public Optional<QueuePair> queuePair() {
        checkOpen();
        return Optional.ofNullable(queuePair);
    }

    // The server's side

    /**
     * Gives it an address of its own ({@code rdma_bind_addr}).
     *
     * @param own the address; port 0 for any that is free
     * @throws VerbsException if this machine has no such address, or it is in use
     */
    @CName("rdma_bind_addr")
    public void bind(InetSocketAddress own) {
        call(RdmaCm.BIND_ADDR, own.toString(), scratch ->
                RdmaCm.BIND_ADDR.call(address, SocketAddresses.write(own, scratch).address()));
    }

    /**
     * Listens for requests ({@code rdma_listen}).
     *
     * @param most how many requests may wait to be taken; more are refused
     */
    @CName("rdma_listen")
    public void listen(int most) {
        check("backlog", most, 1, Integer.MAX_VALUE);
        backlog = most;
        call(RdmaCm.LISTEN, this + ", backlog " + most, scratch -> RdmaCm.LISTEN.call(address, most));
    }

    /**
     * Waits for a request to connect.
     *
     * @param timeout how long to wait
     * @return the oldest request
     * @throws VerbsTimeoutException if none came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if it does not listen, or is closed, also while waiting
     */
    @CName("rdma_get_request")
    public ConnectRequest nextRequest(Duration timeout) throws InterruptedException {
        if (backlog == 0) {
            throw new IllegalStateException(this + " does not listen");
        }
        CmEvent event = waitFor("rdma_get_request", timeout, "",
                type -> type == CmEventType.CONNECT_REQUEST);
        return ((CmEvent.Request) event).request();
    }

    /**
     * Starts accepting ({@code rdma_accept}): makes the queue pair ready, and tells the peer. When the connection stands,
     * {@link CmEventType#ESTABLISHED} is reported, except for datagrams.
     *
     * @param parameters what to offer
     * @throws IllegalStateException if there is no queue pair: neither on the id nor in the parameters
     */
    @CName("rdma_accept")
    public void beginAccept(ConnectionParameters parameters) {
        QueuePair pair = queuePair;
        ConnectionParameters told = parameters;
        if (pair == null && parameters.queuePairNumber() == 0) {
            throw new IllegalStateException(this + " has no queue pair to accept with");
        } else if (pair != null) {
            told = parameters.queuePair(pair.number(), parameters.sharedReceives());
        }
        ConnectionParameters all = told;
        call(RdmaCm.ACCEPT, toString(), scratch -> RdmaCm.ACCEPT.call(address, all.write(scratch).address()));
        established();
    }

    /**
     * Accepts with the id's queue pair, and waits until the connection stands ({@code rdma_accept}). For datagrams, there
     * is nothing to wait for.
     *
     * @param parameters what to offer
     * @param timeout how long to wait
     * @throws ConnectionException if the peer has given up
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName("rdma_accept")
    public void accept(ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        beginAccept(parameters);
        if (!space.hasDatagrams()) {
            step(RdmaCm.ACCEPT, timeout, CmEventType.ESTABLISHED);
        }
    }

    /**
     * Accepts with one's own queue pair, and waits until the connection stands ({@code rdma_accept}).
     *
     * @param own a queue pair of this device, in {@link QueuePairState#RESET} or {@link QueuePairState#INIT}
     * @param parameters what to offer
     * @param timeout how long to wait
     * @throws ConnectionException if the peer has given up
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName({"rdma_accept", "rdma_init_qp_attr"})
    public void accept(QueuePair own, ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        prepare(own);
        if (own.type() != QueuePairType.UD) {
            bring(own, QueuePairState.RTR);
            bring(own, QueuePairState.RTS);
        }
        accept(parameters.queuePair(own.number(), parameters.sharedReceives()), timeout);
    }

    /**
     * Refuses a request ({@code rdma_reject}).
     *
     * @param why bytes for the peer
     */
    @CName("rdma_reject")
    public void reject(PrivateData why) {
        call(RdmaCm.REJECT, toString(), scratch -> RdmaCm.REJECT.call(
                address, ConnectionParameters.write(why, scratch).address(), why.size()));
    }

    /**
     * Refuses a request because of the peer's {@link Ece vendor options} ({@code rdma_reject_ece}).
     *
     * @param why bytes for the peer
     */
    @CName("rdma_reject_ece")
    public void rejectEce(PrivateData why) {
        Cm.require(RdmaCm.REJECT_ECE, toString());
        call(RdmaCm.REJECT_ECE, toString(), scratch -> RdmaCm.REJECT_ECE.call(
                address, ConnectionParameters.write(why, scratch).address(), why.size()));
    }

    // The client's side

    /**
     * Starts to look up the device for an address ({@code rdma_resolve_addr}): ends with
     * {@link CmEventType#ADDRESS_RESOLVED}.
     *
     * @param source the own address, or null for any
     * @param destination the peer's
     * @param timeout how long the kernel may take
     */
    @CName("rdma_resolve_addr")
    public void beginResolveAddress(@Nullable InetSocketAddress source, InetSocketAddress destination, Duration timeout) {
        call(RdmaCm.RESOLVE_ADDR, destination.toString(), scratch -> RdmaCm.RESOLVE_ADDR.call(address,
                source == null ? 0 : SocketAddresses.write(source, scratch).address(),
                SocketAddresses.write(destination, scratch).address(), milliseconds(timeout)));
    }

    /**
     * Looks up the device for an address ({@code rdma_resolve_addr}).
     *
     * @param destination the peer's address
     * @param timeout how long to wait; the kernel tells of its end up to half a second later
     * @throws ConnectionException if nobody answers for the address
     * @throws VerbsTimeoutException if the kernel did not tell
     * @throws InterruptedException if the thread was interrupted
     */
    @CName("rdma_resolve_addr")
    public void resolveAddress(InetSocketAddress destination, Duration timeout) throws InterruptedException {
        resolveAddress(null, destination, timeout);
    }

    /**
     * Looks up the device for an address, from an own address ({@code rdma_resolve_addr}).
     *
     * @param source the own address, or null for any
     * @param destination the peer's address
     * @param timeout how long to wait; the kernel tells of its end up to half a second later
     * @throws ConnectionException if nobody answers for the address
     * @throws VerbsTimeoutException if the kernel did not tell
     * @throws InterruptedException if the thread was interrupted
     */
    @CName("rdma_resolve_addr")
    public void resolveAddress(@Nullable InetSocketAddress source, InetSocketAddress destination, Duration timeout)
            throws InterruptedException {
        beginResolveAddress(source, destination, timeout);
        step(RdmaCm.RESOLVE_ADDR, timeout.plus(GRACE), CmEventType.ADDRESS_RESOLVED);
    }

    /**
     * Starts to look up the way to the peer ({@code rdma_resolve_route}): ends with {@link CmEventType#ROUTE_RESOLVED}.
     *
     * @param timeout how long the kernel may take
     */
    @CName("rdma_resolve_route")
    public void beginResolveRoute(Duration timeout) {
        call(RdmaCm.RESOLVE_ROUTE, toString(), scratch -> RdmaCm.RESOLVE_ROUTE.call(address, milliseconds(timeout)));
    }

    /**
     * Looks up the way to the peer ({@code rdma_resolve_route}).
     *
     * @param timeout how long to wait; the kernel tells of its end up to half a second later
     * @throws ConnectionException if there is none
     * @throws VerbsTimeoutException if the kernel did not tell
     * @throws InterruptedException if the thread was interrupted
     */
    @CName("rdma_resolve_route")
    public void resolveRoute(Duration timeout) throws InterruptedException {
        beginResolveRoute(timeout);
        step(RdmaCm.RESOLVE_ROUTE, timeout.plus(GRACE), CmEventType.ROUTE_RESOLVED);
    }

    private static int milliseconds(Duration timeout) {
        return (int) Math.clamp(timeout.compareTo(Duration.ofDays(20)) > 0 ? Integer.MAX_VALUE : timeout.toMillis(),
                1L, Integer.MAX_VALUE);
    }

    /**
     * Starts to connect, or to look up a service for datagrams ({@code rdma_connect}): ends with
     * {@link CmEventType#ESTABLISHED}, or with {@link CmEventType#CONNECT_RESPONSE} when the queue pair is one's own.
     *
     * @param parameters what to offer
     */
    @CName("rdma_connect")
    public void beginConnect(ConnectionParameters parameters) {
        inbox.disconnected = false;
        call(RdmaCm.CONNECT, to(), scratch -> RdmaCm.CONNECT.call(address, parameters.write(scratch).address()));
    }

    /**
     * Connects the id's queue pair, and waits until the connection stands ({@code rdma_connect}).
     *
     * @param parameters what to offer
     * @param timeout how long to wait
     * @return what the peer has answered: {@link CmEvent.Connected}, or {@link CmEvent.DatagramReady} for datagrams
     * @throws IllegalStateException if it has no queue pair, and is not for datagrams
     * @throws ConnectionException if the peer has refused or does not answer
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName("rdma_connect")
    public CmEvent connect(ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        if (queuePair == null && !space.hasDatagrams()) {
            throw new IllegalStateException(this + " has no queue pair to connect: createQueuePair makes one");
        }
        beginConnect(parameters);
        return step(RdmaCm.CONNECT, timeout, CmEventType.ESTABLISHED);
    }

    /**
     * Connects one's own queue pair, and waits until the peer has accepted ({@code rdma_connect}, {@code rdma_establish}).
     *
     * @param own a queue pair of this device, in {@link QueuePairState#RESET} or {@link QueuePairState#INIT}
     * @param parameters what to offer
     * @param timeout how long to wait
     * @return what the peer has answered
     * @throws ConnectionException if the peer has refused or does not answer
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName({"rdma_connect", "rdma_establish", "rdma_init_qp_attr"})
    public CmEvent connect(QueuePair own, ConnectionParameters parameters, Duration timeout)
            throws InterruptedException {
        prepare(own);
        beginConnect(parameters.queuePair(own.number(), parameters.sharedReceives()));
        if (space.hasDatagrams()) {
            return step(RdmaCm.CONNECT, timeout, CmEventType.ESTABLISHED);
        }
        CmEvent response = step(RdmaCm.CONNECT, timeout, CmEventType.CONNECT_RESPONSE);
        bring(own, QueuePairState.RTR);
        bring(own, QueuePairState.RTS);
        establish();
        return response;
    }

    /** Receives can be posted from INIT on, and must be before the peer can send. */
    private void prepare(QueuePair own) {
        if (own.state() == QueuePairState.RESET) {
            bring(own, QueuePairState.INIT);
        }
    }

    /**
     * Changes the state of one's own queue pair, with the attributes that the connection manager has found
     * ({@code rdma_init_qp_attr}).
     *
     * @param own a queue pair of this device
     * @param to the state to go to
     */
    @CName("rdma_init_qp_attr")
    public void bring(QueuePair own, QueuePairState to) {
        own.modify(attributesFor(to));
    }

    /**
     * The attributes that the connection manager has found for a queue pair ({@code rdma_init_qp_attr}).
     *
     * @param to the state to go to
     * @return attributes for {@link QueuePair#modify}
     */
    @CName("rdma_init_qp_attr")
    public QueuePairAttributes attributesFor(QueuePairState to) {
        Cm.require(RdmaCm.INIT_QP_ATTR, toString());
        hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment attributes = scratch.allocate(ibv_qp_attr.layout());
            MemorySegment mask = scratch.allocate(ValueLayout.JAVA_INT);
            ibv_qp_attr.qp_state(attributes, to.code());
            String what = this + " to " + to; // before, since it calls C too, which changes errno
            Cm.check(RdmaCm.INIT_QP_ATTR, RdmaCm.INIT_QP_ATTR.call(address, attributes.address(), mask.address()), what);
            return VerbsFloor.attributes(attributes, mask.get(ValueLayout.JAVA_INT, 0));
        } finally {
            release();
        }
    }

    /**
     * Tells the peer that one's own queue pair is ready, after {@link CmEventType#CONNECT_RESPONSE}
     * ({@code rdma_establish}).
     */
    @CName("rdma_establish")
    public void establish() {
        Cm.require(RdmaCm.ESTABLISH, toString());
        call(RdmaCm.ESTABLISH, to(), scratch -> RdmaCm.ESTABLISH.call(address));
    }

    /**
     * Tells the connection manager of an asynchronous event of one's own queue pair ({@code rdma_notify}): of
     * {@link AsyncEventType#COMM_EST}, when a message came before the peer's last word.
     *
     * @param event what has happened
     */
    @CName("rdma_notify")
    public void tell(AsyncEventType event) {
        call(RdmaCm.NOTIFY, this + ", " + event, scratch -> RdmaCm.NOTIFY.call(address, event.code()));
    }

    // The end

    /**
     * Starts to end the connection ({@code rdma_disconnect}): what is posted is flushed, and both sides get
     * {@link CmEventType#DISCONNECTED}. Call it on both sides: it is also the answer.
     */
    @CName("rdma_disconnect")
    public void beginDisconnect() {
        call(RdmaCm.DISCONNECT, to(), scratch -> RdmaCm.DISCONNECT.call(address));
        QueuePair pair = queuePair;
        if (pair != null && pair.isOpen()) {
            VerbsFloor.changed(pair, QueuePairState.ERR);
        }
    }

    /**
     * Ends the connection, and waits until the peer knows, or is known to be gone ({@code rdma_disconnect}).
     *
     * @param timeout how long to wait
     * @throws VerbsTimeoutException if it is not clear in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName("rdma_disconnect")
    public void disconnect(Duration timeout) throws InterruptedException {
        beginDisconnect();
        if (!inbox.disconnected) {
            step(RdmaCm.DISCONNECT, timeout, CmEventType.DISCONNECTED);
        }
    }

    /**
     * Whether the connection has ended, as far as events were taken: by this side, by the peer, or because the peer's
     * process is gone.
     *
     * @return true after {@link CmEventType#DISCONNECTED}
     */
    public boolean isDisconnected() {
        pollNothing();
        return inbox.disconnected;
    }

    private void pollNothing() {
        checkOpen();
        channel.next(this, inbox, type -> false);
    }

    // What belongs to it

    /**
     * Makes a queue pair on this id, closed by this id's arena ({@code rdma_create_qp}).
     *
     * @param domain a protection domain of this id's {@link #context}
     * @param options for example {@code QueuePair.rc(cq)}
     * @return a new queue pair
     */
    @CName({"rdma_create_qp", "rdma_create_qp_ex", "rdma_destroy_qp"})
    public QueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options) {
        return createQueuePair(domain, options, arena());
    }

    /**
     * Makes a queue pair on this id ({@code rdma_create_qp}), in {@link QueuePairState#INIT}: receives can be posted. The
     * connection manager makes it ready when it connects or accepts; one for datagrams is ready at once.
     *
     * @param domain a protection domain of this id's {@link #context}
     * @param options for example {@code QueuePair.rc(cq)}
     * @param arena what will close it
     * @return a new queue pair
     * @throws IllegalStateException if the id has one already, or no device yet
     * @throws IllegalArgumentException if the domain belongs to another context
     */
    @CName({"rdma_create_qp", "rdma_create_qp_ex", "rdma_destroy_qp"})
    public synchronized QueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options, VerbsArena arena) {
        if (queuePair != null) {
            throw new IllegalStateException(this + " has a queue pair already: " + queuePair);
        }
        if (VerbsFloor.address(context()) != VerbsFloor.address(domain.context())) {
            throw new IllegalArgumentException("The " + domain + " was made in another context than this id's: the "
                    + "connection manager opens devices itself, see context()");
        }
        QueuePair made = VerbsFloor.queuePair(domain, options.port(devicePort()), arena,
                attributes -> callCreate(domain, attributes), this::callDestroy,
                options.type() == QueuePairType.UD ? QueuePairState.RTS : QueuePairState.INIT, this);
        queuePair = made;
        return made;
    }

    private long callCreate(ProtectionDomain domain, long attributes) {
        String what = toString(); // before, since it calls C too, which changes errno
        boolean plain = ibv_qp_init_attr_ex.comp_mask(MemorySegment.ofAddress(attributes)
                .reinterpret(ibv_qp_init_attr_ex.sizeof())) == rdma_h.IBV_QP_INIT_ATTR_PD();
        long result = plain ? RdmaCm.CREATE_QP.call(address, VerbsFloor.address(domain), attributes)
                : RdmaCm.CREATE_QP_EX.call(address, attributes);
        Cm.check(plain ? RdmaCm.CREATE_QP : RdmaCm.CREATE_QP_EX, result, what,
                CFunction.errno() == Errno.EINVAL ? "Does the device have queues of this size?" : "");
        return rdma_cm_id.qp(struct()).address();
    }

    private void callDestroy(long pair) {
        RdmaCm.DESTROY_QP.call(address);
        queuePair = null;
    }

    /**
     * Says which vendor options to offer ({@code rdma_set_local_ece}). Before it is connected or accepted.
     *
     * @param offer the options; the vendor's number is not 0
     */
    @CName("rdma_set_local_ece")
    public void offerEce(Ece offer) {
        Cm.require(RdmaCm.SET_LOCAL_ECE, toString());
        call(RdmaCm.SET_LOCAL_ECE, this + ", " + offer, scratch -> {
            MemorySegment memory = scratch.allocate(ibv_ece.layout());
            ibv_ece.vendor_id(memory, offer.vendorId());
            ibv_ece.options(memory, offer.options());
            return RdmaCm.SET_LOCAL_ECE.call(address, memory.address());
        });
    }

    /**
     * The vendor options that the peer offers ({@code rdma_get_remote_ece}), for an id whose queue pair is one's own.
     *
     * @return the options
     */
    @CName("rdma_get_remote_ece")
    public Ece peerEce() {
        Cm.require(RdmaCm.GET_REMOTE_ECE, toString());
        hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment memory = scratch.allocate(ibv_ece.layout());
            String what = toString(); // before, since it calls C too, which changes errno
            Cm.check(RdmaCm.GET_REMOTE_ECE, RdmaCm.GET_REMOTE_ECE.call(address, memory.address()), what);
            return new Ece(ibv_ece.vendor_id(memory), ibv_ece.options(memory));
        } finally {
            release();
        }
    }

    // Multicast

    /**
     * Joins a multicast group ({@code rdma_join_multicast_ex}). The id's address must be resolved or bound to a device, and
     * its queue pair made.
     *
     * @param group the group's address; the port does not matter
     * @param how whether to receive as well
     * @param timeout how long to wait
     * @return the membership, closed by this id's arena
     * @throws ConnectionException if it can't be joined
     * @throws VerbsTimeoutException if that is not clear in time: the group is left again
     * @throws InterruptedException if the thread was interrupted: the group is left again
     */
    @CName({"rdma_join_multicast", "rdma_join_multicast_ex", "rdma_leave_multicast"})
    public MulticastMembership join(InetSocketAddress group, JoinFlag how, Duration timeout) throws InterruptedException {
        call(RdmaCm.JOIN_MULTICAST_EX, group.toString(), scratch -> {
            MemorySegment join = scratch.allocate(rdma_cm_join_mc_attr_ex.layout());
            rdma_cm_join_mc_attr_ex.comp_mask(join,
                    rdma_h.RDMA_CM_JOIN_MC_ATTR_ADDRESS() | rdma_h.RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS());
            rdma_cm_join_mc_attr_ex.join_flags(join, how.code());
            rdma_cm_join_mc_attr_ex.addr(join, SocketAddresses.write(group, scratch));
            return RdmaCm.JOIN_MULTICAST_EX.call(address, join.address(), 0);
        });
        try {
            CmEvent joined = step(RdmaCm.JOIN_MULTICAST_EX, timeout, CmEventType.MULTICAST_JOIN);
            return MulticastMembership.of(
                    this, queuePair, group, ((CmEvent.DatagramReady) joined).target(), arena());
        } catch (Throwable t) {
            leave(group);
            throw t;
        }
    }

    private void leave(InetSocketAddress group) {
        if (isOpen()) {
            hold();
            try (Arena scratch = Arena.ofConfined()) {
                RdmaCm.LEAVE_MULTICAST.call(address, SocketAddresses.write(group, scratch).address());
            } finally {
                release();
            }
        }
    }
}
