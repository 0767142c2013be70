package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Driver;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.Memory;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_qp;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.Grh;
import dev.verbena.verbs.device.QueuePairType;
import dev.verbena.verbs.flow.FlowRule;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collection;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A queue pair ({@code struct ibv_qp}): one end of a connection, with a queue for sends and one for receives. It begins in
 * {@link QueuePairState#RESET}; {@link #connect} makes it ready. The {@code post...} methods post one request each;
 * {@link #sendBatch} and {@link #receiveBatch} post many with one call. None of them allocates. The memory that a request
 * names belongs to the adapter until the request completes.
 * {@snippet file="MessageSnippets.java" region="connect"}
 * <p>All threads may use a queue pair of a {@linkplain VerbsArena#ofShared shared} arena; one of a confined arena belongs
 * to the arena's thread. The arena destroys the queue pair, or {@link #close} does.
 */
public final class QueuePair extends ContextObject {
    /** The number that stands for all queue pairs of a multicast group. */
    public static final int MULTICAST = 0xffffff;

    final @Nullable ProtectionDomain domain;
    final QueuePairOptions options;
    final int number;
    final QueueCapabilities granted;
    private final QueuePairAddress addressing;
    private final @Nullable LongConsumer destroyer;
    final @Nullable ExtendedSends extended;
    final PostedRequests posted;
    final QueuePairStateMachine states;
    private final WindowBinding windowBinding;
    private final MulticastGroups multicastGroups = new MulticastGroups(this);
    final QueuePairBatches batches = new QueuePairBatches(this);
    private final SingleRequestBatches<SendBatch> singleSends;
    private final SingleRequestBatches<ReceiveBatch> singleReceives;
    private final SendBatch ownSends; // those of the first thread, which the data path reads from here
    private final ReceiveBatch ownReceives;
    private final long queue; // that they post to, and their requests
    private final long request;
    private final long receive;

    /** Wraps a queue pair in C. The domain is null if another process made it; the destroyer replaces C's, unless null. */
    QueuePair(
            ObjectLifetime lifetime,
            @Nullable ProtectionDomain domain,
            QueuePairOptions options,
            QueueCapabilities granted,
            Context context,
            long longestMessage,
            long address,
            @Nullable LongConsumer destroyer) {
        super(lifetime, context, address);
        this.domain = domain;
        this.options = options;
        this.granted = granted;
        this.destroyer = destroyer;
        this.number = ibv_qp.qp_num(Memory.struct(address, ibv_qp.sizeof()));
        this.addressing = new QueuePairAddress(lifetime, context.queries(), options, number);
        this.posted = new PostedRequests(options, granted);
        AllowedOperations operations = AllowedOperations.of(options, this);
        DriverFunctions functions = context.provider();
        this.extended = QueuePairOptions.OPERATIONS.of(options).isEmpty()
                ? null
                : new ExtendedSends(this, operations, functions, functions.equalPieces());
        Driver driver = extended == null ? functions.forPosts() : extended.driver();
        PostPath sendPath = PostPath.ofSends(this, driver, extended, operations);
        PostPath receivePath = PostPath.ofReceives(this, functions.forPosts());
        this.states = new QueuePairStateMachine(this, addressing, longestMessage, sendPath, receivePath, posted);
        this.windowBinding = new WindowBinding(this, sendPath, posted.sends(), operations);
        batches.postBy(sendPath, receivePath, operations);
        this.ownSends = batches.sends(1);
        this.ownReceives = batches.receives(1);
        this.singleSends = batches.single(ownSends, batches::sends);
        this.singleReceives = batches.single(ownReceives, batches::receives);
        this.queue = ownSends.queueAddress;
        this.request = ownSends.address;
        this.receive = ownReceives.address;
        context.add(this);
        context.events.add(address, this);
    }

    /**
     * Returns options for a reliable connection whose sends and receives complete in one queue.
     *
     * @param queue the completion queue
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions rc(CompletionQueue queue) {
        return rc(queue, queue);
    }

    /**
     * Returns options for a reliable connection.
     *
     * @param sends the completion queue of sends
     * @param receives the completion queue of receives
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions rc(CompletionQueue sends, CompletionQueue receives) {
        return QueuePairOptions.of(QueuePairType.RC, sends, receives);
    }

    /**
     * Returns options for an unreliable connection whose sends and receives complete in one queue.
     *
     * @param queue the completion queue
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions uc(CompletionQueue queue) {
        return uc(queue, queue);
    }

    /**
     * Returns options for an unreliable connection.
     *
     * @param sends the completion queue of sends
     * @param receives the completion queue of receives
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions uc(CompletionQueue sends, CompletionQueue receives) {
        return QueuePairOptions.of(QueuePairType.UC, sends, receives);
    }

    /**
     * Returns options for datagrams whose sends and receives complete in one queue. There is no connection: each send has a
     * destination (see {@link SendBatch#to}), and each receive needs {@link Grh#BYTES} more than the message.
     *
     * @param queue the completion queue
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions ud(CompletionQueue queue) {
        return ud(queue, queue);
    }

    /**
     * Returns options for datagrams.
     *
     * @param sends the completion queue of sends
     * @param receives the completion queue of receives
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions ud(CompletionQueue sends, CompletionQueue receives) {
        return QueuePairOptions.of(QueuePairType.UD, sends, receives);
    }

    /**
     * Returns options for Ethernet frames. Such a queue pair needs {@code CAP_NET_RAW}.
     *
     * @param queue the completion queue
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions rawPacket(CompletionQueue queue) {
        return QueuePairOptions.of(QueuePairType.RAW_PACKET, queue, queue);
    }

    /**
     * Returns options for a queue pair of the driver's own type.
     *
     * @param queue the completion queue
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions driver(CompletionQueue queue) {
        return QueuePairOptions.of(QueuePairType.DRIVER, queue, queue);
    }

    /**
     * Returns options for the sending half of an extended reliable connection. Each send names a shared receive queue: see
     * {@link SendBatch#toShared}.
     *
     * @param sends the completion queue of sends
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions xrcSend(CompletionQueue sends) {
        return QueuePairOptions.of(QueuePairType.XRC_SEND, sends, null)
                .receiveDepth(0)
                .receiveSge(0);
    }

    /**
     * Returns options for the receiving half of an extended reliable connection. This half has no queues: messages go to
     * the shared receive queues of its domain.
     *
     * @param domain the domain
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions xrcReceive(XrcDomain domain) {
        return QueuePairOptions.xrcReceive(domain);
    }

    /**
     * Returns options for a queue pair that spreads received frames over work queues, which take the receives.
     *
     * @param hash the way to choose a work queue
     * @return options for {@link ProtectionDomain#createQueuePair}
     */
    public static QueuePairOptions hashed(ReceiveHash hash) {
        return QueuePairOptions.hashed(hash);
    }

    @CName("ibv_destroy_qp")
    @Override
    void destroy() {
        multicastGroups.detachAll();
        if (destroyer != null) {
            destroyer.accept(address);
        } else {
            String name = QueuePairOptions.TYPE.of(options) + " queue pair " + number + " of " + context.name();
            Calls.run(Ibv.DESTROY_QP, name, address);
        }
        lifetime.noteDestroyed();
        batches.end();
        context.remove(this);
        context.events.remove(address, this);
    }

    /**
     * Returns the protection domain that this queue pair was made in.
     *
     * @return the protection domain
     * @throws IllegalStateException if another process made the queue pair
     */
    public ProtectionDomain domain() {
        lifetime.checkOpen();
        if (domain == null) {
            throw new IllegalStateException(this + " was made by another process, and belongs to an XRC domain");
        }
        return domain;
    }

    /**
     * Returns the transport.
     *
     * @return for example {@link QueuePairType#RC}
     */
    public QueuePairType type() {
        lifetime.checkOpen();
        return QueuePairOptions.TYPE.of(options);
    }

    /**
     * Returns the number by which peers name this queue pair ({@code qp_num}).
     *
     * @return 24 bits
     */
    public int number() {
        lifetime.checkOpen();
        return number;
    }

    /**
     * Returns the granted sizes of the queues.
     *
     * @return at least the sizes asked for
     */
    public QueueCapabilities capabilities() {
        lifetime.checkOpen();
        return granted;
    }

    /**
     * Returns the completion queue of sends.
     *
     * @return the completion queue
     * @throws IllegalStateException if this queue pair has no sends
     */
    public CompletionQueue sendQueue() {
        lifetime.checkOpen();
        return QueuePairOptions.require(QueuePairOptions.SEND_QUEUE.of(options), this, "sends");
    }

    /**
     * Returns the completion queue of receives.
     *
     * @return the completion queue
     * @throws IllegalStateException if this queue pair has no receives
     */
    public CompletionQueue receiveQueue() {
        lifetime.checkOpen();
        return QueuePairOptions.require(QueuePairOptions.RECEIVE_QUEUE.of(options), this, "receives");
    }

    /**
     * Returns the values that a peer needs to connect to this queue pair. Send them to the peer.
     *
     * @return number, packet sequence number and address
     */
    public Endpoint endpoint() {
        return addressing.endpoint();
    }

    /**
     * Returns the path to a peer, for an {@linkplain ProtectionDomain#createAddressHandle address handle}.
     *
     * @param peer the peer's {@link #endpoint}
     * @return a path with values that suit most networks
     */
    public AddressVector pathTo(Endpoint peer) {
        lifetime.checkOpen();
        return addressing.pathTo(peer.gid(), peer.lid());
    }

    /**
     * Returns the path to a multicast group, or to a peer on RoCE.
     *
     * @param destination the GID of the group or the peer
     * @return a path with values that suit most networks
     */
    public AddressVector pathTo(Gid destination) {
        lifetime.checkOpen();
        return addressing.pathTo(destination, 0);
    }

    /**
     * Returns true if this queue pair posts through {@code ibv_wr_start} and {@code ibv_wr_complete}: see
     * {@link QueuePairOptions#operations}.
     *
     * @return false for a queue pair that posts by {@code ibv_post_send}
     */
    @CName("ibv_qp_to_qp_ex")
    public boolean isExtended() {
        lifetime.checkOpen();
        return extended != null;
    }

    /**
     * Returns the state as far as this process knows it. An error changes the state without notice; {@link #query} asks the
     * device. This method asks too after a failed completion that leaves the state open.
     *
     * @return the state after the last {@link #modify}, {@link #query} or failed completion
     */
    public QueuePairState state() {
        return states.state();
    }

    /**
     * Asks the device for the attributes ({@code ibv_query_qp}).
     *
     * @return all attributes but the rate limit
     */
    @CName("ibv_query_qp")
    public QueuePairAttributes query() {
        return states.query();
    }

    /**
     * Changes attributes, most often the state ({@code ibv_modify_qp}).
     *
     * @param attributes the attributes to change
     * @throws IllegalArgumentException if the transport has no such change, or attributes are missing or not allowed
     * @throws VerbsException if the device refused the change
     */
    @CName("ibv_modify_qp")
    public void modify(QueuePairAttributes attributes) {
        states.modify(attributes);
    }

    /**
     * Goes to {@link QueuePairState#INIT}, where receives can be posted before the peer can send.
     *
     * @param attributes the attributes of the connection to come: see {@link #connect(Endpoint, QueuePairAttributes)}
     */
    public void toInit(QueuePairAttributes attributes) {
        states.toInit(attributes);
    }

    /**
     * Connects to a peer with values that suit most programs: see {@link #connect(Endpoint, QueuePairAttributes)}.
     *
     * @param peer the peer's {@link #endpoint}
     */
    public void connect(Endpoint peer) {
        states.connect(peer, QueuePairAttributes.none());
    }

    /**
     * Connects to a peer: goes through {@link QueuePairState#INIT}, if not there yet, and {@link QueuePairState#RTR} to
     * {@link QueuePairState#RTS}. The peer must do the same. Connecting sends nothing, and succeeds without the peer.
     *
     * <p>Attributes that are not given have values that suit most programs. Peers may read, write, do atomics, and flush as
     * far as the device can, where a memory region lets them. The path is {@link #pathTo(Endpoint)} with the largest packets
     * of the port. A lost packet is sent again 6 times, 67 ms after each other; a send waits without limit for a receive. 16
     * reads and atomics can be under way each way, or as many as the device allows if that is less.
     *
     * @param peer the peer's {@link #endpoint}
     * @param attributes any of access, partition key index, address vector, path MTU, minimal RNR timer, timeout, retry
     *     count, RNR retry count and the limits of reads and atomics; those that the transport lacks are left out
     * @throws IllegalArgumentException if another attribute is set
     * @throws IllegalStateException if the queue pair is connected already, or its transport has no connections
     */
    public void connect(Endpoint peer, QueuePairAttributes attributes) {
        states.connect(peer, attributes);
    }

    /**
     * Makes a queue pair for datagrams ready in the default partition: see {@link #toReady(int, int)}.
     *
     * @param qkey the key that datagrams to this queue pair must carry
     */
    public void toReady(int qkey) {
        states.toReady(qkey, 0);
    }

    /**
     * Makes a queue pair for datagrams ready: goes through {@link QueuePairState#INIT}, if not there yet, and
     * {@link QueuePairState#RTR} to {@link QueuePairState#RTS}.
     *
     * @param qkey the key that datagrams to this queue pair must carry; a key with the highest bit set needs privileges
     * @param pkeyIndex the index of the partition key
     * @throws IllegalStateException if the queue pair is ready already, or has connections
     */
    public void toReady(int qkey, int pkeyIndex) {
        states.toReady(qkey, pkeyIndex);
    }

    /**
     * Makes a queue pair for Ethernet frames ready: goes through {@link QueuePairState#INIT}, if not there yet, and
     * {@link QueuePairState#RTR} to {@link QueuePairState#RTS}.
     *
     * @throws IllegalStateException if the queue pair is ready already, or of another transport
     */
    public void toReady() {
        states.toReady();
    }

    /**
     * Resets this queue pair: goes to {@link QueuePairState#RESET}. Posted requests are dropped without a completion, and
     * the queue pair can be connected anew.
     */
    public void reset() {
        modify(QueuePairAttributes.to(QueuePairState.RESET));
    }

    /** Fails this queue pair: goes to {@link QueuePairState#ERR}. All posted requests complete as flushed. */
    public void fail() {
        modify(QueuePairAttributes.to(QueuePairState.ERR));
    }

    /**
     * Fails this queue pair and waits until all posted requests have completed: goes to {@link QueuePairState#ERR}, and
     * polls the completion queues. Until this method returns, nothing else may poll them, and nothing may be posted.
     * Receives of a shared receive queue stay there. No peer is needed.
     *
     * @param taker gets each completion that is found, also those of other queue pairs
     * @param timeout the time to wait
     * @throws dev.verbena.VerbsTimeoutException if not all requests completed in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the queue pair is closed, also while waiting
     */
    public void drain(Consumer<? super WorkCompletion> taker, Duration timeout) throws InterruptedException {
        QueuePairDrainer.drain(this, taker, timeout);
    }

    /**
     * Returns the first failure since this queue pair was made or {@linkplain #reset reset}. Requests that are flushed later
     * were flushed because of that failure.
     *
     * @return the completion, once a cursor has reached it, or polled again after fetching it
     */
    public Optional<WorkCompletion> firstError() {
        lifetime.checkOpen();
        return Optional.ofNullable(states.firstFailure());
    }

    /**
     * Makes a batch of sends.
     *
     * @param capacity the number of requests that the batch can hold
     * @return a new batch: keep it, its memory is freed after this queue pair is closed
     */
    public SendBatch sendBatch(int capacity) {
        WorkBatch.checkCapacity(capacity);
        lifetime.checkOpen();
        return batches.sends(capacity);
    }

    /**
     * Makes a batch of receives.
     *
     * @param capacity the number of requests that the batch can hold
     * @return a new batch: keep it, its memory is freed after this queue pair is closed
     */
    public ReceiveBatch receiveBatch(int capacity) {
        WorkBatch.checkCapacity(capacity);
        lifetime.checkOpen();
        return batches.receives(capacity);
    }

    /**
     * Returns posts of single requests whose success makes no completion.
     *
     * @return an object to keep
     */
    public UnsignaledPosts unsignaled() {
        return batches.unsignaled(singleSends);
    }

    /**
     * Posts a send ({@code IBV_WR_SEND}). Its data arrives in the oldest receive that the peer has posted.
     *
     * @param id comes back with the completion
     * @param local the data
     */
    @CName({"ibv_post_send", "rdma_post_send"})
    public void postSend(long id, LocalMemory local) {
        if (ownSends.isUser()) {
            ownSends.put(request, id, SendBatch.SEND, local, SendBatch.NO_LIMIT, 0, 0);
            ownSends.postOne(queue, request, id, SendBatch.SEND);
        } else {
            SendBatch.postOne(singleSends, id, SendBatch.SEND, local, SendBatch.NO_LIMIT, 0, 0);
        }
    }

    /**
     * Posts a send of a range of memory, without a slice ({@code IBV_WR_SEND}).
     *
     * @param id comes back with the completion
     * @param local the memory that the range is part of
     * @param offset the offset of the range in {@code local}
     * @param length the number of bytes
     */
    public void postSend(long id, LocalMemory local, long offset, long length) {
        try (var one = singleSends.claim()) {
            one.batch.send(id, local, offset, length).post();
        }
    }

    /**
     * Posts a send with immediate data ({@code IBV_WR_SEND_WITH_IMM}).
     *
     * @param id comes back with the completion
     * @param local the data
     * @param immediate arrives as the same {@code int}
     */
    @CName("ibv_post_send")
    public void postSendImmediate(long id, LocalMemory local, int immediate) {
        try (var one = singleSends.claim()) {
            one.batch.send(id, local).immediate(immediate).post();
        }
    }

    /**
     * Posts a send whose data is copied at once ({@code IBV_SEND_INLINE}). The memory need not be registered.
     *
     * @param id comes back with the completion
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     */
    @CName("ibv_post_send")
    public void postSendInline(long id, MemorySegment data) {
        try (var one = singleSends.claim()) {
            one.batch.sendInline(id, data).post();
        }
    }

    /**
     * Posts a send with inline and immediate data ({@code IBV_SEND_INLINE}, {@code IBV_WR_SEND_WITH_IMM}).
     *
     * @param id comes back with the completion
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     * @param immediate arrives as the same {@code int}
     */
    public void postSendInline(long id, MemorySegment data, int immediate) {
        try (var one = singleSends.claim()) {
            one.batch.sendInline(id, data).immediate(immediate).post();
        }
    }

    /**
     * Posts a datagram ({@code IBV_WR_SEND}).
     *
     * @param id comes back with the completion
     * @param local the data
     * @param path the path to the peer
     * @param queuePairNumber the peer's queue pair, or {@link #MULTICAST}
     * @param qkey the peer's key
     */
    @CName({"ibv_post_send", "rdma_post_ud_send"})
    public void postSend(long id, LocalMemory local, AddressHandle path, int queuePairNumber, int qkey) {
        try (var one = singleSends.claim()) {
            one.batch.send(id, local).to(path, queuePairNumber, qkey).post();
        }
    }

    /**
     * Posts a datagram with immediate data ({@code IBV_WR_SEND_WITH_IMM}).
     *
     * @param id comes back with the completion
     * @param local the data
     * @param immediate arrives as the same {@code int}
     * @param path the path to the peer
     * @param queuePairNumber the peer's queue pair, or {@link #MULTICAST}
     * @param qkey the peer's key
     */
    @CName("ibv_post_send")
    public void postSendImmediate(
            long id, LocalMemory local, int immediate, AddressHandle path, int queuePairNumber, int qkey) {
        try (var one = singleSends.claim()) {
            SendBatch request = one.batch.send(id, local).immediate(immediate);
            request.to(path, queuePairNumber, qkey).post();
        }
    }

    /**
     * Posts a datagram whose data is copied at once ({@code IBV_SEND_INLINE}). The memory need not be registered.
     *
     * @param id comes back with the completion
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     * @param path the path to the peer
     * @param queuePairNumber the peer's queue pair, or {@link #MULTICAST}
     * @param qkey the peer's key
     */
    @CName("ibv_post_send")
    public void postSendInline(long id, MemorySegment data, AddressHandle path, int queuePairNumber, int qkey) {
        try (var one = singleSends.claim()) {
            one.batch.sendInline(id, data).to(path, queuePairNumber, qkey).post();
        }
    }

    /**
     * Posts an RDMA write ({@code IBV_WR_RDMA_WRITE}). The data is stored in the peer's memory; the peer gets no completion.
     *
     * @param id comes back with the completion
     * @param local the data
     * @param remote the destination, at least as long
     */
    @CName({"ibv_post_send", "rdma_post_write"})
    public void postWrite(long id, LocalMemory local, RemoteMemory remote) {
        if (ownSends.isUser()) {
            ownSends.put(request, id, SendBatch.RDMA_WRITE, local, remote.length(), remote.address(), remote.key());
            ownSends.postOne(queue, request, id, SendBatch.RDMA_WRITE);
        } else {
            SendBatch.postOne(
                    singleSends, id, SendBatch.RDMA_WRITE, local, remote.length(), remote.address(), remote.key());
        }
    }

    /**
     * Posts an RDMA write of a range of memory, without a slice ({@code IBV_WR_RDMA_WRITE}).
     *
     * @param id comes back with the completion
     * @param local the memory that the range is part of
     * @param offset the offset of the range in {@code local}
     * @param length the number of bytes
     * @param remote the destination, at least as long
     */
    public void postWrite(long id, LocalMemory local, long offset, long length, RemoteMemory remote) {
        try (var one = singleSends.claim()) {
            one.batch.write(id, local, offset, length, remote).post();
        }
    }

    /**
     * Posts an RDMA write with immediate data ({@code IBV_WR_RDMA_WRITE_WITH_IMM}), which uses up a receive of the peer.
     *
     * @param id comes back with the completion
     * @param local the data
     * @param remote the destination, at least as long
     * @param immediate arrives as the same {@code int}
     */
    @CName("ibv_post_send")
    public void postWriteImmediate(long id, LocalMemory local, RemoteMemory remote, int immediate) {
        try (var one = singleSends.claim()) {
            one.batch.write(id, local, remote).immediate(immediate).post();
        }
    }

    /**
     * Posts an RDMA write whose data is copied at once ({@code IBV_SEND_INLINE}). The memory need not be registered.
     *
     * @param id comes back with the completion
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     * @param remote the destination, at least as long
     */
    @CName("ibv_post_send")
    public void postWriteInline(long id, MemorySegment data, RemoteMemory remote) {
        try (var one = singleSends.claim()) {
            one.batch.writeInline(id, data, remote).post();
        }
    }

    /**
     * Posts an RDMA write with inline and immediate data ({@code IBV_SEND_INLINE}, {@code IBV_WR_RDMA_WRITE_WITH_IMM}).
     *
     * @param id comes back with the completion
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     * @param remote the destination, at least as long
     * @param immediate arrives as the same {@code int}
     */
    public void postWriteInline(long id, MemorySegment data, RemoteMemory remote, int immediate) {
        try (var one = singleSends.claim()) {
            one.batch.writeInline(id, data, remote).immediate(immediate).post();
        }
    }

    /**
     * Posts an RDMA read ({@code IBV_WR_RDMA_READ}). The peer's memory is copied to local memory; the peer gets no
     * completion.
     *
     * @param id comes back with the completion
     * @param local the destination, whose length decides how much is read; its region needs {@link AccessFlag#LOCAL_WRITE}
     * @param remote the memory to read, at least as long as {@code local}
     */
    @CName({"ibv_post_send", "rdma_post_read"})
    public void postRead(long id, LocalMemory local, RemoteMemory remote) {
        if (ownSends.isUser()) {
            ownSends.put(request, id, SendBatch.RDMA_READ, local, remote.length(), remote.address(), remote.key());
            ownSends.postOne(queue, request, id, SendBatch.RDMA_READ);
        } else {
            SendBatch.postOne(
                    singleSends, id, SendBatch.RDMA_READ, local, remote.length(), remote.address(), remote.key());
        }
    }

    /**
     * Posts a fetch-and-add ({@code IBV_WR_ATOMIC_FETCH_AND_ADD}). It adds a value to 8 bytes of the peer's memory, and
     * stores the old value in local memory.
     *
     * @param id comes back with the completion
     * @param local the destination of the old value, of which the first 8 bytes are used
     * @param remote the memory to add to: 8 bytes or more, at an address that is a multiple of 8
     * @param value the value to add
     */
    @CName("ibv_post_send")
    public void postFetchAndAdd(long id, LocalMemory local, RemoteMemory remote, long value) {
        try (var one = singleSends.claim()) {
            one.batch.fetchAndAdd(id, local, remote, value).post();
        }
    }

    /**
     * Posts a compare-and-swap ({@code IBV_WR_ATOMIC_CMP_AND_SWP}). It stores a new value in 8 bytes of the peer's memory
     * if they hold the expected value, and stores the old value in local memory.
     *
     * @param id comes back with the completion
     * @param local the destination of the old value, of which the first 8 bytes are used
     * @param remote the memory to compare and swap: 8 bytes or more, at an address that is a multiple of 8
     * @param expected the expected value
     * @param value the new value
     */
    @CName("ibv_post_send")
    public void postCompareAndSwap(long id, LocalMemory local, RemoteMemory remote, long expected, long value) {
        try (var one = singleSends.claim()) {
            one.batch.compareAndSwap(id, local, remote, expected, value).post();
        }
    }

    /**
     * Posts the binding of a memory window to a part of memory ({@code ibv_bind_mw} for {@link MemoryWindow.Type#TYPE_1},
     * {@code IBV_WR_BIND_MW} for {@link MemoryWindow.Type#TYPE_2}). The window has a new key when this method returns;
     * peers can use the key once the request has completed.
     *
     * @param id comes back with the completion
     * @param window the window; a window of type 2 must not be bound now
     * @param part the memory to bind the window to, of a region with {@link AccessFlag#MW_BIND}
     * @param access the rights of peers through the window
     * @throws IllegalArgumentException if the region does not allow the access
     */
    @CName({"ibv_bind_mw", "ibv_post_send"})
    public void postBind(long id, MemoryWindow window, LocalMemory part, Collection<AccessFlag> access) {
        if (window.type() == MemoryWindow.Type.TYPE_1) {
            windowBinding.bind(id, window, part, access);
            return;
        }
        try (var one = singleSends.claim()) {
            one.batch.bind(id, window, part, access).post();
        }
    }

    /**
     * Posts the unbinding of a memory window of {@link MemoryWindow.Type#TYPE_1} ({@code ibv_bind_mw} to no bytes). A window
     * of type 2 is {@linkplain #postLocalInvalidate invalidated} instead.
     *
     * @param id comes back with the completion
     * @param window a window that is bound
     * @throws IllegalStateException if the window is not bound
     */
    @CName("ibv_bind_mw")
    public void postUnbind(long id, MemoryWindow window) {
        windowBinding.unbind(id, window);
    }

    /**
     * Posts the invalidation of a local key ({@code IBV_WR_LOCAL_INV}). Peers can no longer use the key.
     *
     * @param id comes back with the completion
     * @param key the key, most often of a {@link MemoryWindow}
     */
    @CName("ibv_post_send")
    public void postLocalInvalidate(long id, int key) {
        try (var one = singleSends.claim()) {
            one.batch.localInvalidate(id, key).post();
        }
    }

    /**
     * Posts a send that invalidates a key of the peer ({@code IBV_WR_SEND_WITH_INV}).
     *
     * @param id comes back with the completion
     * @param local the data
     * @param key the remote key that the peer gave out
     */
    @CName("ibv_post_send")
    public void postSendInvalidate(long id, LocalMemory local, int key) {
        try (var one = singleSends.claim()) {
            one.batch.send(id, local).invalidate(key).post();
        }
    }

    /**
     * Posts an atomic write ({@code ibv_wr_atomic_write}). It stores 8 bytes in the peer's memory at once, so that no reader
     * sees a part of them. The queue pair must have been made with {@link QueuePairOptions.OfferedOperation#ATOMIC_WRITE}.
     *
     * @param id comes back with the completion
     * @param value the value to store, in this machine's byte order
     * @param remote the destination: 8 bytes or more, at an address that is a multiple of 8
     */
    @CName("ibv_wr_atomic_write")
    public void postAtomicWrite(long id, long value, RemoteMemory remote) {
        try (var one = singleSends.claim()) {
            one.batch.atomicWrite(id, value, remote).post();
        }
    }

    /**
     * Posts a receive ({@code ibv_post_recv}): memory for one message of the peer.
     *
     * @param id comes back with the completion
     * @param local the memory for the message; its region needs {@link AccessFlag#LOCAL_WRITE}
     */
    @CName({"ibv_post_recv", "rdma_post_recv"})
    public void postReceive(long id, LocalMemory local) {
        if (ownReceives.isUser()) {
            ownReceives.put(receive, id, local);
            ownReceives.postOne(queue, receive, id, ReceiveBatch.RECEIVE);
        } else {
            ReceiveBatch.postOne(singleReceives, id, local);
        }
    }

    /**
     * Posts a receive into a range of memory, without a slice ({@code ibv_post_recv}).
     *
     * @param id comes back with the completion
     * @param local the memory that the range is part of; its region needs {@link AccessFlag#LOCAL_WRITE}
     * @param offset the offset of the range in {@code local}
     * @param length the number of bytes
     */
    public void postReceive(long id, LocalMemory local, long offset, long length) {
        try (var one = singleReceives.claim()) {
            one.batch.receive(id, local, offset, length).post();
        }
    }

    /**
     * Attaches this queue pair for datagrams to a multicast group, to receive its messages ({@code ibv_attach_mcast}).
     *
     * @param group the group's GID: on RoCE that of an IP multicast address
     */
    @CName("ibv_attach_mcast")
    public void attachMulticast(Gid group) {
        attachMulticast(group, 0);
    }

    /**
     * Attaches this queue pair for datagrams to a multicast group, to receive its messages ({@code ibv_attach_mcast}).
     *
     * @param group the group's GID
     * @param lid the group's local identifier on InfiniBand; 0 on Ethernet
     */
    @CName("ibv_attach_mcast")
    public void attachMulticast(Gid group, int lid) {
        multicastGroups.attach(group, lid);
    }

    /**
     * Detaches this queue pair from a multicast group ({@code ibv_detach_mcast}). Closing the queue pair does it too.
     *
     * @param group the group's GID
     * @throws VerbsException if the queue pair is not in the group
     */
    @CName("ibv_detach_mcast")
    public void detachMulticast(Gid group) {
        detachMulticast(group, 0);
    }

    /**
     * Detaches this queue pair from a multicast group ({@code ibv_detach_mcast}). Closing the queue pair does it too.
     *
     * @param group the group's GID
     * @param lid the group's local identifier on InfiniBand; 0 on Ethernet
     * @throws VerbsException if the queue pair is not in the group
     */
    @CName("ibv_detach_mcast")
    public void detachMulticast(Gid group, int lid) {
        multicastGroups.detach(group, lid);
    }

    /**
     * Limits the rate of sending ({@code ibv_modify_qp_rate_limit}).
     *
     * @param limit the limit
     * @throws VerbsException if the device cannot limit the rate, or not in this state
     */
    @CName("ibv_modify_qp_rate_limit")
    public void limitRate(RateLimit limit) {
        states.limitRate(limit);
    }

    /**
     * Returns the enhancements beyond the standard that this side offers, or that were agreed on ({@code ibv_query_ece}).
     *
     * @return the values to send to the peer, or those that were agreed on
     * @throws dev.verbena.UnsupportedVerbException if the device has none
     */
    @CName("ibv_query_ece")
    public Ece queryEce() {
        return states.queryEce();
    }

    /**
     * Sets the enhancements that both sides agree on, before going to {@link QueuePairState#RTR} ({@code ibv_set_ece}).
     *
     * @param ece the values from the peer
     * @throws dev.verbena.UnsupportedVerbException if the device has none
     */
    @CName("ibv_set_ece")
    public void setEce(Ece ece) {
        states.setEce(ece);
    }

    /**
     * Returns the order in which the data of an operation is written to local memory ({@code ibv_query_qp_data_in_order}).
     *
     * @param operation a send, a write or a read
     * @return the guaranteed orders; empty if there are none
     */
    @CName("ibv_query_qp_data_in_order")
    public Set<Operation.DataOrder> dataInOrder(Operation operation) {
        return states.dataInOrder(operation, false);
    }

    /**
     * Returns the order that the device alone guarantees ({@code IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY}; rdma-core 62).
     *
     * @param operation a send, a write or a read
     * @return the guaranteed orders, as far as the processor keeps them; empty if there are none
     */
    public Set<Operation.DataOrder> dataInOrderOfDevice(Operation operation) {
        return states.dataInOrder(operation, true);
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
     * @param rule the packets
     * @param arena the arena that closes the flow
     * @return the flow, which steers packets until it is closed
     */
    @CName("ibv_create_flow")
    public Flow createFlow(FlowRule rule, VerbsArena arena) {
        return Flow.create(this, context, address, rule, arena);
    }

    /** Returns for example {@code RC queue pair 17 of rxe0 (RTS)}. */
    @Override
    public String toString() {
        return QueuePairOptions.TYPE.of(options) + " queue pair " + number + " of " + context.name() + " ("
                + (isOpen() ? states.lastKnown().toString() : "closed") + ")";
    }
}
