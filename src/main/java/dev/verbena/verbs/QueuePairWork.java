package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.NativeFlag;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Calls;
import dev.verbena.internal.DataPathCalls;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.OpsVerb;
import dev.verbena.internal.raw.ibv_mw_bind;
import dev.verbena.internal.raw.ibv_mw_bind_info;
import dev.verbena.verbs.device.Port;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** What is posted to a queue pair: in batches, and one by one. */
abstract sealed class QueuePairWork extends QueuePairStates permits QueuePair {
    private static final Calls POST_SEND = Calls.of("ibv_post_send");
    private static final Calls POST_RECEIVE = Calls.of("ibv_post_recv");

    private final int allowedOperations;
    private final boolean criticalPost;
    private final boolean criticalReceive;
    final @Nullable ExtendedSends extended;
    private final long postSend;
    private final long postReceive;
    /** They are told when this is closed, and their memory is kept as long as C may read it. */
    private final Queue<WorkBatch<?>> batches = new ConcurrentLinkedQueue<>();

    private final SingleRequestBatches<SendBatch> singleSends;
    private final SingleRequestBatches<ReceiveBatch> singleReceives;
    private final ReentrantLock binding = new ReentrantLock();

    QueuePairWork(
            ObjectLifetime lifetime,
            @Nullable ProtectionDomain domain,
            QueuePairOptions options,
            QueueCapabilities granted,
            Context context,
            Port port,
            long address) {
        super(lifetime, domain, options, granted, context, port, address);
        this.allowedOperations = QueuePairCreation.allowed(options);
        DriverFunctions provider = context.provider();
        this.extended = options.operations().isEmpty()
                ? null
                : new ExtendedSends(
                        Ibv.QP_TO_QP_EX.call(address), options.operations(), options.type(), provider, self());
        // Another thread may hold the lock of an extended queue pair while it runs Java: see ExtendedCalls.
        this.criticalReceive = provider.criticalPost();
        this.criticalPost = criticalReceive && (extended == null || lifetime.isConfined());
        this.postSend = provider.postSend();
        this.postReceive = provider.postReceive();
        this.singleSends = new SingleRequestBatches<>(lifetime.isConfined(), () -> sends(1));
        this.singleReceives = new SingleRequestBatches<>(lifetime.isConfined(), () -> receives(1));
    }

    private QueuePair self() {
        return (QueuePair) this;
    }

    /**
     * Memory for requests to post together.
     *
     * @param capacity how many requests it holds
     * @return a new batch: keep it, it is freed with this queue pair
     */
    public SendBatch sendBatch(int capacity) {
        checkCapacity(capacity);
        lifetime.checkOpen();
        return sends(capacity);
    }

    private SendBatch sends(int capacity) {
        return keep(new SendBatch(self(), domain, capacity, granted, sends));
    }

    private <T extends WorkBatch<T>> T keep(T batch) {
        batches.add(batch);
        return batch;
    }

    /** It was destroyed: nothing that belongs to it can be used any more. */
    final void endBatches() {
        batches.forEach(WorkBatch::end);
    }

    /**
     * Memory for receives to post together.
     *
     * @param capacity how many requests it holds
     * @return a new batch: keep it, it is freed with this queue pair
     */
    public ReceiveBatch receiveBatch(int capacity) {
        checkCapacity(capacity);
        lifetime.checkOpen();
        return receives(capacity);
    }

    private IllegalStateException noReceivesOfItsOwn() {
        return new IllegalStateException(this + " has no receives of its own: post them to the shared receive queue");
    }

    private ReceiveBatch receives(int capacity) {
        return keep(new ReceiveBatch(
                self(),
                domain,
                capacity,
                granted.receiveSge(),
                receives,
                "ibv_post_recv",
                this::callPostReceive,
                lifetime.isConfined() && criticalReceive && ownReceives ? postReceive : 0,
                address));
    }

    private static void checkCapacity(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("A batch holds at least one request, not " + capacity);
        }
    }

    /**
     * Posts a send ({@code IBV_WR_SEND}): its data arrives in the receive that the peer has posted first.
     *
     * @param id comes back with the completion
     * @param local what to send
     */
    @CName({"ibv_post_send", "rdma_post_send"})
    public void postSend(long id, LocalMemory local) {
        SendBatch one = claimSend();
        try {
            one.send(id, local).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts a send with a number ({@code IBV_WR_SEND_WITH_IMM}).
     *
     * @param id comes back with the completion
     * @param local what to send
     * @param immediate arrives as the same {@code int}
     */
    @CName("ibv_post_send")
    public void postSendImmediate(long id, LocalMemory local, int immediate) {
        SendBatch one = claimSend();
        try {
            one.send(id, local).immediate(immediate).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts a send whose data is copied at once ({@code IBV_SEND_INLINE}): it need not be registered.
     *
     * @param id comes back with the completion
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     */
    @CName("ibv_post_send")
    public void postSendInline(long id, MemorySegment data) {
        SendBatch one = claimSend();
        try {
            one.sendInline(id, data).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts a datagram ({@code IBV_WR_SEND}).
     *
     * @param id comes back with the completion
     * @param local what to send
     * @param path the way there
     * @param queuePairNumber the queue pair at the other end, or {@link #MULTICAST}
     * @param qkey that queue pair's key
     */
    @CName({"ibv_post_send", "rdma_post_ud_send"})
    public void postSend(long id, LocalMemory local, AddressHandle path, int queuePairNumber, int qkey) {
        SendBatch one = claimSend();
        try {
            one.send(id, local).to(path, queuePairNumber, qkey).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts a datagram with a number ({@code IBV_WR_SEND_WITH_IMM}).
     *
     * @param id comes back with the completion
     * @param local what to send
     * @param immediate arrives as the same {@code int}
     * @param path the way there
     * @param queuePairNumber the queue pair at the other end, or {@link #MULTICAST}
     * @param qkey that queue pair's key
     */
    @CName("ibv_post_send")
    public void postSendImmediate(
            long id, LocalMemory local, int immediate, AddressHandle path, int queuePairNumber, int qkey) {
        SendBatch one = claimSend();
        try {
            one.send(id, local)
                    .immediate(immediate)
                    .to(path, queuePairNumber, qkey)
                    .postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts a datagram whose data is copied at once ({@code IBV_SEND_INLINE}): it need not be registered.
     *
     * @param id comes back with the completion
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     * @param path the way there
     * @param queuePairNumber the queue pair at the other end, or {@link #MULTICAST}
     * @param qkey that queue pair's key
     */
    @CName("ibv_post_send")
    public void postSendInline(long id, MemorySegment data, AddressHandle path, int queuePairNumber, int qkey) {
        SendBatch one = claimSend();
        try {
            one.sendInline(id, data).to(path, queuePairNumber, qkey).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts an RDMA write ({@code IBV_WR_RDMA_WRITE}): the data is stored in the peer's memory, and the peer is told
     * nothing.
     *
     * @param id comes back with the completion
     * @param local what to write
     * @param remote where to; at least as long
     */
    @CName({"ibv_post_send", "rdma_post_write"})
    public void postWrite(long id, LocalMemory local, RemoteMemory remote) {
        SendBatch one = claimSend();
        try {
            one.write(id, local, remote).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts an RDMA write that tells the peer ({@code IBV_WR_RDMA_WRITE_WITH_IMM}): it uses up a receive of the peer's.
     *
     * @param id comes back with the completion
     * @param local what to write
     * @param remote where to; at least as long
     * @param immediate arrives as the same {@code int}
     */
    @CName("ibv_post_send")
    public void postWriteImmediate(long id, LocalMemory local, RemoteMemory remote, int immediate) {
        SendBatch one = claimSend();
        try {
            one.write(id, local, remote).immediate(immediate).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts an RDMA write whose data is copied at once ({@code IBV_SEND_INLINE}): it need not be registered.
     *
     * @param id comes back with the completion
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     * @param remote where to; at least as long
     */
    @CName("ibv_post_send")
    public void postWriteInline(long id, MemorySegment data, RemoteMemory remote) {
        SendBatch one = claimSend();
        try {
            one.writeInline(id, data, remote).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts an RDMA read ({@code IBV_WR_RDMA_READ}): the peer's memory is stored here, and the peer is told nothing.
     *
     * @param id comes back with the completion
     * @param local where to; its region needs {@link AccessFlag#LOCAL_WRITE}
     * @param remote what to read; at least as long as {@code local}, which decides how much is read
     */
    @CName({"ibv_post_send", "rdma_post_read"})
    public void postRead(long id, LocalMemory local, RemoteMemory remote) {
        SendBatch one = claimSend();
        try {
            one.read(id, local, remote).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts a fetch-and-add ({@code IBV_WR_ATOMIC_FETCH_AND_ADD}): adds to 8 bytes of the peer's memory, and stores what
     * was there before here.
     *
     * @param id comes back with the completion
     * @param local where the old value is stored; the first 8 bytes of it are used
     * @param remote what to add to: 8 bytes or more, at an address that is a multiple of 8
     * @param value what to add
     */
    @CName("ibv_post_send")
    public void postFetchAndAdd(long id, LocalMemory local, RemoteMemory remote, long value) {
        SendBatch one = claimSend();
        try {
            one.fetchAndAdd(id, local, remote, value).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts a compare-and-swap ({@code IBV_WR_ATOMIC_CMP_AND_SWP}): stores a new value in 8 bytes of the peer's memory if
     * they hold the expected one, and stores what was there before here.
     *
     * @param id comes back with the completion
     * @param local where the old value is stored; the first 8 bytes of it are used
     * @param remote what to compare and swap: 8 bytes or more, at an address that is a multiple of 8
     * @param expected what must be there
     * @param value what to store then
     */
    @CName("ibv_post_send")
    public void postCompareAndSwap(long id, LocalMemory local, RemoteMemory remote, long expected, long value) {
        SendBatch one = claimSend();
        try {
            one.compareAndSwap(id, local, remote, expected, value).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts the binding of a memory window to a part of memory ({@code ibv_bind_mw} for {@link MemoryWindowType#TYPE_1},
     * {@code IBV_WR_BIND_MW} for {@link MemoryWindowType#TYPE_2}). The window has a new key when this returns; it can be
     * used once the request has completed.
     *
     * @param id comes back with the completion
     * @param window the window; one of type 2 must not be bound now
     * @param part what to bind it to, of a memory region with {@link AccessFlag#MW_BIND}
     * @param access what peers may do through the window
     * @throws IllegalArgumentException if the memory region does not allow it
     */
    @CName({"ibv_bind_mw", "ibv_post_send"})
    public void postBind(long id, MemoryWindow window, LocalMemory part, Collection<AccessFlag> access) {
        if (window.type() == MemoryWindowType.TYPE_2) {
            SendBatch one = claimSend();
            try {
                one.bind(id, window, part, access).postAll();
            } finally {
                singleSends.release(one);
            }
        } else {
            int flags = NativeFlag.bits(access);
            window.checkCanCover(part.region(), part, flags);
            bind(id, window, part.region(), part.address(), part.length(), flags);
        }
    }

    /**
     * Posts the unbinding of a memory window of {@link MemoryWindowType#TYPE_1} ({@code ibv_bind_mw} to no bytes). One of
     * type 2 is {@linkplain #postLocalInvalidate invalidated} instead.
     *
     * @param id comes back with the completion
     * @param window a window that is bound
     * @throws IllegalStateException if it is not bound
     */
    @CName("ibv_bind_mw")
    public void postUnbind(long id, MemoryWindow window) {
        lifetime.checkOpen();
        if (window.type() != MemoryWindowType.TYPE_1) {
            throw new IllegalArgumentException("A window of TYPE_2 is invalidated by its key: " + window);
        }
        // Some providers look into the region even when no bytes of it are meant, so it is named.
        bind(id, window, window.region(), 0, 0, 0);
    }

    private void bind(long id, MemoryWindow window, MemoryRegion region, long start, long length, int access) {
        checkAllows(Operation.BIND_MW);
        window.checkUsableIn(domain);
        region.checkUsableIn(domain);
        RequestParts named = new RequestParts(1);
        named.set(0, window, region);
        binding.lock();
        try {
            int entered = named.enter(1, true);
            try {
                window.beginBinding();
                try {
                    callBind(id, window, region, start, length, access);
                    window.nowBound(region, start, length, access);
                } finally {
                    window.endBinding();
                }
            } finally {
                named.exit(entered);
            }
        } finally {
            binding.unlock();
        }
    }

    private void callBind(long id, MemoryWindow window, MemoryRegion region, long start, long length, int access) {
        checkSends();
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment bind = scratch.allocate(ibv_mw_bind.layout());
            ibv_mw_bind.wr_id(bind, id);
            ibv_mw_bind.send_flags(bind, SendFlag.SIGNALED.bit());
            MemorySegment info = ibv_mw_bind.bind_info(bind);
            ibv_mw_bind_info.mr(info, MemorySegment.ofAddress(region.structure()));
            ibv_mw_bind_info.addr(info, start);
            ibv_mw_bind_info.length(info, length);
            ibv_mw_bind_info.mw_access_flags(info, access);
            MemorySegment function = OpsVerb.BIND_MW
                    .in(context.address())
                    .orElseThrow(() -> VerbFailures.failure(OpsVerb.BIND_MW.verb(), Errno.EOPNOTSUPP, toString(), ""));
            int logged = sends.add(id, Operation.BIND_MW.code()); // before it can complete
            int result = (int) CFunction.callAt(function, address, window.address(), bind.address());
            if (result != 0) {
                sends.takeBack(logged);
                throw PostException.of(
                        OpsVerb.BIND_MW.verb(), self(), VerbFailures.errnoOf(result), 0, 1, SendBatch.WHEN_FULL);
            }
        } finally {
            lifetime.release();
        }
    }

    /**
     * Posts the invalidation of a key of this side's ({@code IBV_WR_LOCAL_INV}): peers can no longer use it.
     *
     * @param id comes back with the completion
     * @param key the key, most often of a {@link MemoryWindow}
     */
    @CName("ibv_post_send")
    public void postLocalInvalidate(long id, int key) {
        SendBatch one = claimSend();
        try {
            one.localInvalidate(id, key).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts a send that invalidates a key of the peer's ({@code IBV_WR_SEND_WITH_INV}).
     *
     * @param id comes back with the completion
     * @param local what to send
     * @param key the remote key that the peer gave out
     */
    @CName("ibv_post_send")
    public void postSendInvalidate(long id, LocalMemory local, int key) {
        SendBatch one = claimSend();
        try {
            one.send(id, local).invalidate(key).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts an atomic write ({@code ibv_wr_atomic_write}): stores 8 bytes in the peer's memory at once, so that nobody sees
     * a part of them. For queue pairs made with {@link SendOperation#ATOMIC_WRITE}.
     *
     * @param id comes back with the completion
     * @param value what to store, in this machine's byte order
     * @param remote where to: 8 bytes or more, at an address that is a multiple of 8
     */
    @CName("ibv_wr_atomic_write")
    public void postAtomicWrite(long id, long value, RemoteMemory remote) {
        SendBatch one = claimSend();
        try {
            one.atomicWrite(id, value, remote).postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /**
     * Posts a receive ({@code ibv_post_recv}): memory for one message of the peer's.
     *
     * @param id comes back with the completion
     * @param local where the message is stored; its region needs {@link AccessFlag#LOCAL_WRITE}
     */
    @CName({"ibv_post_recv", "rdma_post_recv"})
    public void postReceive(long id, LocalMemory local) {
        ReceiveBatch one = singleReceives.claim();
        try {
            one.receive(id, local).postAll();
        } finally {
            singleReceives.release(one);
        }
    }

    private SendBatch claimSend() {
        return singleSends.claim();
    }

    /**
     * Whether it posts through {@code ibv_wr_start} and {@code ibv_wr_complete}: see {@link QueuePairOptions#operations}.
     *
     * @return false for a queue pair that posts by {@code ibv_post_send}
     */
    @CName("ibv_qp_to_qp_ex")
    public boolean isExtended() {
        lifetime.checkOpen();
        return isExtendedEvenIfClosed();
    }

    boolean isExtendedEvenIfClosed() {
        return !options.operations().isEmpty();
    }

    /** One call into C, for a caller that has made sure, if this is confined, that it is open and this its thread. */
    int callPostSend(long requests, long firstRefused) {
        checkSends();
        if (lifetime.isConfined()) {
            return postUnguarded(requests, firstRefused);
        }
        int way = lifetime.enter();
        try {
            return postUnguarded(requests, firstRefused);
        } finally {
            lifetime.exit(way);
        }
    }

    boolean postsDirectly() {
        return lifetime.isConfined() && extended == null && criticalPost;
    }

    long postSendFunction() {
        return postSend;
    }

    /** What {@link #callPostSend} comes to where {@link #postsDirectly}, in a state to send. */
    static int callPostDirectly(long function, long qp, long requests, long firstRefused) {
        POST_SEND.one();
        return DataPathCalls.postCritical(function, qp, requests, firstRefused);
    }

    private int postUnguarded(long requests, long firstRefused) {
        return extended == null ? postByList(requests, firstRefused) : extended.post(requests, firstRefused);
    }

    private void checkSends() {
        if (!canSend) {
            throw notYet("Sending", state);
        }
    }

    /** Posts as a queue pair does that is not extended. */
    int postByList(long requests, long firstRefused) {
        POST_SEND.one();
        return DataPathCalls.post(criticalPost, postSend, address, requests, firstRefused);
    }

    /** One call into C, as {@link #callPostSend}. */
    int callPostReceive(long requests, long firstRefused) {
        if (state == QueuePairState.RESET) {
            throw notYet("Receiving", QueuePairState.RESET);
        }
        if (!ownReceives) {
            throw noReceivesOfItsOwn();
        }
        if (lifetime.isConfined()) {
            return callPostReceiveUnguarded(requests, firstRefused);
        }
        int way = lifetime.enter();
        try {
            return callPostReceiveUnguarded(requests, firstRefused);
        } finally {
            lifetime.exit(way);
        }
    }

    private int callPostReceiveUnguarded(long requests, long firstRefused) {
        POST_RECEIVE.one();
        return DataPathCalls.post(criticalReceive, postReceive, address, requests, firstRefused);
    }

    private IllegalStateException notYet(String what, QueuePairState now) {
        lifetime.checkOpen();
        return new IllegalStateException(what + " is not possible in " + now + ": connect " + this + " first");
    }

    void checkAllows(Operation operation) {
        if ((allowedOperations & 1 << operation.code()) == 0) {
            throw lacks(operation);
        }
    }

    IllegalStateException lacks(Operation operation) {
        return new IllegalStateException(
                isExtendedEvenIfClosed()
                        ? this + " was made without " + operation + ": name it in QueuePairOptions.operations()"
                        : options.type() + " has no " + operation + ": " + this);
    }

    /** For a last datagram, which needs an address as all do; null where none is needed. */
    @Nullable
    AddressHandle pathToItself() {
        return sendsDatagrams() ? domain().createAddressHandle(pathTo(endpoint()), arena()) : null;
    }

    /** A request that moves nothing, to be found by its id. */
    void postMark(long id, @Nullable AddressHandle path) {
        SendBatch one = claimSend();
        try {
            one.send(id);
            if (path != null) {
                one.to(path, number, 0);
            }
            one.postAll();
        } finally {
            singleSends.release(one);
        }
    }

    /** A receive for nothing, to be found by its id. */
    void postReceiveMark(long id) {
        ReceiveBatch one = singleReceives.claim();
        try {
            one.receive(id).postAll();
        } finally {
            singleReceives.release(one);
        }
    }
}
