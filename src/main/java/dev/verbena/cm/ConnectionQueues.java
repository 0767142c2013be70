package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.RdmaCm;
import dev.verbena.internal.raw.ibv_qp_init_attr_ex;
import dev.verbena.internal.raw.rdma_cm_id;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.SharedReceiveQueueOptions;
import dev.verbena.verbs.SharedReceiveQueueType;
import dev.verbena.verbs.access.VerbsAccess;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** What belongs to an id: its protection domain, its queue pair, its queues. */
abstract class ConnectionQueues extends ConnectionEnd {
    volatile @Nullable QueuePair queuePair;

    private final ReentrantLock making = new ReentrantLock();
    private volatile @Nullable SharedReceiveQueue sharedReceives;
    private volatile @Nullable OwnQueues own;

    /** The completion queues that were made with the queue pair, and what they report to: the youngest first. */
    private record OwnQueues(CompletionQueue sends, CompletionQueue receives, List<VerbsObject> all) {}

    ConnectionQueues(ObjectLifetime lifetime, PortSpace space, long address, IdEvents inbox) {
        super(lifetime, space, address, inbox);
    }

    /**
     * The id is about to go, and nothing of others depends on it. What is another arena's stays open until that closes: it
     * may be closing right now, and waiting for this one.
     */
    final void closeOwnQueues() {
        OwnQueues made = own;
        if (made != null && made.sends().arena() == arena()) {
            closeUnlessUsed(made);
        }
    }

    private static void closeUnlessUsed(OwnQueues made) {
        try {
            made.all().forEach(VerbsObject::close);
        } catch (ResourceBusyException inUse) {
            // By another queue pair: it stays open until its arena closes.
        }
    }

    /**
     * The protection domain that the connection manager has made for this id's device ({@code id->pd}): all ids on one
     * device have the same, in a whole process.
     *
     * @return the domain, closed by the arena of the channel: C keeps it as long as it is needed
     * @throws IllegalStateException if it has no device yet
     */
    public ProtectionDomain protectionDomain() {
        lifetime.hold();
        try {
            Context context = context();
            return inbox.channel.domain(context, rdma_cm_id.pd(struct()).address());
        } finally {
            lifetime.release();
        }
    }

    /**
     * Registers memory in the {@linkplain #protectionDomain id's own domain}, closed by this id's arena
     * ({@code rdma_reg_msgs}, {@code rdma_reg_read}, {@code rdma_reg_write}).
     *
     * @param memory a native segment that outlives the registration
     * @param access {@link AccessFlag#LOCAL_WRITE} for messages, with {@link AccessFlag#REMOTE_READ} or
     *     {@link AccessFlag#REMOTE_WRITE} for what the peer reads or writes
     * @return the memory region
     */
    @CName({"rdma_reg_msgs", "rdma_reg_read", "rdma_reg_write"})
    public MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        return protectionDomain().register(memory, List.of(access), arena());
    }

    /**
     * Its queue pair, if one was made on it.
     *
     * @return the queue pair of {@link #createQueuePair}
     */
    public Optional<QueuePair> queuePair() {
        lifetime.checkOpen();
        return Optional.ofNullable(queuePair);
    }

    /**
     * Where the id's sends end ({@code id->send_cq}), if its queue pair was made together with its queues.
     *
     * @return the completion queue of {@link #createQueuePair(QueueCapabilities)}
     */
    @CName("rdma_get_send_comp")
    public Optional<CompletionQueue> sendCompletions() {
        lifetime.checkOpen();
        return Optional.ofNullable(own).map(OwnQueues::sends);
    }

    /**
     * Where the id's receives end ({@code id->recv_cq}), if its queue pair was made together with its queues.
     *
     * @return the completion queue of {@link #createQueuePair(QueueCapabilities)}
     */
    @CName("rdma_get_recv_comp")
    public Optional<CompletionQueue> receiveCompletions() {
        lifetime.checkOpen();
        return Optional.ofNullable(own).map(OwnQueues::receives);
    }

    /**
     * Makes a queue pair with all that it needs, closed by this id's arena ({@code rdma_create_qp} without a domain and
     * completion queues).
     *
     * @param sizes of its queues
     * @return a new queue pair
     */
    @CName({"rdma_create_qp", "rdma_create_qp_ex", "rdma_destroy_qp"})
    public QueuePair createQueuePair(QueueCapabilities sizes) {
        return createQueuePair(sizes, arena());
    }

    /**
     * Makes a queue pair with all that it needs ({@code rdma_create_qp} without a domain and completion queues): in the
     * {@linkplain #protectionDomain id's own domain}, with {@linkplain #sendCompletions one completion queue for sends} and
     * {@linkplain #receiveCompletions one for receives}, both of which can be waited for.
     *
     * <p>The completion queues are made here as C would make them, and close with the id, so that they may be read as long
     * as it is open; in another arena than the id's, they close with that.
     *
     * @param sizes of its queues
     * @param arena what will close them
     * @return a new queue pair
     * @throws IllegalStateException if the id has one already, or no device yet
     */
    @CName({"rdma_create_qp", "rdma_create_qp_ex", "rdma_destroy_qp"})
    public QueuePair createQueuePair(QueueCapabilities sizes, VerbsArena arena) {
        making.lock();
        try {
            checkNoQueuePair();
            ProtectionDomain domain = protectionDomain();
            OwnQueues before = own;
            if (before != null) {
                closeUnlessUsed(before);
            }
            own = null;
            List<VerbsObject> made = new ArrayList<>();
            try {
                CompletionQueue sends = makeQueue(sizes.sendDepth(), arena, made);
                CompletionQueue receives = makeQueue(sizes.receiveDepth(), arena, made);
                QueuePairOptions options =
                        hasDatagrams() ? QueuePair.ud(sends, receives) : QueuePair.rc(sends, receives);
                QueuePair pair = createQueuePair(
                        domain,
                        options.sendDepth(sizes.sendDepth())
                                .receiveDepth(sizes.receiveDepth())
                                .sendSge(sizes.sendSge())
                                .receiveSge(sizes.receiveSge())
                                .inlineSize(sizes.inlineSize()),
                        arena);
                own = new OwnQueues(sends, receives, made);
                return pair;
            } catch (Throwable t) {
                made.forEach(VerbsObject::close);
                throw t;
            }
        } finally {
            making.unlock();
        }
    }

    private CompletionQueue makeQueue(int depth, VerbsArena arena, List<VerbsObject> made) {
        CompletionChannel channel = context().createCompletionChannel(arena);
        made.addFirst(channel);
        CompletionQueue queue = context()
                .createCompletionQueue(
                        CompletionQueueOptions.of(Math.max(1, depth)).channel(channel), arena);
        made.addFirst(queue);
        return queue;
    }

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
     * connection manager makes it ready when it connects or accepts; one for datagrams is ready at once. If the id has a
     * {@linkplain #createSharedReceiveQueue shared receive queue}, the queue pair takes its receives from there.
     *
     * @param domain a protection domain of this id's {@link #context}
     * @param options for example {@code QueuePair.rc(cq)}
     * @param arena what will close it
     * @return a new queue pair
     * @throws IllegalStateException if the id has one already, or no device yet
     * @throws IllegalArgumentException if the domain belongs to another context
     */
    @CName({"rdma_create_qp", "rdma_create_qp_ex", "rdma_destroy_qp"})
    public QueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options, VerbsArena arena) {
        making.lock();
        try {
            checkNoQueuePair();
            checkSameContext(domain);
            SharedReceiveQueue shared = sharedReceives;
            QueuePairOptions all = shared == null || VerbsAccess.get().hasSharedReceiveQueue(options)
                    ? options
                    : options.sharedReceiveQueue(shared);
            QueuePair made = VerbsAccess.get()
                    .adoptQueuePair(
                            domain,
                            all.port(devicePort()),
                            arena,
                            attributes -> callCreate(domain, attributes),
                            this::callDestroy,
                            options.type() == QueuePairType.UD ? QueuePairState.RTS : QueuePairState.INIT,
                            this);
            queuePair = made;
            return made;
        } finally {
            making.unlock();
        }
    }

    private void checkNoQueuePair() {
        lifetime.checkOpen();
        if (queuePair != null) {
            throw new IllegalStateException(this + " has a queue pair already: " + queuePair);
        }
    }

    private void checkSameContext(ProtectionDomain domain) {
        if (VerbsAccess.get().address(context()) != VerbsAccess.get().address(domain.context())) {
            throw new IllegalArgumentException("The " + domain + " was made in another context than this id's: the "
                    + "connection manager opens devices itself, see context()");
        }
    }

    private long callCreate(ProtectionDomain domain, long attributes) {
        inC.lock();
        try {
            return callCreateAlone(domain, attributes);
        } finally {
            inC.unlock();
        }
    }

    private long callCreateAlone(ProtectionDomain domain, long attributes) {
        boolean plain = ibv_qp_init_attr_ex.comp_mask(
                        MemorySegment.ofAddress(attributes).reinterpret(ibv_qp_init_attr_ex.sizeof()))
                == rdma_h.IBV_QP_INIT_ATTR_PD();
        long result = plain
                ? RdmaCm.CREATE_QP.call(address, VerbsAccess.get().address(domain), attributes)
                : RdmaCm.CREATE_QP_EX.call(address, attributes);
        if ((int) result != 0) {
            int errno = CFunction.errno(); // first, since toString() calls C too
            throw CmFailures.failure(
                    plain ? RdmaCm.CREATE_QP : RdmaCm.CREATE_QP_EX,
                    errno,
                    toString(),
                    errno == Errno.EINVAL ? "Does the device have queues of this size?" : "");
        }
        return rdma_cm_id.qp(struct()).address();
    }

    /**
     * C changes the queue pair's state when it connects, accepts or disconnects, and when it takes an event. At that
     * moment the kernel refuses to destroy it, of which {@code rdma_destroy_qp} does not tell: it would stay for ever.
     */
    private void callDestroy(long pair) {
        inC.lock();
        try {
            while (!inbox.channel.withoutEvents(inbox, () -> RdmaCm.DESTROY_QP.call(address))) {
                Thread.onSpinWait(); // the id is changing its channel
            }
            queuePair = null;
        } finally {
            inC.unlock();
        }
    }

    /**
     * Its shared receive queue, if one was made on it.
     *
     * @return the queue of {@link #createSharedReceiveQueue}
     */
    public Optional<SharedReceiveQueue> sharedReceiveQueue() {
        lifetime.checkOpen();
        return Optional.ofNullable(sharedReceives);
    }

    /**
     * Makes a shared receive queue on this id, closed by this id's arena ({@code rdma_create_srq}).
     *
     * @param domain a protection domain of this id's {@link #context}
     * @param options for example {@code SharedReceiveQueue.basic()}
     * @return a new shared receive queue
     */
    @CName({"rdma_create_srq", "rdma_create_srq_ex", "rdma_destroy_srq"})
    public SharedReceiveQueue createSharedReceiveQueue(ProtectionDomain domain, SharedReceiveQueueOptions options) {
        return createSharedReceiveQueue(domain, options, arena());
    }

    /**
     * Makes a shared receive queue on this id ({@code rdma_create_srq}): the queue pair that is made afterwards takes its
     * receives from there, and so may those of other ids that name it.
     *
     * @param domain a protection domain of this id's {@link #context}
     * @param options for example {@code SharedReceiveQueue.basic()}
     * @param arena what will close it
     * @return a new shared receive queue
     * @throws IllegalStateException if the id has one already, or no device yet
     * @throws IllegalArgumentException if the domain belongs to another context
     */
    @CName({"rdma_create_srq", "rdma_create_srq_ex", "rdma_destroy_srq"})
    public SharedReceiveQueue createSharedReceiveQueue(
            ProtectionDomain domain, SharedReceiveQueueOptions options, VerbsArena arena) {
        making.lock();
        try {
            lifetime.checkOpen();
            if (sharedReceives != null) {
                throw new IllegalStateException(this + " has a shared receive queue already: " + sharedReceives);
            }
            checkSameContext(domain);
            boolean plain = options.type() == SharedReceiveQueueType.BASIC;
            SharedReceiveQueue made = VerbsAccess.get()
                    .adoptSharedReceiveQueue(
                            domain,
                            options,
                            arena,
                            attributes -> {
                                String what =
                                        this + ", " + options; // before, since it calls C too, which changes errno
                                CFunction create = plain ? RdmaCm.CREATE_SRQ : RdmaCm.CREATE_SRQ_EX;
                                CmFailures.check(
                                        create,
                                        plain
                                                ? create.call(
                                                        address,
                                                        VerbsAccess.get().address(domain),
                                                        attributes)
                                                : create.call(address, attributes),
                                        what);
                                return rdma_cm_id.srq(struct()).address();
                            },
                            queue -> {
                                RdmaCm.DESTROY_SRQ.call(address);
                                sharedReceives = null;
                            },
                            this);
            sharedReceives = made;
            return made;
        } finally {
            making.unlock();
        }
    }
}
