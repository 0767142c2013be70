package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.RdmaCm;
import dev.verbena.internal.raw.ibv_ece;
import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.verbs.AsyncEventType;
import dev.verbena.verbs.Attribute;
import dev.verbena.verbs.Ece;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.access.VerbsAccess;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
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
public final class ConnectionId extends ConnectionGroups {
    /** The kernel keeps the time of a resolution itself, and tells with an event a little later. */
    private static final Duration GRACE = Duration.ofMillis(500);

    private final ReentrantLock moving = new ReentrantLock();

    /** Whether {@code rdma_create_ep} has made it. */
    private final boolean isEndpoint;

    private ConnectionId(ObjectLifetime lifetime, PortSpace space, long address, IdEvents inbox, boolean isEndpoint) {
        super(lifetime, space, address, inbox);
        this.isEndpoint = isEndpoint;
    }

    @Override
    ConnectionId self() {
        return this;
    }

    static ConnectionId make(EventChannel channel, PortSpace space, VerbsArena arena) {
        if (space == PortSpace.UNKNOWN) {
            throw new IllegalArgumentException("An id needs one of C's port spaces");
        }
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    try (Arena scratch = Arena.ofConfined()) {
                        MemorySegment made = scratch.allocate(ValueLayout.JAVA_LONG);
                        CmFailures.check(
                                RdmaCm.CREATE_ID,
                                RdmaCm.CREATE_ID.call(channel.address(), made.address(), 0, space.code()),
                                space.toString());
                        long address = made.get(ValueLayout.JAVA_LONG, 0);
                        return announced(
                                new ConnectionId(lifetime, space, address, new IdEvents(space, channel), false));
                    }
                },
                channel);
    }

    private static ConnectionId announced(ConnectionId id) {
        id.inbox.owner = id;
        id.inbox.channel.add(id.address, id.inbox);
        return id;
    }

    /** Has C make a synchronous id. */
    static BlockingCall<Long> lookUp(AddressInfo info) {
        return new BlockingCall<>(
                RdmaCm.CREATE_EP.name(),
                info.toString(),
                () -> {
                    try (Arena scratch = Arena.ofConfined()) {
                        MemorySegment made = scratch.allocate(ValueLayout.JAVA_LONG);
                        CmFailures.check(
                                RdmaCm.CREATE_EP,
                                RdmaCm.CREATE_EP.call(
                                        made.address(), info.write(scratch).address(), 0, 0),
                                info.toString());
                        return made.get(ValueLayout.JAVA_LONG, 0);
                    }
                },
                RdmaCm.DESTROY_EP::call);
    }

    /** Makes a synchronous id one of a channel; if that can't be, there is none. */
    static ConnectionId endpoint(EventChannel channel, AddressInfo info, long address, VerbsArena arena) {
        try {
            return ObjectLifetime.create(
                    arena,
                    lifetime -> {
                        ConnectionId id = announced(new ConnectionId(
                                lifetime, info.space(), address, new IdEvents(info.space(), channel), true));
                        try {
                            CmFailures.check(
                                    RdmaCm.MIGRATE_ID,
                                    RdmaCm.MIGRATE_ID.call(address, channel.address()),
                                    info.toString());
                        } catch (Throwable t) {
                            channel.remove(address, id.inbox);
                            throw t;
                        }
                        return id;
                    },
                    channel);
        } catch (Throwable t) {
            RdmaCm.DESTROY_EP.call(address);
            throw t;
        }
    }

    /** The id that came with a request. */
    static ConnectionId claim(EventChannel channel, RawEvent event, IdEvents inbox, VerbsArena arena) {
        return ObjectLifetime.create(
                arena, lifetime -> new ConnectionId(lifetime, inbox.space, event.id(), inbox, false), channel);
    }

    @CName({"rdma_destroy_id", "rdma_destroy_ep"})
    @Override
    void destroy() {
        inbox.waiters.wakeAll();
        closeOwnQueues();
        EventChannel channel = inbox.channel;
        channel.unclaimedOf(inbox).forEach(ConnectRequest::drop);
        if (isEndpoint) {
            RdmaCm.DESTROY_EP.call(address);
        } else {
            CmFailures.check(RdmaCm.DESTROY_ID, RdmaCm.DESTROY_ID.call(address), "");
        }
        channel.remove(address, inbox);
    }

    /**
     * Has its events reported to another channel from now on ({@code rdma_migrate_id}): for example to one of its own, for
     * an id that came with a request. What was reported and nobody has taken comes along, and a thread that waits for this
     * id goes on waiting. The channel that it leaves may be closed.
     *
     * <p>The new channel stays open as long as this id: what closes the channel must close the id too, or before.
     *
     * @param to where its events are reported then
     * @throws IllegalStateException if it listens, and was told of a request that nobody has claimed or rejected
     */
    @CName("rdma_migrate_id")
    public void migrate(EventChannel to) {
        moving.lock();
        try {
            lifetime.hold();
            try {
                if (to != inbox.channel) {
                    to.take(this, address, inbox);
                }
            } finally {
                lifetime.release();
            }
        } finally {
            moving.unlock();
        }
    }

    /** Its requests are for those who may use it. */
    void checkUsable() {
        lifetime.checkOpen();
    }

    /** It depends on its channel. */
    void changeChannel(EventChannel from, EventChannel to) {
        lifetime.changeParent(from, to);
    }

    /** C has made the queue pair ready. */
    void established() {
        QueuePair pair = queuePair;
        if (pair != null) {
            VerbsAccess.get().noteState(pair, QueuePairState.RTS);
        }
    }

    // The server's side

    /**
     * Gives it an address of its own ({@code rdma_bind_addr}).
     *
     * @param own the address; port 0 for any that is free
     * @throws VerbsException if this machine has no such address, or it is in use
     */
    @CName("rdma_bind_addr")
    public void bind(SocketAddress own) {
        call(
                RdmaCm.BIND_ADDR,
                own,
                scratch -> RdmaCm.BIND_ADDR.call(
                        address, SocketAddresses.write(own, scratch).address()));
    }

    /**
     * Listens for requests ({@code rdma_listen}).
     *
     * @param most how many requests may wait to be taken; more are refused
     */
    @CName("rdma_listen")
    public void listen(int most) {
        check("backlog", most, 1, Integer.MAX_VALUE);
        lifetime.checkOpen();
        String what = this + ", backlog " + most;
        int before = backlog;
        backlog = most; // a request may come at once
        try {
            call(RdmaCm.LISTEN, what, scratch -> RdmaCm.LISTEN.call(address, most));
        } catch (Throwable t) {
            backlog = before;
            throw t;
        }
    }

    /**
     * Waits for a request to connect: what {@code rdma_get_request} does, which blocks in C, and is not called.
     *
     * @param timeout how long to wait
     * @return the oldest request
     * @throws VerbsTimeoutException if none came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if it does not listen, or is closed, also while waiting
     */
    @CName("rdma_get_request")
    public ConnectRequest nextRequest(Duration timeout) throws InterruptedException {
        lifetime.checkOpen();
        if (backlog == 0) {
            throw new IllegalStateException(this + " does not listen");
        }
        CmEvent event = waitFor("rdma_get_request", timeout, "", type -> type == CmEventType.CONNECT_REQUEST);
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
        lifetime.checkOpen();
        QueuePair pair = queuePair;
        ConnectionParameters told = parameters;
        if (pair == null && parameters.queuePairNumber() == 0) {
            throw new IllegalStateException(this + " has no queue pair to accept with");
        } else if (pair != null) {
            told = parameters.queuePair(pair.number(), parameters.sharedReceives());
        }
        ConnectionParameters all = told;
        call(
                RdmaCm.ACCEPT,
                this,
                all.privateData(),
                scratch -> RdmaCm.ACCEPT.call(address, all.write(scratch).address()));
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
        if (!hasDatagrams()) {
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
        lifetime.checkOpen();
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
        call(
                RdmaCm.REJECT,
                this,
                why,
                scratch -> RdmaCm.REJECT.call(
                        address, ConnectionParameters.write(why, scratch).address(), why.size()));
    }

    /**
     * Refuses a request because of the peer's {@link Ece vendor options} ({@code rdma_reject_ece}).
     *
     * @param why bytes for the peer
     */
    @CName("rdma_reject_ece")
    public void rejectEce(PrivateData why) {
        CmFailures.require(RdmaCm.REJECT_ECE, toString());
        call(
                RdmaCm.REJECT_ECE,
                this,
                why,
                scratch -> RdmaCm.REJECT_ECE.call(
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
    public void beginResolveAddress(@Nullable SocketAddress source, SocketAddress destination, Duration timeout) {
        call(
                RdmaCm.RESOLVE_ADDR,
                destination,
                scratch -> RdmaCm.RESOLVE_ADDR.call(
                        address,
                        source == null
                                ? 0
                                : SocketAddresses.write(source, scratch).address(),
                        SocketAddresses.write(destination, scratch).address(),
                        milliseconds(timeout)));
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
    public void resolveAddress(SocketAddress destination, Duration timeout) throws InterruptedException {
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
    public void resolveAddress(@Nullable SocketAddress source, SocketAddress destination, Duration timeout)
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
        call(RdmaCm.RESOLVE_ROUTE, this, scratch -> RdmaCm.RESOLVE_ROUTE.call(address, milliseconds(timeout)));
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
        return (int) Math.clamp(
                timeout.compareTo(Duration.ofDays(20)) > 0 ? Integer.MAX_VALUE : timeout.toMillis(),
                1L,
                Integer.MAX_VALUE);
    }

    /**
     * Starts to connect, or to look up a service for datagrams ({@code rdma_connect}): ends with
     * {@link CmEventType#ESTABLISHED}, or with {@link CmEventType#CONNECT_RESPONSE} when the queue pair is one's own.
     * Over iWARP, where the kernel makes also that one ready, the end is always {@link CmEventType#ESTABLISHED}.
     *
     * @param parameters what to offer
     */
    @CName("rdma_connect")
    public void beginConnect(ConnectionParameters parameters) {
        lifetime.checkOpen();
        inbox.disconnected = false;
        call(
                RdmaCm.CONNECT,
                new Peer(this),
                parameters.privateData(),
                scratch ->
                        RdmaCm.CONNECT.call(address, parameters.write(scratch).address()));
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
        lifetime.checkOpen();
        if (queuePair == null && !hasDatagrams()) {
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
        lifetime.checkOpen();
        prepare(own);
        beginConnect(parameters.queuePair(own.number(), parameters.sharedReceives()));
        if (hasDatagrams()) {
            return step(RdmaCm.CONNECT, timeout, CmEventType.ESTABLISHED);
        }
        CmEvent response = step(RdmaCm.CONNECT, timeout, CmEventType.CONNECT_RESPONSE, CmEventType.ESTABLISHED);
        if (response.type() == CmEventType.ESTABLISHED) {
            VerbsAccess.get().noteState(own, QueuePairState.RTS); // over iWARP, where the kernel has made it ready
            return response;
        }
        prepare(own); // again: only now is known whether the peer may read
        bring(own, QueuePairState.RTR);
        bring(own, QueuePairState.RTS);
        establish();
        return response;
    }

    /**
     * Receives can be posted from INIT on, and must be before the peer can send. Only when the peer has spoken is known
     * what it may do here, such as to read: what is in INIT goes there again.
     */
    private void prepare(QueuePair own) {
        if (own.state() == QueuePairState.RESET || own.state() == QueuePairState.INIT) {
            bring(own, QueuePairState.INIT);
        }
    }

    /**
     * Changes the state of one's own queue pair, with the attributes that the connection manager has found
     * ({@code rdma_init_qp_attr}). Over iWARP {@link QueuePairState#RTS} is not among them, to which the kernel brings
     * it when it connects or accepts: then this takes note of it.
     *
     * @param own a queue pair of this device
     * @param to the state to go to
     */
    @CName("rdma_init_qp_attr")
    public void bring(QueuePair own, QueuePairState to) {
        lifetime.checkOpen();
        own.state(); // it must be open
        QueuePairAttributes attributes = attributesFor(to);
        own.modify(attributes);
        if (!attributes.mask().contains(Attribute.STATE)) {
            VerbsAccess.get().noteState(own, to);
        }
    }

    /**
     * The attributes that the connection manager has found for a queue pair ({@code rdma_init_qp_attr}).
     *
     * @param to the state to go to
     * @return attributes for {@link QueuePair#modify}
     */
    @CName("rdma_init_qp_attr")
    public QueuePairAttributes attributesFor(QueuePairState to) {
        CmFailures.require(RdmaCm.INIT_QP_ATTR, toString());
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment attributes = scratch.allocate(ibv_qp_attr.layout());
            MemorySegment mask = scratch.allocate(ValueLayout.JAVA_INT);
            ibv_qp_attr.qp_state(attributes, to.code());
            String what = this + " to " + to; // before, since it calls C too, which changes errno
            CmFailures.check(
                    RdmaCm.INIT_QP_ATTR, RdmaCm.INIT_QP_ATTR.call(address, attributes.address(), mask.address()), what);
            return VerbsAccess.get().readAttributes(attributes, mask.get(ValueLayout.JAVA_INT, 0));
        } finally {
            lifetime.release();
        }
    }

    /**
     * Tells the peer that one's own queue pair is ready, after {@link CmEventType#CONNECT_RESPONSE}
     * ({@code rdma_establish}).
     */
    @CName("rdma_establish")
    public void establish() {
        CmFailures.require(RdmaCm.ESTABLISH, toString());
        call(RdmaCm.ESTABLISH, new Peer(this), scratch -> RdmaCm.ESTABLISH.call(address));
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
        call(RdmaCm.DISCONNECT, new Peer(this), scratch -> RdmaCm.DISCONNECT.call(address));
        QueuePair pair = queuePair;
        if (pair != null && pair.isOpen()) {
            VerbsAccess.get().noteState(pair, QueuePairState.ERR);
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
        lifetime.checkOpen();
        take(type -> false);
    }

    // Vendor options

    /**
     * Says which vendor options to offer ({@code rdma_set_local_ece}). Before it is connected or accepted.
     *
     * @param offer the options; the vendor's number is not 0
     */
    @CName("rdma_set_local_ece")
    public void offerEce(Ece offer) {
        CmFailures.require(RdmaCm.SET_LOCAL_ECE, toString());
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
        CmFailures.require(RdmaCm.GET_REMOTE_ECE, toString());
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment memory = scratch.allocate(ibv_ece.layout());
            String what = toString(); // before, since it calls C too, which changes errno
            CmFailures.check(RdmaCm.GET_REMOTE_ECE, RdmaCm.GET_REMOTE_ECE.call(address, memory.address()), what);
            return new Ece(ibv_ece.vendor_id(memory), ibv_ece.options(memory));
        } finally {
            lifetime.release();
        }
    }

    // What is newer than rdma-core 44

    /**
     * Looks up where a service is, for this id and through its channel ({@code rdma_resolve_addrinfo},
     * {@code rdma_query_addrinfo}).
     *
     * @param node a numeric address, since C would look a name up while everybody waits; null for what the hints name
     * @param service the port's number; null for what the hints name
     * @param hints with {@link AddressFlag#NAME} or {@link AddressFlag#SUBNET_ADMINISTRATOR}
     * @param timeout how long to wait
     * @return what was found
     * @throws dev.verbena.UnsupportedVerbException if rdma-core is older than 60, or the kernel than 6.17
     * @throws IllegalArgumentException if the node is a name
     * @throws ConnectionException if there is no such service
     * @throws VerbsTimeoutException if it was not clear in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName({"rdma_resolve_addrinfo", "rdma_query_addrinfo"})
    public List<AddressInfo> resolveAddressInfo(
            @Nullable String node, @Nullable String service, AddressInfo hints, Duration timeout)
            throws InterruptedException {
        lifetime.checkOpen();
        CmFailures.require(RdmaCm.RESOLVE_ADDRINFO, toString());
        if (node != null) {
            InetAddress.ofLiteral(node);
        }
        call(
                RdmaCm.RESOLVE_ADDRINFO,
                this + ", " + hints,
                scratch -> RdmaCm.RESOLVE_ADDRINFO.call(
                        address,
                        AddressInfo.text(node, scratch),
                        AddressInfo.text(service, scratch),
                        hints.write(scratch).address()));
        step(RdmaCm.RESOLVE_ADDRINFO, timeout, CmEventType.ADDRESS_INFO_RESOLVED);
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment found = scratch.allocate(ValueLayout.JAVA_LONG);
            String what = toString(); // before, since it calls C too, which changes errno
            CmFailures.check(RdmaCm.QUERY_ADDRINFO, RdmaCm.QUERY_ADDRINFO.call(address, found.address()), what);
            long first = found.get(ValueLayout.JAVA_LONG, 0);
            try {
                return AddressInfo.list(first);
            } finally {
                RdmaCm.FREEADDRINFO.call(first);
            }
        } finally {
            lifetime.release();
        }
    }

    /**
     * Reports an event of one's own to this id's channel ({@code rdma_write_cm_event}): who waits there gets a
     * {@link CmEvent.User}.
     *
     * @param status the event's status
     * @param argument anything
     * @throws dev.verbena.UnsupportedVerbException if rdma-core is older than 60
     * @throws VerbsException if the kernel is older than 6.17
     */
    @CName("rdma_write_cm_event")
    public void post(int status, long argument) {
        lifetime.checkOpen();
        CmFailures.require(RdmaCm.WRITE_CM_EVENT, toString());
        call(
                RdmaCm.WRITE_CM_EVENT,
                this,
                scratch -> RdmaCm.WRITE_CM_EVENT.call(address, CmEventType.USER.code(), status, argument));
    }
}
