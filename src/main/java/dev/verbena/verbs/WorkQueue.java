package dev.verbena.verbs;

import static dev.verbena.verbs.WorkQueueOptions.SGE;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_wq;
import dev.verbena.internal.raw.ibv_wq_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * A queue of receives without a queue pair ({@code struct ibv_wq}). Several work queues make an {@link IndirectionTable},
 * over which a queue pair spreads packets (RSS).
 *
 * {@snippet file="ObjectSnippets.java" region="work-queue"}
 *
 * <p>All threads may use a queue of a {@linkplain VerbsArena#ofShared shared} arena; one of a confined arena belongs to
 * the arena's thread. The arena destroys the queue, or {@link #close} does.
 */
public final class WorkQueue extends ContextObject {
    static final String POST = "ibv_post_wq_recv";

    private final ProtectionDomain domain;
    private final WorkQueueOptions options;
    private final int number;
    private final Queue<ReceiveBatch> batches = new ConcurrentLinkedQueue<>();
    private final PostPath path;
    private final SingleRequestBatches<ReceiveBatch> singleReceives;

    private volatile State state;

    private WorkQueue(ObjectLifetime lifetime, ProtectionDomain domain, WorkQueueOptions options, long address) {
        super(lifetime, domain.context, address);
        this.domain = domain;
        this.options = options;
        MemorySegment wq = MemorySegment.ofAddress(address).reinterpret(ibv_wq.sizeof());
        initialise(wq);
        this.number = ibv_wq.wq_num(wq);
        this.path = PostPath.ofWorkReceives(
                this, context.provider().forWorkReceives(ibv_wq.post_recv(wq)), options.queue());
        ReceiveBatch own = receives(1);
        this.singleReceives = new SingleRequestBatches<>(own, lifetime.isConfined() ? own : receives(1));
        this.state = State.of(ibv_wq.state(wq));
        path.ready(state == State.READY);
        context.events.add(address, this);
    }

    /** Initialises the fields that C's inline function sets after it has called the driver. */
    private static void initialise(MemorySegment wq) {
        ibv_wq.wq_context(wq, MemorySegment.NULL);
        ibv_wq.events_completed(wq, 0);
        // PTHREAD_MUTEX_INITIALIZER and PTHREAD_COND_INITIALIZER are zeros in all C libraries of Linux.
        ibv_wq.mutex(wq).fill((byte) 0);
        ibv_wq.cond(wq).fill((byte) 0);
    }

    static WorkQueue create(ProtectionDomain domain, WorkQueueOptions options, VerbsArena arena) {
        Context context = domain.context;
        QueuePairCreation.checkThreads(options.queue(), arena);
        options.queue().checkIn(context, QueuePairCreation.DOMAIN);
        return ObjectLifetime.create(arena, List.of(domain, options.queue()), (lifetime, scratch) -> {
            long init = options.write(domain, scratch).address();
            CFunction create = context.function(ContextVerb.CREATE_WQ);
            long queue = Calls.pointer(create, domain + ", " + options, context.address(), init);
            return new WorkQueue(lifetime, domain, options, queue);
        });
    }

    @CName("ibv_destroy_wq")
    @Override
    void destroy() {
        String name = "work queue " + number + " of " + context.name(); // it counts as closed now
        Calls.run(context.function(ContextVerb.DESTROY_WQ), name, address);
        lifetime.noteDestroyed();
        batches.forEach(WorkBatch::end);
        context.events.remove(address, this);
    }

    /**
     * Returns the number of this queue ({@code wq_num}).
     *
     * @return the number
     */
    public int number() {
        lifetime.checkOpen();
        return number;
    }

    /**
     * Returns the state after the last {@link #modify}.
     *
     * @return the state
     */
    public State state() {
        lifetime.checkOpen();
        return state;
    }

    /**
     * Changes the state ({@code ibv_modify_wq}).
     *
     * @param to the new state
     */
    @CName("ibv_modify_wq")
    public void modify(State to) {
        if (to == State.UNKNOWN) {
            throw new IllegalArgumentException("state of a work queue must not be UNKNOWN");
        }
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment change = ibv_wq_attr.allocate(scratch);
            ibv_wq_attr.attr_mask(change, rdma_h.IBV_WQ_ATTR_STATE);
            ibv_wq_attr.wq_state(change, to.code);
            Calls.run(context.function(ContextVerb.MODIFY_WQ), this + " to " + to, address, change.address());
            state = to;
            path.ready(to == State.READY);
        }
    }

    /**
     * Changes the way that this queue treats packets ({@code ibv_modify_wq}).
     *
     * @param set the flags to set
     * @param cleared the flags to clear
     */
    @CName("ibv_modify_wq")
    public void modify(Set<WorkQueueOptions.Flag> set, Set<WorkQueueOptions.Flag> cleared) {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment change = ibv_wq_attr.allocate(scratch);
            ibv_wq_attr.attr_mask(change, rdma_h.IBV_WQ_ATTR_FLAGS);
            ibv_wq_attr.flags(change, WorkQueueOptions.Flag.bits(set));
            ibv_wq_attr.flags_mask(change, WorkQueueOptions.Flag.bits(set) | WorkQueueOptions.Flag.bits(cleared));
            Calls.run(
                    context.function(ContextVerb.MODIFY_WQ),
                    this + ", set " + set + ", clear " + cleared,
                    address,
                    change.address());
        }
    }

    /**
     * Makes a batch of receives, which is posted with one call into C.
     *
     * @param capacity the number of requests that the batch can hold
     * @return a new batch: keep it, its memory is freed after this queue is closed
     */
    @CName(POST)
    public ReceiveBatch receiveBatch(int capacity) {
        WorkBatch.checkCapacity(capacity);
        lifetime.checkOpen();
        return receives(capacity);
    }

    private ReceiveBatch receives(int capacity) {
        ReceiveBatch batch = new ReceiveBatch(this, domain, path, capacity, SGE.of(options));
        batches.add(batch);
        return batch;
    }

    /**
     * Posts a receive ({@code ibv_post_wq_recv}).
     *
     * @param id comes back with the completion
     * @param local the memory for the message, which fills one piece after the other
     * @throws IllegalStateException if the queue is not {@link State#READY}
     * @throws IndexOutOfBoundsException if a piece is longer than 4 GiB - 1
     * @throws PostException if the queue is full
     */
    @CName(POST)
    public void postReceive(long id, LocalMemory... local) {
        if (local.length > SGE.of(options)) {
            throw new IllegalArgumentException("A receive has at most " + SGE.of(options) + " pieces here");
        }
        try (var one = singleReceives.claim()) {
            ReceiveBatch batch = local.length == 0 ? one.batch.receive(id) : one.batch.receive(id, local[0]);
            for (int i = 1; i < local.length; i++) {
                batch.and(local[i]);
            }
            batch.post();
        }
    }

    IllegalStateException cannotReceive() {
        return new IllegalStateException(this + " takes receives in READY only: it is in " + state);
    }

    /** Returns for example {@code work queue 3 of rxe0 (READY)}. */
    @Override
    public String toString() {
        return "work queue " + number + " of " + context.name() + " (" + (isOpen() ? state : "closed") + ")";
    }

    /** A state of a work queue ({@code enum ibv_wq_state}). */
    public enum State {
        /** The queue is new, and nothing can be posted ({@code IBV_WQS_RESET}). */
        RESET(rdma_h.IBV_WQS_RESET),
        /** The queue receives ({@code IBV_WQS_RDY}). */
        READY(rdma_h.IBV_WQS_RDY),
        /** The queue has failed, and posted receives complete as flushed ({@code IBV_WQS_ERR}). */
        ERROR(rdma_h.IBV_WQS_ERR),
        /** The state is unknown to the library ({@code IBV_WQS_UNKNOWN}), or its number to this release. */
        UNKNOWN(rdma_h.IBV_WQS_UNKNOWN);

        final int code;

        State(int code) {
            this.code = code;
        }

        static State of(int code) {
            return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
        }
    }
}
