package dev.verbena.verbs;

import static dev.verbena.verbs.SharedReceiveQueueOptions.QUEUE;
import static dev.verbena.verbs.SharedReceiveQueueOptions.TAGS;
import static dev.verbena.verbs.SharedReceiveQueueOptions.TAG_OPERATIONS;
import static dev.verbena.verbs.SharedReceiveQueueOptions.TYPE;
import static dev.verbena.verbs.SharedReceiveQueueOptions.XRC_DOMAIN;

import dev.verbena.CName;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_srq_attr;
import dev.verbena.internal.raw.ibv_srq_init_attr;
import dev.verbena.internal.raw.ibv_srq_init_attr_ex;
import dev.verbena.internal.raw.ibv_tm_cap;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.access.VerbsAccess.QueueMaker;
import dev.verbena.verbs.device.DeviceAttributes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.IntFunction;
import java.util.function.LongConsumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A receive queue that many queue pairs share ({@code struct ibv_srq}). Name it with
 * {@link QueuePairOptions#sharedReceiveQueue}. A receive completes in the completion queue of the queue pair that took it.
 *
 * {@snippet file="ObjectSnippets.java" region="shared-receive-queue"}
 *
 * <p>When a queue pair fails or is reset, the receives stay in the shared queue.
 *
 * <p>All threads may use a queue of a {@linkplain VerbsArena#ofShared shared} arena; one of a confined arena belongs to
 * the arena's thread. The arena destroys the queue, or {@link #close} does.
 */
public final class SharedReceiveQueue extends ContextObject {
    static final String POST = "ibv_post_srq_recv";

    private final ProtectionDomain domain;
    private final SharedReceiveQueueOptions options;
    private final PostedOperations log;
    private final Queue<ReceiveBatch> batches = new ConcurrentLinkedQueue<>();
    private final PostPath path;
    private final SingleRequestBatches<ReceiveBatch> singleReceives;
    /** The batch of the first thread, which the data path reads from here. */
    private final ReceiveBatch ownReceives;

    private final long receive; // its request

    private volatile Attributes granted;
    private final @Nullable LongConsumer destroyer;

    private SharedReceiveQueue(
            ObjectLifetime lifetime,
            ProtectionDomain domain,
            SharedReceiveQueueOptions options,
            Attributes granted,
            long address,
            @Nullable LongConsumer destroyer) {
        super(lifetime, domain.context, address);
        this.domain = domain;
        this.options = options;
        this.granted = granted;
        this.destroyer = destroyer;
        this.log = new PostedOperations(granted.depth(), true);
        this.path = PostPath.ofSharedReceives(this, context.provider().forSharedReceives(), log);
        this.ownReceives = receives(1);
        this.receive = ownReceives.address;
        this.singleReceives =
                new SingleRequestBatches<>(ownReceives, lifetime.isConfined() ? ownReceives : receives(1));
        context.events.add(address, this);
    }

    /**
     * Returns options for a shared receive queue of queue pairs that name it.
     *
     * @return options for {@link ProtectionDomain#createSharedReceiveQueue}
     */
    public static SharedReceiveQueueOptions basic() {
        return SharedReceiveQueueOptions.of(Type.BASIC, null, null, 0, 0);
    }

    /**
     * Returns options for a shared receive queue of extended reliable connections, whose senders name the queue by its
     * {@link #number}.
     *
     * @param xrcDomain the domain of the connections
     * @param queue the completion queue of receives
     * @return options for {@link ProtectionDomain#createSharedReceiveQueue}
     */
    public static SharedReceiveQueueOptions xrc(XrcDomain xrcDomain, CompletionQueue queue) {
        return SharedReceiveQueueOptions.of(Type.XRC, xrcDomain, queue, 0, 0);
    }

    /**
     * Returns options for a shared receive queue that finds the receive for a message by the message's tag.
     *
     * @param queue the completion queue of receives and of operations on tags
     * @param tags the number of tagged receives that the queue must hold
     * @param operations the number of operations on tags that may be in progress
     * @return options for {@link ProtectionDomain#createSharedReceiveQueue}
     */
    public static SharedReceiveQueueOptions tagMatching(CompletionQueue queue, int tags, int operations) {
        return SharedReceiveQueueOptions.of(Type.TAG_MATCHING, null, queue, tags, operations);
    }

    static SharedReceiveQueue make(ProtectionDomain domain, SharedReceiveQueueOptions options, VerbsArena arena) {
        return make(domain, options, arena, List.of(), init -> callCreate(domain, options, init), null);
    }

    /** Wraps a shared receive queue that another library makes from the same struct, and destroys. */
    static SharedReceiveQueue adopt(
            ProtectionDomain domain,
            SharedReceiveQueueOptions options,
            VerbsArena arena,
            QueueMaker maker,
            LongConsumer destroyer,
            VerbsObject owner) {
        return make(
                domain,
                options,
                arena,
                List.of(owner),
                init -> {
                    fillExtended(domain, options, init);
                    return maker.make(init.address(), hints(domain.context));
                },
                destroyer);
    }

    private static SharedReceiveQueue make(
            ProtectionDomain domain,
            SharedReceiveQueueOptions options,
            VerbsArena arena,
            List<VerbsObject> owners,
            ToLongFunction<MemorySegment> maker,
            @Nullable LongConsumer destroyer) {
        List<ContextObject> used = ContextObject.present(XRC_DOMAIN.of(options), QUEUE.of(options));
        List<VerbsObject> parents = new ArrayList<>(List.of(domain));
        parents.addAll(used);
        parents.addAll(owners);
        return ObjectLifetime.create(arena, parents, (lifetime, scratch) -> {
            ContextObject.checkIn(domain.context, QueuePairCreation.DOMAIN, used);
            MemorySegment init = ibv_srq_init_attr_ex.allocate(scratch); // it begins like the shorter struct
            options.attributes().write(ibv_srq_init_attr_ex.attr(init));
            long srq = maker.applyAsLong(init);
            return new SharedReceiveQueue(
                    lifetime, domain, options, Attributes.read(ibv_srq_init_attr_ex.attr(init)), srq, destroyer);
        });
    }

    private static long callCreate(ProtectionDomain domain, SharedReceiveQueueOptions options, MemorySegment init) {
        assert ibv_srq_init_attr.attr$offset() == ibv_srq_init_attr_ex.attr$offset();
        boolean plain = TYPE.of(options) == Type.BASIC;
        if (!plain) {
            fillExtended(domain, options, init);
        }
        Context context = domain.context;
        return Calls.pointer(
                plain ? Ibv.CREATE_SRQ : context.function(ContextVerb.CREATE_SRQ_EX),
                Calls.words(context.name(), options),
                hints(context),
                plain ? domain.address() : context.address(),
                init.address());
    }

    private static void fillExtended(ProtectionDomain domain, SharedReceiveQueueOptions options, MemorySegment init) {
        ibv_srq_init_attr_ex.srq_type(init, TYPE.of(options).code);
        InitAttributes attributes = new InitAttributes(init)
                .has(rdma_h.IBV_SRQ_INIT_ATTR_TYPE)
                .optional(rdma_h.IBV_SRQ_INIT_ATTR_PD, ibv_srq_init_attr_ex.pd$offset(), domain)
                .optional(rdma_h.IBV_SRQ_INIT_ATTR_XRCD, ibv_srq_init_attr_ex.xrcd$offset(), XRC_DOMAIN.of(options))
                .optional(rdma_h.IBV_SRQ_INIT_ATTR_CQ, ibv_srq_init_attr_ex.cq$offset(), QUEUE.of(options));
        if (TYPE.of(options) == Type.TAG_MATCHING) {
            MemorySegment tags = ibv_srq_init_attr_ex.tm_cap(init);
            ibv_tm_cap.max_num_tags(tags, TAGS.of(options));
            ibv_tm_cap.max_ops(tags, TAG_OPERATIONS.of(options));
            attributes.has(rdma_h.IBV_SRQ_INIT_ATTR_TM);
        }
        ibv_srq_init_attr_ex.comp_mask(init, attributes.mask());
    }

    private static IntFunction<String> hints(Context context) {
        return errno -> hint(context, errno);
    }

    /** Returns the hint for a queue that C did not make, also if another library called C. */
    private static String hint(Context context, int errno) {
        DeviceAttributes device = context.queries().attributes();
        String usual = switch (errno) {
            case Errno.EINVAL ->
                "This device allows at most " + device.maxSharedReceives() + " receives a queue, "
                        + device.maxSharedReceiveSge() + " pieces of memory a receive";
            case Errno.EOPNOTSUPP -> "This device or its driver has no shared receive queue of this kind";
            default -> "";
        };
        return context.limits().hint(DriverLimits.Part.SHARED_RECEIVES, errno, usual);
    }

    @CName("ibv_destroy_srq")
    @Override
    void destroy() {
        if (destroyer == null) {
            Calls.run(Ibv.DESTROY_SRQ, this, address);
        } else {
            destroyer.accept(address);
        }
        lifetime.noteDestroyed();
        batches.forEach(WorkBatch::end);
        context.events.remove(address, this);
    }

    /** Returns the log of posted receives, for the queue pairs that share this queue. */
    PostedOperations log() {
        return log;
    }

    /**
     * Returns the protection domain that this queue was made in. The memory of its receives is registered there.
     *
     * @return the protection domain
     */
    public ProtectionDomain domain() {
        lifetime.checkOpen();
        return domain;
    }

    /**
     * Returns the type.
     *
     * @return for example {@link Type#BASIC}
     */
    public Type type() {
        lifetime.checkOpen();
        return TYPE.of(options);
    }

    /**
     * Returns the granted sizes, or those found by the last {@link #query}.
     *
     * @return at least the sizes asked for
     */
    public Attributes capabilities() {
        lifetime.checkOpen();
        return granted;
    }

    /**
     * Returns the number by which senders of extended reliable connections name this queue ({@code ibv_get_srq_num}).
     *
     * @return the number
     * @throws UnsupportedVerbException if the shared receive queues of this device have no numbers
     */
    @CName("ibv_get_srq_num")
    public int number() {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment number = scratch.allocate(ValueLayout.JAVA_INT);
            Calls.run(context.function(ContextVerb.GET_SRQ_NUM), this, address, number.address());
            return number.get(ValueLayout.JAVA_INT, 0);
        }
    }

    /**
     * Asks the device for the sizes ({@code ibv_query_srq}).
     *
     * @return the sizes, and the limit that has not been reached yet
     */
    @CName("ibv_query_srq")
    public Attributes query() {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment found = ibv_srq_attr.allocate(scratch);
            Calls.run(Ibv.QUERY_SRQ, this, address, found.address());
            granted = Attributes.read(found);
            return granted;
        }
    }

    /**
     * Asks for one event when fewer receives than a limit are left ({@code ibv_modify_srq}, {@code IBV_SRQ_LIMIT}). After
     * the event, ask again.
     *
     * @param receives the limit; 0 asks for no event
     * @throws VerbsException if the limit is more than the queue holds
     */
    @CName("ibv_modify_srq")
    public void limit(int receives) {
        modify(new Attributes(0, 0, receives), rdma_h.IBV_SRQ_LIMIT, "limit " + receives);
    }

    /**
     * Changes the number of receives that this queue holds ({@code ibv_modify_srq}, {@code IBV_SRQ_MAX_WR}). Posted
     * receives stay.
     *
     * @param depth the number of receives that the queue must hold at least
     * @throws VerbsException if more receives are posted, or the device cannot resize the queue
     */
    @CName("ibv_modify_srq")
    public void resize(int depth) {
        if (depth < 1) {
            throw new IllegalArgumentException("A shared receive queue holds at least one receive, not " + depth);
        }
        modify(new Attributes(depth, 0, 0), rdma_h.IBV_SRQ_MAX_WR, "depth " + depth);
        query();
    }

    private void modify(Attributes wanted, int mask, String what) {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment attributes = ibv_srq_attr.allocate(scratch);
            wanted.write(attributes);
            Calls.run(
                    Ibv.MODIFY_SRQ,
                    this + ", " + what,
                    errno -> errno == Errno.EINVAL
                            ? "The limit must not be more than the depth, nor the depth less than the number of posted receives"
                            : "",
                    address,
                    attributes.address(),
                    mask);
        }
    }

    /**
     * Makes a batch of receives.
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
        ReceiveBatch batch = new ReceiveBatch(this, domain, path, capacity, granted.sge());
        batches.add(batch);
        return batch;
    }

    /**
     * Posts a receive ({@code ibv_post_srq_recv}): memory for one message to any of the queue pairs.
     *
     * @param id comes back with the completion
     * @param local the memory for the message; its region needs {@link AccessFlag#LOCAL_WRITE}
     */
    @CName({POST, "rdma_post_recv"})
    public void postReceive(long id, LocalMemory local) {
        if (ownReceives.isUser()) {
            ownReceives.put(receive, id, local);
            ownReceives.postOne(address, receive, id, ReceiveBatch.RECEIVE);
        } else {
            ReceiveBatch.postOne(singleReceives, id, local);
        }
    }

    /**
     * Posts a receive into a range of memory, without a slice ({@code ibv_post_srq_recv}).
     *
     * @param id comes back with the completion
     * @param local the memory that the range is part of; its region needs {@link AccessFlag#LOCAL_WRITE}
     * @param offset the offset of the range in {@code local}
     * @param length the number of bytes
     */
    @CName(POST)
    public void postReceive(long id, LocalMemory local, long offset, long length) {
        try (var one = singleReceives.claim()) {
            one.batch.receive(id, local, offset, length).post();
        }
    }

    /**
     * Returns the operations on tags, for a queue made by {@link #tagMatching}.
     *
     * @return the operations
     * @throws IllegalStateException if the queue is of another type
     */
    public TagMatching tags() {
        lifetime.checkOpen();
        if (TYPE.of(options) != Type.TAG_MATCHING) {
            throw new IllegalStateException("Tags are for queues made by tagMatching(): " + this);
        }
        return new TagMatching(this);
    }

    /** Posts an operation on tags. */
    void callTagOperation(MemorySegment request, MemorySegment firstRefused, String what) {
        try (var _ = lifetime.held()) {
            Calls.run(
                    context.function(ContextVerb.POST_SRQ_OPS),
                    this + ", " + what,
                    errno -> errno == Errno.ENOMEM ? "The queue has no room for more tags or operations" : "",
                    address,
                    request.address(),
                    firstRefused.address());
        }
    }

    /** Returns for example {@code BASIC shared receive queue of rxe0 (64x1, limit 0)}. */
    @Override
    public String toString() {
        return TYPE.of(options) + " shared receive queue of " + context.name() + " (" + granted + ")";
    }

    /**
     * The sizes of a shared receive queue ({@code struct ibv_srq_attr}).
     *
     * @param depth the number of receives that the queue holds ({@code max_wr})
     * @param sge the number of pieces of memory that a receive can name ({@code max_sge})
     * @param limit the number of receives below which the device raises an event; 0 for no event ({@code srq_limit})
     */
    public record Attributes(int depth, int sge, int limit) {
        /**
         * Makes sizes.
         *
         * @throws IllegalArgumentException if a size is negative
         */
        public Attributes {
            if (depth < 0 || sge < 0 || limit < 0) {
                throw new IllegalArgumentException("sizes of a shared receive queue can't be negative, got depth "
                        + depth + ", " + sge + " pieces, limit " + limit);
            }
        }

        static Attributes read(MemorySegment attr) {
            return new Attributes(ibv_srq_attr.max_wr(attr), ibv_srq_attr.max_sge(attr), ibv_srq_attr.srq_limit(attr));
        }

        void write(MemorySegment attr) {
            ibv_srq_attr.max_wr(attr, depth);
            ibv_srq_attr.max_sge(attr, sge);
            ibv_srq_attr.srq_limit(attr, limit);
        }

        /** Returns the sizes, for example {@code 64x1, limit 0}. */
        @Override
        public String toString() {
            return depth + "x" + sge + ", limit " + limit;
        }
    }

    /** A type of shared receive queues ({@code enum ibv_srq_type}). */
    public enum Type {
        /** A queue of the queue pairs that name it ({@code IBV_SRQT_BASIC}). */
        BASIC(rdma_h.IBV_SRQT_BASIC),
        /** A queue of extended reliable connections, whose senders name it ({@code IBV_SRQT_XRC}). */
        XRC(rdma_h.IBV_SRQT_XRC),
        /** A queue that finds receives by tag ({@code IBV_SRQT_TM}). */
        TAG_MATCHING(rdma_h.IBV_SRQT_TM);

        final int code;

        Type(int code) {
            this.code = code;
        }
    }
}
