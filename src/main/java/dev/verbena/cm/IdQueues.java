package dev.verbena.cm;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.raw.ibv_qp_init_attr_ex;
import dev.verbena.internal.raw.ibv_srq_init_attr_ex;
import dev.verbena.internal.raw.rdma_cm_id;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.SharedReceiveQueueOptions;
import dev.verbena.verbs.access.VerbsAccess;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** The queue pair and the queues of an id: makes them with the connection manager's functions, and destroys them. */
final class IdQueues {
    private final ConnectionId owner;
    private final CmId id;
    private final Mutex making = new Mutex();

    private volatile @Nullable QueuePair queuePair;
    private volatile @Nullable SharedReceiveQueue sharedReceives;
    private volatile @Nullable OwnQueues own;

    /** The completion queues that were made with the queue pair, and all objects made with them: the youngest first. */
    private record OwnQueues(CompletionQueue sends, CompletionQueue receives, List<VerbsObject> all) {}

    IdQueues(ConnectionId owner, CmId id) {
        this.owner = owner;
        this.id = id;
    }

    @Nullable
    QueuePair queuePair() {
        return queuePair;
    }

    @Nullable
    SharedReceiveQueue sharedReceiveQueue() {
        return sharedReceives;
    }

    /** Returns the completion queue of sends that was made with the queue pair. */
    @Nullable
    CompletionQueue sends() {
        OwnQueues made = own;
        return made == null ? null : made.sends();
    }

    /** Returns the completion queue of receives that was made with the queue pair. */
    @Nullable
    CompletionQueue receives() {
        OwnQueues made = own;
        return made == null ? null : made.receives();
    }

    /**
     * Closes the completion queues before the id is destroyed. Queues of another arena stay open until that arena closes:
     * it may be closing right now, and waiting for this id.
     */
    void closeOwn() {
        OwnQueues made = own;
        if (made != null && made.sends().arena() == owner.arena()) {
            closeUnlessUsed(made);
        }
    }

    private static void closeUnlessUsed(OwnQueues made) {
        try {
            made.all().forEach(VerbsObject::close);
        } catch (ResourceBusyException inUse) {
            // Another queue pair uses the queues: they stay open until their arena closes.
        }
    }

    ProtectionDomain domain() {
        Context context = id.context();
        return id.call(() ->
                id.events.channel.domain(context, rdma_cm_id.pd(id.struct()).address()));
    }

    QueuePair createQueuePair(QueueCapabilities sizes, VerbsArena arena) {
        Objects.requireNonNull(sizes, "sizes"); // before the queues of an earlier queue pair are closed
        ArenaLifetime.of(arena).checkOpen();
        try (var _ = making.held()) {
            checkNoQueuePair();
            ProtectionDomain domain = owner.protectionDomain();
            OwnQueues before = own;
            if (before != null) {
                closeUnlessUsed(before);
            }
            own = null;
            List<VerbsObject> made = new ArrayList<>();
            try {
                Context context = id.context();
                CompletionQueue sends = makeQueue(context, sizes.sendDepth(), arena, made);
                CompletionQueue receives = makeQueue(context, sizes.receiveDepth(), arena, made);
                QueuePairOptions options =
                        id.hasDatagrams() ? QueuePair.ud(sends, receives) : QueuePair.rc(sends, receives);
                QueuePair pair = createQueuePair(domain, options.capabilities(sizes), arena);
                own = new OwnQueues(sends, receives, made);
                return pair;
            } catch (Throwable t) {
                made.forEach(object -> CmFailures.undo(t, object::close));
                throw t;
            }
        }
    }

    /** Makes a completion queue and its channel, and notes them: the youngest first. */
    static CompletionQueue makeQueue(Context context, int depth, VerbsArena arena, List<VerbsObject> made) {
        CompletionChannel channel = VerbsAccess.get().shareCompletionChannel(context, arena);
        made.addFirst(channel);
        CompletionQueue queue = context.createCompletionQueue(
                CompletionQueueOptions.of(Math.max(1, depth)).channel(channel), arena);
        made.addFirst(queue);
        return queue;
    }

    QueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options, VerbsArena arena) {
        try (var _ = making.held()) {
            checkNoQueuePair();
            checkSameContext(domain);
            VerbsAccess verbs = VerbsAccess.get();
            QueuePair made = verbs.adoptQueuePair(
                    domain,
                    options.port(id.devicePort()),
                    sharedReceives,
                    arena,
                    (attributes, hints) -> id.call(() -> callCreate(attributes, hints)),
                    this::callDestroy,
                    owner);
            queuePair = made;
            verbs.noteState(made, made.type() == QueuePairType.UD ? QueuePairState.RTS : QueuePairState.INIT);
            return made;
        }
    }

    private void checkNoQueuePair() {
        id.lifetime.checkOpen();
        if (queuePair != null) {
            throw new IllegalStateException(id + " has a queue pair already: " + queuePair);
        }
    }

    private void checkSameContext(ProtectionDomain domain) {
        VerbsAccess verbs = VerbsAccess.get();
        if (verbs.address(id.context()) != verbs.address(domain.context())) {
            throw new IllegalArgumentException("The " + domain + " was made in another context than the id's. The "
                    + "connection manager opens devices itself: use ConnectionId.context()");
        }
    }

    private long callCreate(long attributes, IntFunction<String> hints) {
        MemorySegment struct = Memory.struct(attributes, ibv_qp_init_attr_ex.sizeof());
        boolean plain = ibv_qp_init_attr_ex.comp_mask(struct) == rdma_h.IBV_QP_INIT_ATTR_PD;
        long result = plain
                ? RdmaCm.CREATE_QP.call(
                        id.address, ibv_qp_init_attr_ex.pd(struct).address(), attributes)
                : RdmaCm.CREATE_QP_EX.call(id.address, attributes);
        if ((int) result != 0) {
            int errno = CFunction.errno(); // first: toString() calls C too
            throw id.explain(CmFailures.failure(
                    plain ? RdmaCm.CREATE_QP : RdmaCm.CREATE_QP_EX, errno, id.toString(), hints.apply(errno)));
        }
        return Memory.getLong(id.address + rdma_cm_id.qp$offset());
    }

    /**
     * Destroys the queue pair as {@code rdma_destroy_qp} does, in two steps. C changes the queue pair when it connects,
     * accepts, disconnects or takes an event. So the id loses the queue pair while C does none of this. Destroying may take
     * long, and delays no event.
     */
    private void callDestroy(long pair) {
        try (var _ = id.inC.held()) {
            setPair(MemorySegment.NULL);
            int result = (int) Ibv.DESTROY_QP.call(pair);
            if (result != 0) {
                int errno = Failures.errnoOf(result);
                setPair(MemorySegment.ofAddress(pair));
                throw CmFailures.failure(RdmaCm.DESTROY_QP, errno, id.toString(), "");
            }
            queuePair = null;
        }
    }

    private void setPair(MemorySegment pair) {
        id.events.channel.reader().withoutEvents(() -> rdma_cm_id.qp(id.struct(), pair));
    }

    SharedReceiveQueue createSharedReceiveQueue(
            ProtectionDomain domain, SharedReceiveQueueOptions options, VerbsArena arena) {
        try (var _ = making.held()) {
            id.lifetime.checkOpen();
            if (sharedReceives != null) {
                throw new IllegalStateException(id + " has a shared receive queue already: " + sharedReceives);
            }
            checkSameContext(domain);
            SharedReceiveQueue made = VerbsAccess.get()
                    .adoptSharedReceiveQueue(
                            domain,
                            options,
                            arena,
                            (attributes, hints) -> id.call(() -> callCreate(options, attributes, hints)),
                            this::callDestroyShared,
                            owner);
            sharedReceives = made;
            return made;
        }
    }

    private long callCreate(SharedReceiveQueueOptions options, long attributes, IntFunction<String> hints) {
        MemorySegment struct = Memory.struct(attributes, ibv_srq_init_attr_ex.sizeof());
        boolean plain = ibv_srq_init_attr_ex.srq_type(struct) == rdma_h.IBV_SRQT_BASIC;
        CFunction create = plain ? RdmaCm.CREATE_SRQ : RdmaCm.CREATE_SRQ_EX;
        long of = plain ? ibv_srq_init_attr_ex.pd(struct).address() : attributes;
        Calls.run( // the extended one takes two arguments
                create, Calls.words(id, options), hints, id.address, of, attributes);
        return rdma_cm_id.srq(id.struct()).address();
    }

    private void callDestroyShared(long queue) {
        try (var _ = id.inC.held()) {
            RdmaCm.DESTROY_SRQ.call(id.address);
            sharedReceives = null;
        }
    }
}
