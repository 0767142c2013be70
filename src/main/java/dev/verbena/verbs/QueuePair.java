package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.NativeFlag;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Checks;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.raw.ibv_ece;
import dev.verbena.internal.raw.ibv_qp_init_attr_ex;
import dev.verbena.internal.raw.ibv_qp_open_attr;
import dev.verbena.internal.raw.ibv_qp_rate_limit_attr;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.Grh;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.QueuePairType;
import dev.verbena.verbs.flow.FlowRule;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A queue pair ({@code struct ibv_qp}): one end of a connection, with a queue for what is sent and one for what is
 * received.
 *
 * <p>It begins in {@link QueuePairState#RESET}; {@link #connect} makes it ready. The {@code post...} methods post one
 * request each; {@link #sendBatch} and {@link #receiveBatch} post many with one call. None of them allocates.
 *
 * <p>Memory that a request names belongs to the adapter until the request completes.
 */
public final class QueuePair extends QueuePairWork {
    /** The number that stands for all queue pairs of a multicast group. */
    public static final int MULTICAST = 0xffffff;

    private final Set<Group> groups = new HashSet<>();
    private @Nullable LongConsumer destroyer;

    /** A multicast group, as it was joined. */
    private record Group(Gid gid, int lid) {}

    private QueuePair(
            ObjectLifetime lifetime,
            @Nullable ProtectionDomain domain,
            QueuePairOptions options,
            QueueCapabilities granted,
            Context context,
            Port port,
            long address) {
        super(lifetime, domain, options, granted, context, port, address);
        context.add(this);
        context.eventsEvenIfClosed().add(address, this);
    }

    /**
     * A reliable connection whose sends and receives end in one completion queue.
     *
     * @param queue the completion queue
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions rc(CompletionQueue queue) {
        return rc(queue, queue);
    }

    /**
     * A reliable connection.
     *
     * @param sends where the ends of sends are reported
     * @param receives where the ends of receives are reported
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions rc(CompletionQueue sends, CompletionQueue receives) {
        return QueuePairOptions.of(QueuePairType.RC, sends, receives);
    }

    /**
     * An unreliable connection whose sends and receives end in one completion queue.
     *
     * @param queue the completion queue
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions uc(CompletionQueue queue) {
        return uc(queue, queue);
    }

    /**
     * An unreliable connection.
     *
     * @param sends where the ends of sends are reported
     * @param receives where the ends of receives are reported
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions uc(CompletionQueue sends, CompletionQueue receives) {
        return QueuePairOptions.of(QueuePairType.UC, sends, receives);
    }

    /**
     * A queue pair for datagrams whose sends and receives end in one completion queue. It has no connection: each send
     * says where it goes (see {@link SendBatch#to}), and each receive needs {@link Grh#BYTES} more than the message.
     *
     * @param queue the completion queue
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions ud(CompletionQueue queue) {
        return ud(queue, queue);
    }

    /**
     * A queue pair for datagrams.
     *
     * @param sends where the ends of sends are reported
     * @param receives where the ends of receives are reported
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions ud(CompletionQueue sends, CompletionQueue receives) {
        return QueuePairOptions.of(QueuePairType.UD, sends, receives);
    }

    /**
     * A queue pair for whole Ethernet frames. It needs {@code CAP_NET_RAW}.
     *
     * @param queue the completion queue
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions rawPacket(CompletionQueue queue) {
        return QueuePairOptions.of(QueuePairType.RAW_PACKET, queue, queue);
    }

    /**
     * A queue pair of the driver's own kind.
     *
     * @param queue the completion queue
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions driver(CompletionQueue queue) {
        return QueuePairOptions.of(QueuePairType.DRIVER, queue, queue);
    }

    /**
     * The sending half of an extended reliable connection: each send says which shared receive queue it is for, see
     * {@link SendBatch#toShared}.
     *
     * @param sends where the ends of sends are reported
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions xrcSend(CompletionQueue sends) {
        return QueuePairOptions.of(QueuePairType.XRC_SEND, sends, null)
                .receiveDepth(0)
                .receiveSge(0);
    }

    /**
     * The receiving half of an extended reliable connection. It has no queues: messages go to the shared receive queues
     * of its domain.
     *
     * @param domain the domain
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions xrcReceive(XrcDomain domain) {
        return QueuePairOptions.xrcReceive(domain);
    }

    /**
     * Receives whole frames and spreads them over work queues, which take the receives.
     *
     * @param hash how
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions hashed(ReceiveHash hash) {
        return QueuePairOptions.hashed(hash);
    }

    static QueuePair make(ProtectionDomain domain, QueuePairOptions options, VerbsArena arena) {
        QueuePairCreation.checkThreads(options.sendQueue(), arena);
        QueuePairCreation.checkThreads(options.receiveQueue(), arena);
        QueuePairCreation.checkRelease(options);
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    Context context = domain.contextEvenIfClosed();
                    Port port = context.port(options.port());
                    try (Arena scratch = Arena.ofConfined()) {
                        MemorySegment init =
                                scratch.allocate(ibv_qp_init_attr_ex.layout()); // begins as the shorter one does
                        long qp = QueuePairCreation.callCreate(domain, options, init);
                        QueuePairCreation.checkExtended(context, options, qp);
                        QueuePair made = new QueuePair(
                                lifetime,
                                domain,
                                options,
                                QueueCapabilities.read(ibv_qp_init_attr_ex.cap(init)),
                                context,
                                port,
                                qp);
                        made.checkComplete();
                        return made;
                    }
                },
                QueuePairCreation.parents(domain, options));
    }

    /** One that is made and destroyed by other functions than this class's own. */
    static QueuePair adopt(
            ProtectionDomain domain,
            QueuePairOptions options,
            VerbsArena arena,
            LongUnaryOperator maker,
            LongConsumer destroyer,
            QueuePairState begins,
            VerbsObject owner) {
        List<VerbsObject> parents = new ArrayList<>(List.of(QueuePairCreation.parents(domain, options)));
        parents.add(owner);
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    Context context = domain.contextEvenIfClosed();
                    Port port = context.port(options.port());
                    try (Arena scratch = Arena.ofConfined()) {
                        MemorySegment init = scratch.allocate(ibv_qp_init_attr_ex.layout());
                        QueuePairCreation.initial(domain, options, init);
                        long qp = maker.applyAsLong(init.address());
                        QueuePair made = new QueuePair(
                                lifetime,
                                domain,
                                options,
                                QueueCapabilities.read(ibv_qp_init_attr_ex.cap(init)),
                                context,
                                port,
                                qp);
                        made.destroyer = destroyer;
                        made.known(begins);
                        made.checkComplete();
                        return made;
                    }
                },
                parents.toArray(VerbsObject[]::new));
    }

    private void checkComplete() {
        Set<SendOperation> missing = extended == null ? Set.of() : extended.missing(options.operations());
        if (!missing.isEmpty()) {
            String arguments = context.name() + ", " + options;
            destroy();
            throw new UnsupportedVerbException(
                    ContextVerb.CREATE_QP_EX.verb(),
                    arguments,
                    0,
                    "The driver took the operations " + missing + " and has no function to post them");
        }
    }

    static QueuePair open(XrcDomain xrcDomain, int number, VerbsArena arena) {
        Checks.checkRange("queue pair number", number, MULTICAST);
        Context context = xrcDomain.contextEvenIfClosed();
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    Port port = context.port(1);
                    try (Arena scratch = Arena.ofConfined()) {
                        MemorySegment attributes = scratch.allocate(ibv_qp_open_attr.layout());
                        ibv_qp_open_attr.comp_mask(
                                attributes,
                                rdma_h.IBV_QP_OPEN_ATTR_NUM()
                                        | rdma_h.IBV_QP_OPEN_ATTR_XRCD()
                                        | rdma_h.IBV_QP_OPEN_ATTR_TYPE());
                        ibv_qp_open_attr.qp_num(attributes, number);
                        ibv_qp_open_attr.xrcd(attributes, MemorySegment.ofAddress(xrcDomain.address()));
                        ibv_qp_open_attr.qp_type(attributes, QueuePairType.XRC_RECV.code());
                        long qp = QueuePairCreation.callOpen(context, attributes, number);
                        QueuePairOptions options = QueuePairOptions.xrcReceive(xrcDomain);
                        QueuePair opened =
                                new QueuePair(lifetime, null, options, options.capabilities(), context, port, qp);
                        opened.stateIsKnown = false;
                        return opened;
                    }
                },
                xrcDomain);
    }

    @CName("ibv_destroy_qp")
    @Override
    void destroy() {
        synchronized (groups) { // the kernel keeps a queue pair that is still in a group
            for (Group group : List.copyOf(groups)) {
                callMulticast(Ibv.DETACH_MCAST, group);
                groups.remove(group);
            }
        }
        if (destroyer != null) {
            destroyer.accept(address);
        } else {
            VerbFailures.check(Ibv.DESTROY_QP, Ibv.DESTROY_QP.call(address), toString());
        }
        endBatches();
        context.remove(this);
        context.eventsEvenIfClosed().remove(address, this);
    }

    /**
     * Gives it up and waits until all that was posted has come back: goes to {@link QueuePairState#ERR}, and polls its
     * completion queues meanwhile. Nobody else may poll them, and nothing may be posted, until this returns. Receives of a
     * shared receive queue stay there.
     *
     * @param taker gets each completion that is found, also those of other queue pairs
     * @param timeout how long to wait
     * @throws dev.verbena.VerbsTimeoutException if not all came back in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if it is closed, also while waiting
     */
    public void drain(Consumer<? super WorkCompletion> taker, Duration timeout) throws InterruptedException {
        QueuePairDrainer.of(this, taker, timeout);
    }

    /**
     * Lets a queue pair for datagrams receive what is sent to a multicast group ({@code ibv_attach_mcast}).
     *
     * @param group the group's GID: on RoCE that of an IP multicast address
     */
    @CName("ibv_attach_mcast")
    public void attachMulticast(Gid group) {
        attachMulticast(group, 0);
    }

    /**
     * Lets a queue pair for datagrams receive what is sent to a multicast group ({@code ibv_attach_mcast}).
     *
     * @param group the group's GID
     * @param lid the group's local identifier on InfiniBand; 0 on Ethernet
     */
    @CName("ibv_attach_mcast")
    public void attachMulticast(Gid group, int lid) {
        multicast(Ibv.ATTACH_MCAST, new Group(group, lid));
    }

    /**
     * Ends what {@link #attachMulticast(Gid)} began ({@code ibv_detach_mcast}). Closing the queue pair does it too.
     *
     * @param group the group's GID
     * @throws VerbsException if it is not in the group
     */
    @CName("ibv_detach_mcast")
    public void detachMulticast(Gid group) {
        detachMulticast(group, 0);
    }

    /**
     * Ends what {@link #attachMulticast(Gid, int)} began ({@code ibv_detach_mcast}). Closing the queue pair does it too.
     *
     * @param group the group's GID
     * @param lid the group's local identifier on InfiniBand; 0 on Ethernet
     * @throws VerbsException if it is not in the group
     */
    @CName("ibv_detach_mcast")
    public void detachMulticast(Gid group, int lid) {
        multicast(Ibv.DETACH_MCAST, new Group(group, lid));
    }

    private void multicast(CFunction verb, Group group) {
        if (options.type() != QueuePairType.UD) {
            throw new IllegalStateException("Only queue pairs for datagrams join multicast groups: " + this);
        }
        Checks.checkRange("local identifier", group.lid(), 0xffff);
        lifetime.hold();
        try {
            synchronized (groups) {
                callMulticast(verb, group);
                if (verb == Ibv.ATTACH_MCAST) {
                    groups.add(group);
                } else {
                    groups.remove(group);
                }
            }
        } finally {
            lifetime.release();
        }
    }

    private void callMulticast(CFunction verb, Group group) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment gid = scratch.allocate(Gid.BYTES, Long.BYTES);
            AddressCodec.writeGid(group.gid(), gid, 0);
            int result = (int) verb.call(address, gid.address(), group.lid());
            VerbFailures.check(
                    verb.name(),
                    result,
                    this + ", " + group.gid(),
                    verb == Ibv.DETACH_MCAST ? "Is it in the group?" : "Is this the GID of a multicast group?");
        }
    }

    /**
     * Changes how fast it sends ({@code ibv_modify_qp_rate_limit}).
     *
     * @param limit the limit
     * @throws VerbsException if the device can't, or not in this state
     */
    @CName("ibv_modify_qp_rate_limit")
    public void limitRate(RateLimit limit) {
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment attributes = scratch.allocate(ibv_qp_rate_limit_attr.layout());
            limit.write(attributes);
            String verb = ContextVerb.MODIFY_QP_RATE_LIMIT.verb();
            MemorySegment modify = ContextVerb.MODIFY_QP_RATE_LIMIT
                    .in(context.address())
                    .orElseThrow(() -> VerbFailures.failure(verb, Errno.EOPNOTSUPP, this + ", " + limit, ""));
            VerbFailures.check(
                    verb, (int) CFunction.callAt(modify, address, attributes.address()), this + ", " + limit, "");
        } finally {
            lifetime.release();
        }
    }

    /**
     * What this side could agree on beyond the standard ({@code ibv_query_ece}).
     *
     * @return what to tell the peer, or what was agreed on
     * @throws dev.verbena.UnsupportedVerbException if there is nothing
     */
    @CName("ibv_query_ece")
    public Ece queryEce() {
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment ece = scratch.allocate(ibv_ece.layout());
            VerbFailures.check(Ibv.QUERY_ECE, Ibv.QUERY_ECE.call(address, ece.address()), toString());
            return Ece.read(ece);
        } finally {
            lifetime.release();
        }
    }

    /**
     * Sets what both sides agree on beyond the standard, before going to {@link QueuePairState#RTR}
     * ({@code ibv_set_ece}).
     *
     * @param ece what the peer told
     * @throws dev.verbena.UnsupportedVerbException if there is nothing
     */
    @CName("ibv_set_ece")
    public void setEce(Ece ece) {
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment wanted = scratch.allocate(ibv_ece.layout());
            ece.write(wanted);
            VerbFailures.check(Ibv.SET_ECE, Ibv.SET_ECE.call(address, wanted.address()), this + ", " + ece);
        } finally {
            lifetime.release();
        }
    }

    /**
     * In which order the data of an operation is written to this side's memory ({@code ibv_query_qp_data_in_order}).
     *
     * @param operation a send, a write or a read
     * @return what is sure; empty when nothing is
     */
    @CName("ibv_query_qp_data_in_order")
    public Set<DataOrder> dataInOrder(Operation operation) {
        if (operation.cName().isEmpty()) {
            throw new IllegalArgumentException(operation + " has no number in C");
        }
        lifetime.hold();
        try {
            int bits = (int) Ibv.QUERY_QP_DATA_IN_ORDER.call(address, operation.code(), DataOrder.RETURN_CAPS);
            if (bits <= 0) { // older libraries tell of whole messages only
                bits = (int) Ibv.QUERY_QP_DATA_IN_ORDER.call(address, operation.code(), 0) > 0
                        ? DataOrder.WHOLE_MESSAGE.bit()
                        : 0;
            }
            return NativeFlag.of(DataOrder.class, bits);
        } finally {
            lifetime.release();
        }
    }

    /**
     * Creates a flow rule that steers packets to this queue pair, closed by this queue pair's arena
     * ({@code ibv_create_flow}).
     *
     * @param rule the packets, and the actions on them
     * @return the flow: it ends when it is closed
     */
    @CName("ibv_create_flow")
    public Flow createFlow(FlowRule rule) {
        return createFlow(rule, arena());
    }

    /**
     * Steers packets to this queue pair, which is of type {@link QueuePairType#RAW_PACKET} most often
     * ({@code ibv_create_flow}).
     *
     * @param rule which packets
     * @param arena what will close the flow
     * @return the flow, which is at work until it is closed
     */
    @CName("ibv_create_flow")
    public Flow createFlow(FlowRule rule, VerbsArena arena) {
        return Flow.create(this, context, address, rule, arena);
    }
}
