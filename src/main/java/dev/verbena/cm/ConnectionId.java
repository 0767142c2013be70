package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Checks;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.DescriptorWaits;
import dev.verbena.internal.Errno;
import dev.verbena.internal.StackRoom;
import dev.verbena.internal.WireTime;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_ece;
import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.Attribute;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Ece;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.SharedReceiveQueueOptions;
import dev.verbena.verbs.access.VerbsAccess;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An end of a connection, or a listener ({@code struct rdma_cm_id}): the counterpart of a TCP socket.
 *
 * <p>Each step comes in two forms. {@code beginConnect} only starts the step, as the C function does, and an event reports
 * its end. {@code connect} waits for the end. Each step that waits has a deadline of its own: its timeout is that of the step.
 * It throws as soon as an event reports a failure, when the thread is interrupted, and when the id is closed.
 *
 * <p>An id of a shared arena can be used by many threads at once. An id of a confined arena can be used by the arena's
 * thread only.
 *
 * {@snippet file="ConnectionSnippets.java" region="id"}
 */
public final class ConnectionId extends VerbsObject {
    /** The kernel measures the time of a resolution itself, and reports the end a little later. */
    private static final Duration GRACE = Duration.ofMillis(500);

    /** The number of bytes that all transports send with an answer. The kernel forgets the peer after a longer answer. */
    private static final int ACCEPT_DATA = 196;

    /** The same for a rejection. */
    private static final int REJECT_DATA = 148;

    private final CmId id;
    private final IdQueues queues;

    /** True if {@code rdma_create_ep} made the id. */
    private final boolean isEndpoint;

    ConnectionId(ObjectLifetime lifetime, long address, IdEvents events, boolean isEndpoint) {
        super(lifetime);
        this.isEndpoint = isEndpoint;
        id = new CmId(lifetime, address, events);
        queues = new IdQueues(this, id);
        lifetime.destroyedBy(this::destroy);
    }

    @CName({"rdma_destroy_id", "rdma_destroy_ep"})
    private void destroy() {
        id.events.waiters.wakeAll();
        queues.closeOwn();
        EventChannel channel = id.events.channel;
        // From now on, requests are refused when they are taken from C. Those that were taken before are dropped.
        channel.happen(id.events, IdEvents.Life.Event.CLOSE);
        channel.unclaimedOf(id.events).forEach(ConnectRequest::drop);
        try {
            destroyInC();
        } catch (Throwable t) {
            channel.happen(id.events, IdEvents.Life.Event.REFUSED);
            throw t;
        }
        id.lifetime.noteDestroyed();
        channel.remove(id.address, id.events);
        Runnable atEnd = id.events.atEnd;
        if (atEnd != null) {
            atEnd.run();
        }
    }

    private void destroyInC() {
        if (isEndpoint) {
            RdmaCm.DESTROY_EP.call(id.address);
        } else {
            CmFailures.run(RdmaCm.DESTROY_ID, "", id.address);
        }
    }

    /** Throws if this id is closed or confined to another thread. */
    void checkUsable() {
        id.lifetime.checkOpen();
    }

    /** Notes that C has made the queue pair ready. */
    void established() {
        QueuePair pair = queues.queuePair();
        if (pair != null) {
            VerbsAccess.get().noteState(pair, QueuePairState.RTS);
        }
    }

    /** Notes that the queue pair has gone to {@link QueuePairState#ERR}. */
    void failed() {
        QueuePair pair = queues.queuePair();
        if (pair != null && pair.isOpen()) {
            VerbsAccess.get().noteState(pair, QueuePairState.ERR);
        }
    }

    /**
     * Sets the function to call when the connection ends, and has its end looked for from now on. The queue pair fails then,
     * so that posted requests end. The function does not wait.
     */
    void atEnd(Runnable function) {
        id.events.atEnd = function;
        id.events.channel.reader().watchEnds();
    }

    /** Returns the waits for events of the channel, which changes when the id moves. */
    DescriptorWaits waits() {
        return id.events.channel.reader().waits();
    }

    /** Returns the event that has ended the connection; null while there is none. */
    IdEvents.@Nullable End end() {
        return id.events.end;
    }

    // Identity

    /**
     * Returns the channel that this id's events are reported to.
     *
     * @return the channel
     */
    public EventChannel channel() {
        id.lifetime.checkOpen();
        return id.events.channel;
    }

    /**
     * Returns the port space that this id was made in.
     *
     * @return the port space
     */
    public PortSpace portSpace() {
        id.lifetime.checkOpen();
        return id.events.space;
    }

    /**
     * Returns the context of this id's device, as the connection manager has opened it ({@code id->verbs}). Make the
     * objects that this id's queue pair needs in this context.
     *
     * <p>All ids of a channel that are on one device have the same context. Ids of another channel have another Java object
     * for the same context of C: objects made in one can be used with ids of the other. The
     * {@linkplain Context#events events} of a context are those of the objects made in it, of the device and of the ports.
     *
     * @return the context, closed by the arena of the channel
     * @throws IllegalStateException if this id has no device yet: resolve an address, or bind the id to a device's address
     */
    public Context context() {
        return id.context();
    }

    /**
     * Returns true if this id has a device, and so a {@link #context}.
     *
     * @return true once an address was resolved, or this id was bound to a device's address
     */
    public boolean hasDevice() {
        return id.hasDevice();
    }

    /**
     * Returns the number of the device's port ({@code id->port_num}).
     *
     * @return the number, from 1; 0 if this id has no device yet
     */
    public int devicePort() {
        return id.devicePort();
    }

    /**
     * Returns this id's own address and port ({@code rdma_get_local_addr}, {@code rdma_get_src_port}).
     *
     * @return the address; empty if this id has no IP address yet
     */
    @CName({"rdma_get_local_addr", "rdma_get_src_port"})
    public Optional<InetSocketAddress> localAddress() {
        return id.localAddress();
    }

    /**
     * Returns the peer's address and port ({@code rdma_get_peer_addr}, {@code rdma_get_dst_port}).
     *
     * @return the address; empty if the peer has no IP address
     */
    @CName({"rdma_get_peer_addr", "rdma_get_dst_port"})
    public Optional<InetSocketAddress> peerAddress() {
        return id.peerAddress();
    }

    /**
     * Returns this id's own InfiniBand address ({@code rdma_get_local_addr}).
     *
     * @return the address; empty if this id has no InfiniBand address
     */
    @CName("rdma_get_local_addr")
    public Optional<IbAddress> localIbAddress() {
        return id.localIbAddress();
    }

    /**
     * Returns the peer's InfiniBand address ({@code rdma_get_peer_addr}).
     *
     * @return the address; empty if the peer has no InfiniBand address
     */
    @CName("rdma_get_peer_addr")
    public Optional<IbAddress> peerIbAddress() {
        return id.peerIbAddress();
    }

    /** Returns for example {@code TCP id 10.9.9.1:39551 to 10.9.9.1:7174}. */
    @Override
    public String toString() {
        return id.toString();
    }

    // Options

    /**
     * Sets the type of service, and so the traffic class ({@code RDMA_OPTION_ID_TOS}). Call this before the route is
     * resolved.
     *
     * @param value 8 bits
     */
    @CName("rdma_set_option")
    public void typeOfService(int value) {
        Checks.checkRange("type of service", value, 255);
        setOption(rdma_h.RDMA_OPTION_ID_TOS, value, 1, "type of service " + value);
    }

    /**
     * Allows or forbids binding to an address that an ended connection still uses ({@code RDMA_OPTION_ID_REUSEADDR}). Call
     * this before the id is bound.
     *
     * @param on true to allow it
     */
    @CName("rdma_set_option")
    public void reuseAddress(boolean on) {
        setOption(rdma_h.RDMA_OPTION_ID_REUSEADDR, on ? 1 : 0, Integer.BYTES, "reuse address " + on);
    }

    /**
     * Sets whether an id that listens on all IPv6 addresses leaves out those of IPv4 ({@code RDMA_OPTION_ID_AFONLY}). Call
     * this before the id is bound.
     *
     * @param on true to leave out IPv4
     */
    @CName("rdma_set_option")
    public void addressFamilyOnly(boolean on) {
        setOption(rdma_h.RDMA_OPTION_ID_AFONLY, on ? 1 : 0, Integer.BYTES, "address family only " + on);
    }

    /**
     * Sets how long a queue pair waits for an acknowledgement ({@code RDMA_OPTION_ID_ACK_TIMEOUT}). The time is rounded up
     * to 4.096 µs times the next power of two. Call this before the id is connected.
     *
     * @param timeout more than 0 and at most 8796 s, or {@code ChronoUnit.FOREVER.getDuration()} for no limit
     * @throws IllegalArgumentException if the timeout is out of range
     */
    @CName("rdma_set_option")
    public void ackTimeout(Duration timeout) {
        ackTimeoutCode(WireTime.acknowledgementCode(timeout));
    }

    /**
     * Sets how long a queue pair waits for an acknowledgement, as the code of the wire
     * ({@code RDMA_OPTION_ID_ACK_TIMEOUT}). Call this before the id is connected.
     *
     * @param code 0 to 31: the time is 4.096 µs times 2 to the power of the code, and code 0 is no limit
     */
    @CName("rdma_set_option")
    public void ackTimeoutCode(int code) {
        WireTime.checkCode("acknowledgement timeout code", code);
        setOption(rdma_h.RDMA_OPTION_ID_ACK_TIMEOUT, code, 1, "acknowledgement timeout code " + code);
    }

    private void setOption(int option, int value, int size, String text) {
        id.call(RdmaCm.SET_OPTION, id + ", " + text, scratch -> {
            MemorySegment memory = scratch.allocateFrom(ValueLayout.JAVA_INT, value);
            if (size == 1) {
                memory.set(ValueLayout.JAVA_BYTE, 0, (byte) value);
            }
            return new long[] {rdma_h.RDMA_OPTION_ID, option, memory.address(), size};
        });
    }

    // Events

    /**
     * Takes this id's next event, if there is one.
     *
     * @return the event, acknowledged already, or null if there is none
     */
    public @Nullable CmEvent pollEvent() {
        id.lifetime.checkOpen();
        return id.events.take(type -> true);
    }

    /**
     * Waits for this id's next event, and takes it.
     *
     * @param timeout the longest time to wait
     * @return the event, acknowledged already
     * @throws VerbsTimeoutException if no event came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the id is closed, also while waiting
     */
    public CmEvent awaitEvent(Duration timeout) throws InterruptedException {
        StackRoom.forLinking();
        return id.events.await(RdmaCm.GET_CM_EVENT.name(), timeout, "", type -> true);
    }

    /**
     * Moves this id to another channel, which reports its events from then on ({@code rdma_migrate_id}). An id that came
     * with a request can get a channel of its own in this way. Events that no thread has taken come along. Threads that wait
     * for this id keep waiting. The channel that the id leaves may be closed.
     *
     * <p>The new channel stays open as long as this id: close the id before the channel, or with it. Other calls of C with
     * this id wait until the id has moved, and so do arenas of the id and the channels that close meanwhile.
     *
     * @param to the channel to report events to
     * @throws IllegalStateException if this id listens and has requests that were neither claimed nor rejected
     */
    @CName("rdma_migrate_id")
    public void migrate(EventChannel to) {
        id.lifetime.checkOpen();
        IdFactory.checkMakesIn(to, arena());
        try (var _ = id.inC.held()) {
            EventChannel from = id.events.channel;
            if (to != from) {
                id.lifetime.move(from, to, () -> to.take(id.address, id.events));
                to.takeEventsOf(id.events);
            }
        }
    }

    // The queue pair and its queues

    /**
     * Returns the protection domain that the connection manager has made for this id's device ({@code id->pd}). All ids of a
     * process that are on one device share it.
     *
     * @return the domain, closed by the arena of the channel: C keeps it as long as it is needed
     * @throws IllegalStateException if this id has no device yet
     */
    public ProtectionDomain protectionDomain() {
        return queues.domain();
    }

    /**
     * Registers memory in the {@linkplain #protectionDomain id's own domain} ({@code rdma_reg_msgs}, {@code rdma_reg_read},
     * {@code rdma_reg_write}). This id's arena closes the memory region.
     *
     * @param memory a native segment that outlives the registration
     * @param access {@link AccessFlag#LOCAL_WRITE} for messages, with {@link AccessFlag#REMOTE_READ} or
     *     {@link AccessFlag#REMOTE_WRITE} for memory that the peer reads or writes
     * @return the memory region
     */
    @CName({"rdma_reg_msgs", "rdma_reg_read", "rdma_reg_write"})
    public MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        return protectionDomain().register(memory, List.of(access), arena());
    }

    /**
     * Returns this id's queue pair, if one was made on it.
     *
     * @return the queue pair of {@link #createQueuePair}
     */
    public Optional<QueuePair> queuePair() {
        id.lifetime.checkOpen();
        return Optional.ofNullable(queues.queuePair());
    }

    /**
     * Returns the completion queue of sends ({@code id->send_cq}), if it was made together with the queue pair.
     *
     * @return the completion queue of {@link #createQueuePair(QueueCapabilities)}
     */
    @CName("rdma_get_send_comp")
    public Optional<CompletionQueue> sendCompletionQueue() {
        id.lifetime.checkOpen();
        return Optional.ofNullable(queues.sends());
    }

    /**
     * Returns the completion queue of receives ({@code id->recv_cq}), if it was made together with the queue pair.
     *
     * @return the completion queue of {@link #createQueuePair(QueueCapabilities)}
     */
    @CName("rdma_get_recv_comp")
    public Optional<CompletionQueue> receiveCompletionQueue() {
        id.lifetime.checkOpen();
        return Optional.ofNullable(queues.receives());
    }

    /**
     * Creates a queue pair and all the objects that it needs, closed by this id's arena ({@code rdma_create_qp} without a
     * domain and completion queues).
     *
     * @param sizes the sizes of its queues
     * @return a new queue pair
     * @throws IllegalStateException if this id has a queue pair already, or no device yet
     */
    @CName({"rdma_create_qp", "rdma_create_qp_ex", "rdma_destroy_qp"})
    public QueuePair createQueuePair(QueueCapabilities sizes) {
        return createQueuePair(sizes, arena());
    }

    /**
     * Creates a queue pair and all the objects that it needs ({@code rdma_create_qp} without a domain and completion
     * queues): in the {@linkplain #protectionDomain id's own domain}, with
     * {@linkplain #sendCompletionQueue one completion queue for sends} and
     * {@linkplain #receiveCompletionQueue one for receives}. A program can wait for completions of both.
     *
     * <p>In the id's arena, the completion queues close with the id, and may be read as long as the id is open. In another
     * arena, they close with that arena.
     *
     * @param sizes the sizes of its queues
     * @param arena the arena that closes the queue pair and the completion queues
     * @return a new queue pair
     * @throws IllegalStateException if this id has a queue pair already, or no device yet
     */
    @CName({"rdma_create_qp", "rdma_create_qp_ex", "rdma_destroy_qp"})
    public QueuePair createQueuePair(QueueCapabilities sizes, VerbsArena arena) {
        return queues.createQueuePair(sizes, arena);
    }

    /**
     * Creates a queue pair on this id, closed by this id's arena ({@code rdma_create_qp}).
     *
     * @param domain a protection domain of this id's {@link #context}
     * @param options for example {@code QueuePair.rc(cq)}
     * @return a new queue pair
     * @throws IllegalStateException if this id has a queue pair already, or no device yet
     * @throws IllegalArgumentException if the domain belongs to another context
     */
    @CName({"rdma_create_qp", "rdma_create_qp_ex", "rdma_destroy_qp"})
    public QueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options) {
        return createQueuePair(domain, options, arena());
    }

    /**
     * Creates a queue pair on this id ({@code rdma_create_qp}), in {@link QueuePairState#INIT}: receives can be posted. The
     * connection manager makes it ready when it connects or accepts; a queue pair for datagrams is ready at once. If the id
     * has a {@linkplain #createSharedReceiveQueue shared receive queue}, the queue pair takes its receives from there.
     *
     * @param domain a protection domain of this id's {@link #context}
     * @param options for example {@code QueuePair.rc(cq)}
     * @param arena the arena that closes the queue pair
     * @return a new queue pair
     * @throws IllegalStateException if this id has a queue pair already, or no device yet
     * @throws IllegalArgumentException if the domain belongs to another context
     */
    @CName({"rdma_create_qp", "rdma_create_qp_ex", "rdma_destroy_qp"})
    public QueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options, VerbsArena arena) {
        return queues.createQueuePair(domain, options, arena);
    }

    /**
     * Returns this id's shared receive queue, if one was made on it.
     *
     * @return the queue of {@link #createSharedReceiveQueue}
     */
    public Optional<SharedReceiveQueue> sharedReceiveQueue() {
        id.lifetime.checkOpen();
        return Optional.ofNullable(queues.sharedReceiveQueue());
    }

    /**
     * Creates a shared receive queue on this id, closed by this id's arena ({@code rdma_create_srq}).
     *
     * @param domain a protection domain of this id's {@link #context}
     * @param options for example {@code SharedReceiveQueue.basic()}
     * @return a new shared receive queue
     * @throws IllegalStateException if this id has a shared receive queue already, or no device yet
     * @throws IllegalArgumentException if the domain belongs to another context
     */
    @CName({"rdma_create_srq", "rdma_create_srq_ex", "rdma_destroy_srq"})
    public SharedReceiveQueue createSharedReceiveQueue(ProtectionDomain domain, SharedReceiveQueueOptions options) {
        return createSharedReceiveQueue(domain, options, arena());
    }

    /**
     * Creates a shared receive queue on this id ({@code rdma_create_srq}). A queue pair that is made afterwards takes its
     * receives from there, and so do queue pairs of other ids that name the queue.
     *
     * @param domain a protection domain of this id's {@link #context}
     * @param options for example {@code SharedReceiveQueue.basic()}
     * @param arena the arena that closes the queue
     * @return a new shared receive queue
     * @throws IllegalStateException if this id has a shared receive queue already, or no device yet
     * @throws IllegalArgumentException if the domain belongs to another context
     */
    @CName({"rdma_create_srq", "rdma_create_srq_ex", "rdma_destroy_srq"})
    public SharedReceiveQueue createSharedReceiveQueue(
            ProtectionDomain domain, SharedReceiveQueueOptions options, VerbsArena arena) {
        return queues.createSharedReceiveQueue(domain, options, arena);
    }

    // Multicast groups

    /**
     * Joins a multicast group to send and to receive ({@code rdma_join_multicast}), until this id's arena closes. The id's
     * address must be resolved or bound to a device, and its queue pair made.
     *
     * @param group the group's address; the port does not matter
     * @param timeout the longest time to wait
     * @return the membership, closed by this id's arena
     * @throws ConnectionException if the group can't be joined
     * @throws VerbsTimeoutException if the outcome is not known in time: the id leaves the group again
     * @throws InterruptedException if the thread was interrupted: the id leaves the group again
     */
    @CName({"rdma_join_multicast", "rdma_leave_multicast"})
    public MulticastMembership join(SocketAddress group, Duration timeout) throws InterruptedException {
        return join(group, timeout, arena());
    }

    /**
     * Joins a multicast group to send and to receive ({@code rdma_join_multicast}). The id's address must be resolved or
     * bound to a device, and its queue pair made.
     *
     * @param group the group's address; the port does not matter
     * @param timeout the longest time to wait
     * @param arena the arena that leaves the group when it closes
     * @return the membership
     * @throws ConnectionException if the group can't be joined
     * @throws VerbsTimeoutException if the outcome is not known in time: the id leaves the group again
     * @throws InterruptedException if the thread was interrupted: the id leaves the group again
     */
    @CName({"rdma_join_multicast", "rdma_leave_multicast"})
    public MulticastMembership join(SocketAddress group, Duration timeout, VerbsArena arena)
            throws InterruptedException {
        return MulticastMembership.join(this, id, queues, group, null, timeout, arena);
    }

    /**
     * Joins a multicast group, closed by this id's arena ({@code rdma_join_multicast_ex}). The id's address must be resolved
     * or bound to a device, and its queue pair made.
     *
     * @param group the group's address; the port does not matter
     * @param how whether to receive as well
     * @param timeout the longest time to wait
     * @return the membership, closed by this id's arena
     * @throws ConnectionException if the group can't be joined
     * @throws VerbsTimeoutException if the outcome is not known in time: the id leaves the group again
     * @throws InterruptedException if the thread was interrupted: the id leaves the group again
     */
    @CName({"rdma_join_multicast_ex", "rdma_leave_multicast"})
    public MulticastMembership join(SocketAddress group, MulticastMembership.Kind how, Duration timeout)
            throws InterruptedException {
        return join(group, how, timeout, arena());
    }

    /**
     * Joins a multicast group ({@code rdma_join_multicast_ex}). The id's address must be resolved or bound to a device, and
     * its queue pair made.
     *
     * @param group the group's address; the port does not matter
     * @param how whether to receive as well
     * @param timeout the longest time to wait
     * @param arena the arena that leaves the group when it closes
     * @return the membership
     * @throws ConnectionException if the group can't be joined
     * @throws VerbsTimeoutException if the outcome is not known in time: the id leaves the group again
     * @throws InterruptedException if the thread was interrupted: the id leaves the group again
     */
    @CName({"rdma_join_multicast_ex", "rdma_leave_multicast"})
    public MulticastMembership join(
            SocketAddress group, MulticastMembership.Kind how, Duration timeout, VerbsArena arena)
            throws InterruptedException {
        Objects.requireNonNull(how, "how");
        return MulticastMembership.join(this, id, queues, group, how, timeout, arena);
    }

    // The server's side

    /**
     * Binds this id to an address of this machine ({@code rdma_bind_addr}).
     *
     * @param own the address; port 0 for any free port
     * @throws VerbsException if this machine does not have the address, or another id uses it
     */
    @CName("rdma_bind_addr")
    public void bind(SocketAddress own) {
        id.call(RdmaCm.BIND_ADDR, own, scratch -> CmId.values(SocketAddresses.write(own, scratch)));
        id.noteDevice();
    }

    /**
     * Listens for requests to connect ({@code rdma_listen}).
     *
     * @param backlog the number of requests that may wait to be taken; further requests are refused
     */
    @CName("rdma_listen")
    public void listen(int backlog) {
        Checks.checkRange("backlog", backlog, 1, Integer.MAX_VALUE);
        id.lifetime.checkOpen();
        String arguments = this + ", backlog " + backlog;
        int before = id.events.backlog;
        id.events.backlog = backlog; // before the call: a request may come at once
        try {
            id.call(RdmaCm.LISTEN, arguments, backlog);
        } catch (Throwable t) {
            id.events.backlog = before;
            throw t;
        }
    }

    /**
     * Takes the oldest request to connect, if there is one ({@code rdma_get_request}).
     *
     * @return the oldest request, or null if none waits
     * @throws IllegalStateException if this id does not listen, or is closed
     */
    @CName("rdma_get_request")
    public @Nullable ConnectRequest pollRequest() {
        checkListens();
        CmEvent event = id.events.take(ConnectionId::isRequest);
        return event == null ? null : requestOf(event);
    }

    /**
     * Waits for a request to connect, and takes it. {@code rdma_get_request} does the same, but blocks in C, and so is not
     * called.
     *
     * @param timeout the longest time to wait
     * @return the oldest request
     * @throws ConnectionException if no request waits, and the device of this id was removed, also while waiting
     * @throws VerbsTimeoutException if no request came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if this id does not listen, or is closed, also while waiting
     */
    @CName("rdma_get_request")
    public ConnectRequest awaitRequest(Duration timeout) throws InterruptedException {
        checkListens();
        return requestOf(id.events.awaitUntilRemoval("rdma_get_request", timeout, ConnectionId::isRequest));
    }

    private void checkListens() {
        id.lifetime.checkOpen();
        if (id.events.backlog == 0) {
            throw new IllegalStateException(this + " does not listen");
        }
    }

    private static boolean isRequest(CmEvent.Type type) {
        return type == CmEvent.Type.CONNECT_REQUEST;
    }

    private static ConnectRequest requestOf(CmEvent event) {
        return ((CmEvent.Request) event).request();
    }

    /**
     * Starts accepting ({@code rdma_accept}): makes the queue pair ready, and informs the peer.
     * {@link CmEvent.Type#ESTABLISHED} reports that the connection is established, except for datagrams.
     *
     * @param parameters the parameters to offer
     * @throws IllegalStateException if neither the id nor the parameters have a queue pair
     */
    @CName("rdma_accept")
    public void beginAccept(ConnectionParameters parameters) {
        id.lifetime.checkOpen();
        QueuePair pair = queues.queuePair();
        if (pair == null && parameters.queuePairNumber() == 0) {
            throw new IllegalStateException(id + " has no queue pair to accept with");
        }
        ConnectionParameters all =
                pair == null ? parameters : parameters.queuePair(pair.number(), parameters.sharedReceives());
        try {
            id.call(RdmaCm.ACCEPT, id, all.privateData(), scratch -> CmId.values(all.write(scratch)));
        } catch (VerbsException refused) {
            throw all.privateData().size() > ACCEPT_DATA ? refused : id.explain(refused);
        }
        established();
    }

    /**
     * Accepts with the id's queue pair, and waits until the connection is established ({@code rdma_accept}). With datagrams
     * this does not wait.
     *
     * @param parameters the parameters to offer
     * @param timeout the longest time to wait
     * @throws ConnectionException if the peer has given up
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName("rdma_accept")
    public void accept(ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        requireArguments(parameters, timeout);
        beginAccept(parameters);
        if (!id.hasDatagrams()) {
            id.events.awaitEnd(RdmaCm.ACCEPT, timeout, CmEvent.Type.ESTABLISHED);
        }
    }

    /**
     * Accepts with a queue pair that was not made on this id, and waits until the connection is established
     * ({@code rdma_accept}).
     *
     * @param own a queue pair of this device, in {@link QueuePairState#RESET} or {@link QueuePairState#INIT}
     * @param parameters the parameters to offer
     * @param timeout the longest time to wait
     * @throws ConnectionException if the peer has given up
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName({"rdma_accept", "rdma_init_qp_attr"})
    public void accept(QueuePair own, ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        requireArguments(parameters, timeout);
        id.lifetime.checkOpen();
        try {
            prepare(own);
            if (own.type() != QueuePairType.UD) {
                bring(own, QueuePairState.RTR);
                bring(own, QueuePairState.RTS);
            }
        } catch (VerbsException refused) {
            throw id.explain(refused);
        }
        accept(parameters.queuePair(own.number(), parameters.sharedReceives()), timeout);
    }

    private static void requireArguments(ConnectionParameters parameters, Duration timeout) {
        Objects.requireNonNull(parameters, "parameters"); // before a state changes
        Objects.requireNonNull(timeout, "timeout");
    }

    /**
     * Brings a queue pair to INIT, also if it is there already. Receives can be posted from INIT on, and must be posted
     * before the peer can send. The peer's rights, such as to read, are known only once it has answered.
     */
    private void prepare(QueuePair own) {
        if (own.state() == QueuePairState.RESET || own.state() == QueuePairState.INIT) {
            bring(own, QueuePairState.INIT);
        }
    }

    /**
     * Rejects a request ({@code rdma_reject}).
     *
     * @param data bytes for the peer
     */
    @CName("rdma_reject")
    public void reject(PrivateData data) {
        try {
            callReject(RdmaCm.REJECT, data);
        } catch (VerbsException refused) {
            throw data.size() > REJECT_DATA ? refused : id.explain(refused);
        }
    }

    /**
     * Rejects a request because of the peer's {@link Ece vendor options} ({@code rdma_reject_ece}).
     *
     * @param data bytes for the peer
     */
    @CName("rdma_reject_ece")
    public void rejectEce(PrivateData data) {
        require(RdmaCm.REJECT_ECE);
        callReject(RdmaCm.REJECT_ECE, data);
    }

    private void callReject(CFunction function, PrivateData data) {
        id.call(function, id, data, scratch -> CmId.values(ConnectionParameters.write(data, scratch), data.size()));
    }

    /** Checks that the id is open and that the installed rdma-core has a function. */
    private void require(CFunction function) {
        id.lifetime.checkOpen();
        Failures.require(function, id.toString());
    }

    // The client's side

    /**
     * Starts to look up the device for an address ({@code rdma_resolve_addr}). {@link CmEvent.Type#ADDRESS_RESOLVED}
     * reports the end.
     *
     * @param source the own address, or null for any
     * @param destination the peer's address
     * @param timeout the longest time that the kernel may take
     */
    @CName("rdma_resolve_addr")
    public void beginResolveAddress(@Nullable SocketAddress source, SocketAddress destination, Duration timeout) {
        id.call(
                RdmaCm.RESOLVE_ADDR,
                destination,
                errno -> hint(errno, destination),
                scratch -> CmId.values(
                        source == null ? MemorySegment.NULL : SocketAddresses.write(source, scratch),
                        SocketAddresses.write(destination, scratch).address(),
                        milliseconds(timeout)));
    }

    private static String hint(int errno, SocketAddress destination) {
        if (errno != Errno.ENETUNREACH) {
            return "";
        }
        return destination instanceof InetSocketAddress ip
                        && ip.getAddress() != null
                        && ip.getAddress().isMulticastAddress()
                ? "No route of this machine leads to the group: bind the id to an address of a device first, or give "
                        + "resolveAddress the own address to send from"
                : "No route of this machine leads there: 'ip route get' shows the route to an address";
    }

    private static int milliseconds(Duration timeout) {
        return Math.clamp(Deadline.milliseconds(timeout), 1, Integer.MAX_VALUE);
    }

    /**
     * Looks up the device for an address ({@code rdma_resolve_addr}).
     *
     * @param destination the peer's address
     * @param timeout the longest time to wait; the kernel reports the end up to half a second later
     * @throws ConnectionException if no machine answers for the address
     * @throws VerbsTimeoutException if the kernel did not report the end
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
     * @param timeout the longest time to wait; the kernel reports the end up to half a second later
     * @throws ConnectionException if no machine answers for the address
     * @throws VerbsTimeoutException if the kernel did not report the end
     * @throws InterruptedException if the thread was interrupted
     */
    @CName("rdma_resolve_addr")
    public void resolveAddress(@Nullable SocketAddress source, SocketAddress destination, Duration timeout)
            throws InterruptedException {
        beginResolveAddress(source, destination, timeout);
        id.events.awaitEnd(
                RdmaCm.RESOLVE_ADDR,
                Deadline.sum(timeout, GRACE),
                errno -> hint(errno, destination),
                CmEvent.Type.ADDRESS_RESOLVED);
    }

    /**
     * Starts to look up the route to the peer ({@code rdma_resolve_route}). {@link CmEvent.Type#ROUTE_RESOLVED} reports
     * the end.
     *
     * @param timeout the longest time that the kernel may take
     */
    @CName("rdma_resolve_route")
    public void beginResolveRoute(Duration timeout) {
        id.call(RdmaCm.RESOLVE_ROUTE, id, milliseconds(timeout));
    }

    /**
     * Looks up the route to the peer ({@code rdma_resolve_route}).
     *
     * @param timeout the longest time to wait; the kernel reports the end up to half a second later
     * @throws ConnectionException if there is no route
     * @throws VerbsTimeoutException if the kernel did not report the end
     * @throws InterruptedException if the thread was interrupted
     */
    @CName("rdma_resolve_route")
    public void resolveRoute(Duration timeout) throws InterruptedException {
        beginResolveRoute(timeout);
        id.events.awaitEnd(RdmaCm.RESOLVE_ROUTE, Deadline.sum(timeout, GRACE), CmEvent.Type.ROUTE_RESOLVED);
    }

    /**
     * Starts to connect, or to look up a datagram service ({@code rdma_connect}).
     *
     * <p>{@link CmEvent.Type#ESTABLISHED} reports the end. With a queue pair that was not made on this id,
     * {@link CmEvent.Type#CONNECT_RESPONSE} does, except over iWARP, where the kernel makes that queue pair ready too.
     *
     * @param parameters the parameters to offer
     */
    @CName("rdma_connect")
    public void beginConnect(ConnectionParameters parameters) {
        PrivateData data = parameters.privateData();
        id.lifetime.checkOpen();
        boolean before = id.events.disconnected;
        id.events.disconnected = false; // before the call: the connection may end at once
        try {
            id.call(RdmaCm.CONNECT, id.toPeer(), data, scratch -> CmId.values(parameters.write(scratch)));
        } catch (Throwable t) {
            id.events.disconnected |= before;
            throw t;
        }
    }

    /**
     * Connects the id's queue pair, and waits until the connection is established ({@code rdma_connect}).
     *
     * @param parameters the parameters to offer
     * @param timeout the longest time to wait
     * @return the peer's answer: {@link CmEvent.Connected}, or {@link CmEvent.DatagramReady} for datagrams
     * @throws IllegalStateException if this id has no queue pair, and is not for datagrams
     * @throws ConnectionException if the peer rejects or does not answer
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName("rdma_connect")
    public CmEvent connect(ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        requireArguments(parameters, timeout);
        id.lifetime.checkOpen();
        if (queues.queuePair() == null && !id.hasDatagrams()) {
            throw new IllegalStateException(id + " has no queue pair to connect: createQueuePair makes one");
        }
        beginConnect(parameters);
        return id.events.awaitEnd(RdmaCm.CONNECT, timeout, CmEvent.Type.ESTABLISHED);
    }

    /**
     * Connects a queue pair that was not made on this id, and waits until the peer has accepted ({@code rdma_connect},
     * {@code rdma_establish}).
     *
     * @param own a queue pair of this device, in {@link QueuePairState#RESET} or {@link QueuePairState#INIT}
     * @param parameters the parameters to offer
     * @param timeout the longest time to wait
     * @return the peer's answer
     * @throws ConnectionException if the peer rejects or does not answer
     * @throws VerbsTimeoutException if the peer does not answer in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName({"rdma_connect", "rdma_establish", "rdma_init_qp_attr"})
    public CmEvent connect(QueuePair own, ConnectionParameters parameters, Duration timeout)
            throws InterruptedException {
        requireArguments(parameters, timeout);
        id.lifetime.checkOpen();
        prepare(own);
        beginConnect(parameters.queuePair(own.number(), parameters.sharedReceives()));
        if (id.hasDatagrams()) {
            return id.events.awaitEnd(RdmaCm.CONNECT, timeout, CmEvent.Type.ESTABLISHED);
        }
        CmEvent response =
                id.events.awaitEnd(RdmaCm.CONNECT, timeout, CmEvent.Type.CONNECT_RESPONSE, CmEvent.Type.ESTABLISHED);
        if (response.type() == CmEvent.Type.ESTABLISHED) {
            VerbsAccess.get().noteState(own, QueuePairState.RTS); // over iWARP, where the kernel makes it ready
            return response;
        }
        prepare(own); // again: only the response says whether the peer may read
        bring(own, QueuePairState.RTR);
        bring(own, QueuePairState.RTS);
        establish();
        return response;
    }

    /**
     * Changes the state of a queue pair that was not made on this id, with the attributes that the connection manager has
     * found ({@code rdma_init_qp_attr}). Over iWARP, the kernel brings the queue pair to {@link QueuePairState#RTS} when it
     * connects or accepts, and this method only notes that state.
     *
     * @param own a queue pair of this device
     * @param to the state to go to
     */
    @CName("rdma_init_qp_attr")
    public void bring(QueuePair own, QueuePairState to) {
        id.lifetime.checkOpen();
        own.state(); // throws if the queue pair is closed
        QueuePairAttributes attributes = attributesFor(to);
        own.modify(attributes);
        if (!attributes.mask().contains(Attribute.STATE)) {
            VerbsAccess.get().noteState(own, to);
        }
    }

    /**
     * Returns the attributes that the connection manager has found for a queue pair ({@code rdma_init_qp_attr}).
     *
     * @param to the state to go to
     * @return attributes for {@link QueuePair#modify}
     */
    @CName("rdma_init_qp_attr")
    public QueuePairAttributes attributesFor(QueuePairState to) {
        require(RdmaCm.INIT_QP_ATTR);
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment attributes = ibv_qp_attr.allocate(memory);
            MemorySegment mask = memory.allocate(ValueLayout.JAVA_INT);
            ibv_qp_attr.qp_state(attributes, to.code());
            id.call(RdmaCm.INIT_QP_ATTR, id + " to " + to, attributes.address(), mask.address());
            return VerbsAccess.get().readAttributes(attributes, mask.get(ValueLayout.JAVA_INT, 0));
        }
    }

    /**
     * Informs the peer that a queue pair that was not made on this id is ready ({@code rdma_establish}). Call this after
     * {@link CmEvent.Type#CONNECT_RESPONSE}.
     */
    @CName("rdma_establish")
    public void establish() {
        require(RdmaCm.ESTABLISH);
        id.call(RdmaCm.ESTABLISH, id.toPeer());
    }

    /**
     * Reports to the connection manager an asynchronous event of a queue pair that was not made on this id
     * ({@code rdma_notify}): of {@link AsyncEvent.Type#COMM_EST}, when a message came before the peer's last answer.
     *
     * @param event the type of the event
     */
    @CName("rdma_notify")
    public void report(AsyncEvent.Type event) {
        id.call(RdmaCm.NOTIFY, this + ", " + event, event.code());
    }

    // The end

    /**
     * Starts to end the connection ({@code rdma_disconnect}). Posted requests are flushed, and both sides get
     * {@link CmEvent.Type#DISCONNECTED}. Call this on both sides: it is also the answer to the peer's end.
     * Call this only after {@link CmEvent.Type#ESTABLISHED}: the kernel informs no peer of an earlier end, and the
     * peer's own end then waits for an answer until its time is over.
     */
    @CName("rdma_disconnect")
    public void beginDisconnect() {
        id.call(RdmaCm.DISCONNECT, id.toPeer());
        failed();
    }

    /**
     * Ends the connection, and waits until the peer has answered or is known to be gone ({@code rdma_disconnect}).
     *
     * @param timeout the longest time to wait
     * @throws VerbsTimeoutException if neither happens in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName("rdma_disconnect")
    public void disconnect(Duration timeout) throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // before the connection ends
        beginDisconnect();
        if (!id.events.disconnected) {
            id.events.awaitEnd(RdmaCm.DISCONNECT, timeout, CmEvent.Type.DISCONNECTED);
        }
    }

    /**
     * Returns true if the connection has ended: by this side, by the peer, or because the peer's process is gone.
     *
     * @return true after {@link CmEvent.Type#DISCONNECTED}
     */
    public boolean isDisconnected() {
        id.lifetime.checkOpen();
        id.events.take(type -> false); // has the channel read new events
        return id.events.disconnected;
    }

    // Vendor options

    /**
     * Sets the vendor options to offer ({@code rdma_set_local_ece}). Call this before connecting or accepting.
     *
     * @param offer the options; the vendor's number is not 0
     */
    @CName("rdma_set_local_ece")
    public void offerEce(Ece offer) {
        require(RdmaCm.SET_LOCAL_ECE);
        id.call(RdmaCm.SET_LOCAL_ECE, id + ", " + offer, scratch -> {
            MemorySegment memory = ibv_ece.allocate(scratch);
            ibv_ece.vendor_id(memory, offer.vendorId());
            ibv_ece.options(memory, offer.options());
            return CmId.values(memory);
        });
    }

    /**
     * Returns the vendor options that the peer offers ({@code rdma_get_remote_ece}), for an id whose queue pair was not made
     * on it.
     *
     * @return the options
     */
    @CName("rdma_get_remote_ece")
    public Ece peerEce() {
        require(RdmaCm.GET_REMOTE_ECE);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = ibv_ece.allocate(arena);
            id.call(RdmaCm.GET_REMOTE_ECE, id, memory.address());
            return new Ece(ibv_ece.vendor_id(memory), ibv_ece.options(memory));
        }
    }

    // Newer than rdma-core 44

    /**
     * Looks up the addresses of a service, for this id and through its channel ({@code rdma_resolve_addrinfo},
     * {@code rdma_query_addrinfo}).
     *
     * @param node a numeric address, since C would block while it looks up a name; null for the node of the hints
     * @param service the port's number; null for the service of the hints
     * @param hints with {@link AddressInfo.Flag#NAME} or {@link AddressInfo.Flag#SUBNET_ADMINISTRATOR}
     * @param timeout the longest time to wait
     * @return the addresses
     * @throws dev.verbena.UnsupportedVerbException if rdma-core is older than 60, or the kernel than 6.17
     * @throws IllegalArgumentException if the node is a name
     * @throws ConnectionException if there is no such service
     * @throws VerbsTimeoutException if the outcome is not known in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName({"rdma_resolve_addrinfo", "rdma_query_addrinfo"})
    public List<AddressInfo> resolveAddressInfo(
            @Nullable String node, @Nullable String service, AddressInfo hints, Duration timeout)
            throws InterruptedException {
        Objects.requireNonNull(hints, "hints"); // before C looks up anything
        Objects.requireNonNull(timeout, "timeout");
        id.lifetime.checkOpen();
        Failures.require(RdmaCm.RESOLVE_ADDRINFO, id.toString());
        if (node != null) {
            InetAddress.ofLiteral(node);
        }
        id.call(RdmaCm.RESOLVE_ADDRINFO, id + ", " + hints, scratch -> new long[] {
            AddressInfo.text(node, scratch),
            AddressInfo.text(service, scratch),
            hints.write(scratch).address()
        });
        id.events.awaitEnd(RdmaCm.RESOLVE_ADDRINFO, timeout, CmEvent.Type.ADDRESS_INFO_RESOLVED);
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment found = memory.allocate(ValueLayout.JAVA_LONG);
            id.call(RdmaCm.QUERY_ADDRINFO, id, found.address());
            long first = found.get(ValueLayout.JAVA_LONG, 0);
            try {
                return AddressInfo.list(first);
            } finally {
                RdmaCm.FREEADDRINFO.call(first);
            }
        }
    }

    /**
     * Posts an event of the program's own to this id's channel ({@code rdma_write_cm_event}). A thread that waits there gets
     * a {@link CmEvent.User}.
     *
     * @param status the event's status
     * @param argument any number
     * @throws dev.verbena.UnsupportedVerbException if rdma-core is older than 60
     * @throws VerbsException if the kernel is older than 6.17
     */
    @CName("rdma_write_cm_event")
    public void postEvent(int status, long argument) {
        id.lifetime.checkOpen();
        Failures.require(RdmaCm.WRITE_CM_EVENT, toString());
        id.call(RdmaCm.WRITE_CM_EVENT, this, CmEvent.Type.USER.code(), status, argument);
    }
}
