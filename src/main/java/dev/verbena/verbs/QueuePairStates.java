package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.jfr.WorkFailureEvent;
import dev.verbena.internal.raw.ibv_qp;
import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.internal.raw.ibv_qp_init_attr;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.QueuePairType;
import dev.verbena.verbs.device.TransportType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** What a queue pair is, the states that it goes through, and what it remembers of its failures. */
abstract sealed class QueuePairStates extends VerbsObject permits QueuePairWork {
    final ObjectLifetime lifetime;
    private static final int MAX_PSN = 0xffffff;

    final @Nullable ProtectionDomain domain;
    final Context context;
    final QueuePairOptions options;
    final QueueCapabilities granted;
    final long address;
    final int number;
    private final int packetSequenceNumber = ThreadLocalRandom.current().nextInt(MAX_PSN + 1);
    final boolean ownReceives;
    /** Whether sends and receives are reported to the same queue. */
    private final boolean oneQueue;

    final PostedOperations sends;
    final PostedOperations receives;
    private long maxBytes;
    volatile QueuePairState state = QueuePairState.RESET;
    volatile boolean stateIsKnown = true;
    /** Whether it is in a state to send from, or to post receives in: for the data path, which so looks once. */
    boolean canSend;

    boolean canReceive;
    private volatile @Nullable WorkCompletion firstFailure;

    QueuePairStates(
            ObjectLifetime lifetime,
            @Nullable ProtectionDomain domain,
            QueuePairOptions options,
            QueueCapabilities granted,
            Context context,
            Port port,
            long address) {
        super(lifetime);
        this.lifetime = lifetime;
        lifetime.destroyedBy(this::destroy);
        this.domain = domain;
        this.context = context;
        this.options = options;
        this.granted = granted;
        this.address = address;
        this.number = ibv_qp.qp_num(MemorySegment.ofAddress(address).reinterpret(ibv_qp.sizeof()));
        this.maxBytes = longestMessage(options.type(), port);
        this.oneQueue = options.sendQueue() == options.receiveQueue();
        this.sends = new PostedOperations(granted.sendDepth(), oneQueue);
        SharedReceiveQueue shared = options.sharedReceiveQueue();
        this.receives = shared == null ? new PostedOperations(granted.receiveDepth(), oneQueue) : shared.log();
        this.ownReceives = shared == null && options.receiveQueue() != null;
    }

    /** Calls C to destroy the object. */
    abstract void destroy();

    private static long longestMessage(QueuePairType type, Port port) {
        return type == QueuePairType.UD ? port.activeMtu().bytes() : port.maxMessageSize();
    }

    /** How many bytes a message has at most: a datagram is one packet. */
    long maxBytes() {
        return maxBytes;
    }

    /** How long the header of a segmented send may be. */
    int longestHeader() {
        return options.tsoHeader();
    }

    /** Whether each send says which shared receive queue it is for. */
    boolean sendsExtended() {
        return options.type() == QueuePairType.XRC_SEND;
    }

    /** Whether each send says where it goes. */
    boolean sendsDatagrams() {
        return options.type() == QueuePairType.UD;
    }

    /**
     * The protection domain that it was made in.
     *
     * @return the protection domain
     */
    public ProtectionDomain domain() {
        lifetime.checkOpen();
        if (domain == null) {
            throw new IllegalStateException(this + " was made elsewhere, and belongs to an XRC domain");
        }
        return domain;
    }

    /**
     * The transport.
     *
     * @return for example {@link QueuePairType#RC}
     */
    public QueuePairType type() {
        lifetime.checkOpen();
        return options.type();
    }

    /**
     * The number by which peers name it ({@code qp_num}).
     *
     * @return 24 bits
     */
    public int number() {
        lifetime.checkOpen();
        return number;
    }

    int numberEvenIfClosed() {
        return number;
    }

    /**
     * The sizes of its queues, as they were granted.
     *
     * @return at least what was asked for
     */
    public QueueCapabilities capabilities() {
        lifetime.checkOpen();
        return granted;
    }

    /**
     * Where the ends of sends are reported.
     *
     * @return the completion queue
     */
    public CompletionQueue sendQueue() {
        lifetime.checkOpen();
        return there(options.sendQueue(), "sends");
    }

    /**
     * Where the ends of receives are reported.
     *
     * @return the completion queue
     */
    public CompletionQueue receiveQueue() {
        lifetime.checkOpen();
        return there(options.receiveQueue(), "receives");
    }

    private CompletionQueue there(@Nullable CompletionQueue queue, String what) {
        if (queue == null) {
            throw new IllegalStateException(this + " has no " + what);
        }
        return queue;
    }

    /**
     * What a peer must know to connect to this queue pair: send it there.
     *
     * @return number, packet sequence number and address
     */
    public Endpoint endpoint() {
        lifetime.checkOpen();
        Port port = context.port(options.port());
        return new Endpoint(number, packetSequenceNumber, port.lid(), context.gid(options.port(), gidIndex()));
    }

    /**
     * The path from here to a peer: for an {@link ProtectionDomain#createAddressHandle address handle}.
     *
     * @param peer the peer's {@link #endpoint}
     * @return a path with what most networks want
     */
    public AddressVector pathTo(Endpoint peer) {
        return pathTo(peer.gid(), peer.lid());
    }

    /**
     * The path from here to a multicast group, or to a peer on RoCE.
     *
     * @param destination the group's or the peer's GID
     * @return a path with what most networks want
     */
    public AddressVector pathTo(Gid destination) {
        return pathTo(destination, 0);
    }

    private AddressVector pathTo(Gid destination, int lid) {
        lifetime.checkOpen();
        boolean global = lid == 0 || context.port(options.port()).needsGlobalRouting();
        return AddressVector.of(options.port())
                .destinationLid(lid)
                .globalRoute(global ? GlobalRoute.to(destination, gidIndex()) : null);
    }

    int port() {
        return options.port();
    }

    private int gidIndex() {
        return options.gidIndex() == QueuePairOptions.BEST_GID
                ? context.bestGid(options.port()).index()
                : options.gidIndex();
    }

    /**
     * The state as far as this process knows it. An error moves a queue pair without a word: {@link #query} asks the
     * device, and so does this after a failed completion that leaves it open.
     *
     * @return the state after the last {@link #modify}, {@link #query} or failed completion
     */
    public QueuePairState state() {
        lifetime.checkOpen();
        if (!stateIsKnown) {
            query();
        }
        return state;
    }

    /**
     * Asks the device for the attributes ({@code ibv_query_qp}).
     *
     * @return all attributes but the rate limit, as they are now
     */
    @CName("ibv_query_qp")
    public QueuePairAttributes query() {
        Set<Attribute> all = EnumSet.complementOf(EnumSet.of(Attribute.RATE_LIMIT)); // which can only be set
        QueuePairAttributes found;
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment init = scratch.allocate(ibv_qp_init_attr.layout());
            MemorySegment struct = scratch.allocate(ibv_qp_attr.layout());
            VerbFailures.check(
                    Ibv.QUERY_QP,
                    Ibv.QUERY_QP.call(address, struct.address(), NativeFlag.bits(all), init.address()),
                    toString());
            found = QueuePairAttributes.read(struct, all);
        } finally {
            lifetime.release();
        }
        if (found.state() != QueuePairState.RESET || context.device().transport() == TransportType.IB) {
            known(found.state());
        } // else it is iWARP in software, which tells nothing but this before Linux 6.7
        return found;
    }

    /**
     * Changes attributes, most often the state ({@code ibv_modify_qp}).
     *
     * @param attributes what to change
     * @throws IllegalArgumentException if the transport has no such change of state, or attributes are missing for it or
     *     not allowed: the message says which
     * @throws VerbsException if the device refused
     */
    @CName("ibv_modify_qp")
    public void modify(QueuePairAttributes attributes) {
        QueuePairState from = attributes.has(Attribute.CURRENT_STATE) ? attributes.currentState() : state();
        QueuePairState to = attributes.has(Attribute.STATE) ? attributes.state() : from;
        Set<Attribute> mask = attributes.mask();
        complain(from, to, mask);
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            long struct = attributes.write(scratch).address();
            int result = (int) Ibv.MODIFY_QP.call(address, struct, NativeFlag.bits(mask));
            if (result != 0) {
                throw refused(VerbFailures.errnoOf(result), from, to, attributes);
            }
        } finally {
            lifetime.release();
        }
        if (to == QueuePairState.RESET) {
            firstFailure = null;
            sends.clear();
            if (options.sharedReceiveQueue() == null) {
                receives.clear();
            }
        }
        if (to == QueuePairState.RTR) {
            maxBytes = longestMessage(options.type(), context.port(options.port()));
        }
        known(to);
    }

    /** What it is known to be in, also when another library has changed it. */
    void known(QueuePairState now) {
        state = now;
        canReceive = now != QueuePairState.RESET;
        canSend = now != QueuePairState.RESET && now != QueuePairState.INIT && now != QueuePairState.RTR;
        stateIsKnown = true;
    }

    private void complain(QueuePairState from, QueuePairState to, Set<Attribute> mask) {
        if (context.device().transport() != TransportType.IB) {
            return; // the table is that of InfiniBand and RoCE
        }
        Optional<String> complaint = StateTable.complaint(options.type(), from, to, mask);
        if (complaint.isPresent()) {
            throw new IllegalArgumentException("ibv_modify_qp(" + this + "): " + complaint.get());
        }
    }

    private VerbsException refused(int errno, QueuePairState from, QueuePairState to, QueuePairAttributes attributes) {
        query();
        QueuePairState actual = state;
        String hint = actual != from
                ? "The queue pair is in " + actual + ", not in " + from + " any more"
                : switch (errno) {
                    case Errno.EINVAL ->
                        "The device refuses one of these values. For RTR on RoCE, look at the GID index, "
                                + "the peer's GID and the path MTU";
                    case Errno.ETIMEDOUT, 113 ->
                        "The peer's address can't be resolved: is it on the network of this GID?";
                    case Errno.ENODATA -> "There is no GID at this index: see Context.gids()";
                    default -> "";
                };
        return VerbFailures.failure(Ibv.MODIFY_QP.name(), errno, this + " to " + to + ", " + attributes, hint);
    }

    /**
     * Goes to {@link QueuePairState#INIT}, where receives can be posted before the peer can send.
     *
     * @param how how it will be connected
     */
    public void toInit(ConnectOptions how) {
        modify(how.toInit(options.type(), options.port()));
    }

    /**
     * Connects to a peer, as {@link #connect(Endpoint, ConnectOptions)} with the defaults.
     *
     * @param peer the peer's {@link #endpoint}
     */
    public void connect(Endpoint peer) {
        connect(peer, ConnectOptions.defaults());
    }

    /**
     * Connects to a peer: goes through {@link QueuePairState#INIT} (if it is not there yet) and
     * {@link QueuePairState#RTR} to {@link QueuePairState#RTS}. The peer must do the same. Nothing is sent, so this
     * succeeds also when the peer is not there.
     *
     * @param peer the peer's {@link #endpoint}
     * @param how attributes that differ from the defaults
     * @throws IllegalStateException if it is connected already, or a transport without connections
     */
    public void connect(Endpoint peer, ConnectOptions how) {
        switch (options.type()) {
            case RC, UC, XRC_SEND, XRC_RECV -> {}
            default -> throw new IllegalStateException(options.type() + " has no connections: " + this);
        }
        if (state() == QueuePairState.RESET) {
            toInit(how);
        }
        checkInitialised();
        DeviceAttributes device = context.attributes();
        modify(how.toReadyToReceive(options.type(), peer, context.port(options.port()), gidIndex(), device));
        modify(how.toReadyToSend(options.type(), packetSequenceNumber, device));
    }

    /**
     * Makes a queue pair for datagrams ready, as {@link #toReady(int, int)} with the default partition.
     *
     * @param qkey the key that datagrams to it must carry
     */
    public void toReady(int qkey) {
        toReady(qkey, 0);
    }

    /**
     * Makes a queue pair for datagrams ready: goes through {@link QueuePairState#INIT} (if it is not there yet) and
     * {@link QueuePairState#RTR} to {@link QueuePairState#RTS}.
     *
     * @param qkey the key that datagrams to it must carry; one with the highest bit set needs privileges
     * @param pkeyIndex the index of the partition key
     * @throws IllegalStateException if it is ready already, or has connections
     */
    public void toReady(int qkey, int pkeyIndex) {
        if (options.type() != QueuePairType.UD) {
            throw new IllegalStateException("Only queue pairs for datagrams are made ready by a key: " + this);
        }
        if (state() == QueuePairState.RESET) {
            modify(QueuePairAttributes.to(QueuePairState.INIT)
                    .pkeyIndex(pkeyIndex)
                    .port(options.port())
                    .qkey(qkey));
        }
        checkInitialised();
        modify(QueuePairAttributes.to(QueuePairState.RTR).pkeyIndex(pkeyIndex).qkey(qkey));
        modify(QueuePairAttributes.to(QueuePairState.RTS).sendPsn(packetSequenceNumber));
    }

    /**
     * Makes a queue pair for whole Ethernet frames ready: goes through {@link QueuePairState#INIT} (if it is not there
     * yet) and {@link QueuePairState#RTR} to {@link QueuePairState#RTS}.
     *
     * @throws IllegalStateException if it is ready already, or of another transport
     */
    public void toReady() {
        if (options.type() != QueuePairType.RAW_PACKET) {
            throw new IllegalStateException("Only queue pairs for whole frames need neither key nor peer: " + this);
        }
        if (state() == QueuePairState.RESET) {
            modify(QueuePairAttributes.to(QueuePairState.INIT).port(options.port()));
        }
        checkInitialised();
        modify(QueuePairAttributes.to(QueuePairState.RTR));
        modify(QueuePairAttributes.to(QueuePairState.RTS));
    }

    private void checkInitialised() {
        if (state() != QueuePairState.INIT) {
            throw new IllegalStateException(this + " can't be made ready: it is in " + state()
                    + ", and begins in RESET or INIT. reset() takes it back");
        }
    }

    /** Takes it back to {@link QueuePairState#RESET}: what was posted is forgotten, and it can be connected anew. */
    public void reset() {
        modify(QueuePairAttributes.to(QueuePairState.RESET));
    }

    /** Gives it up: goes to {@link QueuePairState#ERR}, and all that was posted comes back flushed. */
    public void fail() {
        modify(QueuePairAttributes.to(QueuePairState.ERR));
    }

    boolean hasSent() {
        return !sends.isEmpty();
    }

    boolean hasReceivesOfItsOwn() {
        return ownReceives && !receives.isEmpty();
    }

    List<CompletionQueue> completionQueues() {
        Set<CompletionQueue> queues = new HashSet<>();
        if (options.sendQueue() != null) {
            queues.add(options.sendQueue());
        }
        if (options.receiveQueue() != null) {
            queues.add(options.receiveQueue());
        }
        return List.copyOf(queues);
    }

    /**
     * The first failure of this queue pair since it was made or {@linkplain #reset reset}: what is flushed later was
     * flushed because of it.
     *
     * @return the completion, once a cursor has come to it, or polled again after fetching it
     */
    public Optional<WorkCompletion> firstError() {
        lifetime.checkOpen();
        return Optional.ofNullable(firstFailure);
    }

    @Nullable
    WorkCompletion firstFailure() {
        return firstFailure;
    }

    /** A failed request takes its queue pair to {@link QueuePairState#ERR}, or was flushed because it is there. */
    synchronized void noteFailure(WorkCompletion failure) {
        boolean flushed = failure.status() == WorkStatus.WORK_REQUEST_FLUSHED;
        if (!flushed && (options.type() == QueuePairType.RC || options.type() == QueuePairType.XRC_SEND)) {
            known(QueuePairState.ERR);
        } else if (state != QueuePairState.ERR) {
            stateIsKnown = false; // other transports may go on, and a flush may be from before a reset
        }
        if (!flushed) {
            record(failure);
        }
        if (firstFailure == null && !flushed) {
            firstFailure = failure;
        }
    }

    private void record(WorkCompletion failure) {
        WorkFailureEvent event = new WorkFailureEvent();
        if (event.shouldCommit()) {
            event.queuePair = options.type() + " " + number + " of " + context.name();
            event.id = failure.id();
            event.operation = String.valueOf(failure.operation());
            event.status = failure.status().toString();
            event.vendorError = failure.vendorError();
            event.commit();
        }
    }

    /** What a failed request was; null when both a send and a receive had its id and the status does not tell. */
    @Nullable
    Operation operationOf(long id, WorkStatus status, CompletionQueue reportedTo) {
        if (!oneQueue) {
            return reportedTo == options.receiveQueue() ? Operation.RECEIVE : sends.find(id);
        }
        Operation send = sends.find(id);
        Operation receive = receives.find(id);
        if (send == null && receive == null && options.sharedReceiveQueue() != null) {
            return Operation.RECEIVE; // others post to it, perhaps more than its log remembers
        }
        if (send == null || receive == null) {
            return send == null ? receive : send;
        }
        return switch (status) {
            case RETRY_EXCEEDED,
                    RNR_RETRY_EXCEEDED,
                    REMOTE_ACCESS_ERROR,
                    REMOTE_INVALID_REQUEST_ERROR,
                    REMOTE_OPERATION_ERROR,
                    BAD_RESPONSE_ERROR,
                    RESPONSE_TIMEOUT,
                    MW_BIND_ERROR -> send;
            default -> null;
        };
    }

    /** For example {@code RC queue pair 17 of rxe0 (RTS)}. */
    @Override
    public String toString() {
        return options.type() + " queue pair " + number + " of " + context.name() + " ("
                + (isOpen() ? state.toString() : "closed") + ")";
    }
}
