package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.NativeFlag;
import dev.verbena.internal.Checks;
import dev.verbena.internal.Memory;
import dev.verbena.internal.raw.ibv_mw_bind_info;
import dev.verbena.internal.raw.ibv_send_wr;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Work requests for a queue pair's send queue, filled in and posted together with one call into C
 * ({@code ibv_post_send}). A batch is made once and used again and again: nothing is allocated.
 *
 * <p>A method such as {@link #send} adds a request; those such as {@link #immediate} change the one added last.
 *
 * <pre>{@code
 * SendBatch batch = qp.sendBatch(16);
 * batch.clear();
 * batch.write(1, local, remote).unsignaled();
 * batch.send(2, local).immediate(42);
 * batch.post();
 * }</pre>
 *
 * <p>When {@link #post} returns, the batch may be filled again; the memory that it names belongs to the adapter until
 * the requests complete. A batch belongs to the first thread that uses it.
 */
@CName({"ibv_post_send", "ibv_wr_start", "ibv_wr_complete", "ibv_wr_abort"})
public final class SendBatch extends WorkBatch<SendBatch> {
    static final long OPCODE = ibv_send_wr.opcode$offset();
    static final long FLAGS = ibv_send_wr.send_flags$offset();
    static final long IMMEDIATE = ibv_send_wr.imm_data$offset();
    private static final long WR = ibv_send_wr.wr$offset();
    static final long REMOTE_ADDRESS = WR + ibv_send_wr.wr.rdma.remote_addr$offset();
    static final long REMOTE_KEY = WR + ibv_send_wr.wr.rdma.rkey$offset();
    static final long COMPARE_ADD = WR + ibv_send_wr.wr.atomic.compare_add$offset();
    static final long SWAP = WR + ibv_send_wr.wr.atomic.swap$offset();
    static final long ATOMIC_KEY = WR + ibv_send_wr.wr.atomic.rkey$offset();

    static final long HANDLE = WR + ibv_send_wr.wr.ud.ah$offset();
    static final long REMOTE_QP = WR + ibv_send_wr.wr.ud.remote_qpn$offset();
    static final long REMOTE_QKEY = WR + ibv_send_wr.wr.ud.remote_qkey$offset();

    static final long REMOTE_SRQ = ibv_send_wr.qp_type$offset()
            + ibv_send_wr.qp_type.xrc$offset()
            + ibv_send_wr.qp_type.xrc.remote_srqn$offset();
    private static final long INVALIDATE_KEY = ibv_send_wr.invalidate_rkey$offset();
    private static final long BIND = ibv_send_wr.bind_mw$offset();
    static final long WINDOW = BIND + ibv_send_wr.bind_mw.mw$offset();
    static final long WINDOW_KEY = BIND + ibv_send_wr.bind_mw.rkey$offset();
    static final long BIND_INFO = BIND + ibv_send_wr.bind_mw.bind_info$offset();
    private static final long BIND_REGION = BIND_INFO + ibv_mw_bind_info.mr$offset();
    private static final long BIND_ADDRESS = BIND_INFO + ibv_mw_bind_info.addr$offset();
    private static final long BIND_LENGTH = BIND_INFO + ibv_mw_bind_info.length$offset();
    private static final long BIND_ACCESS = BIND_INFO + ibv_mw_bind_info.mw_access_flags$offset();
    private static final long TSO = ibv_send_wr.tso$offset();
    static final long TSO_HEADER = TSO + ibv_send_wr.tso.hdr$offset();
    static final long TSO_HEADER_SIZE = TSO + ibv_send_wr.tso.hdr_sz$offset();
    static final long TSO_MSS = TSO + ibv_send_wr.tso.mss$offset();

    static final String WHEN_FULL =
            "The send queue is full: poll completions before posting more, or ask for a deeper one with sendDepth()";
    private static final int SIGNALED = SendFlag.SIGNALED.bit();
    private static final int INLINE = SendFlag.INLINE.bit();
    private static final long ATOMIC_SIZE = 8;

    private final QueuePair queuePair;
    private final int maxInline;
    private final int maxHeader;
    private final boolean datagrams;
    /** Whether one thread only posts, by {@code ibv_post_send} in a critical call; and what is called then. */
    private final boolean direct;

    private final long function;
    private final long qp;
    /** What the requests name by pointers, for each request: null where nothing is. Made when first needed. */
    private @Nullable RequestParts parts;

    private boolean binds;
    /** How many bytes the request added last may still name. */
    private long room;

    SendBatch(
            QueuePair queuePair,
            @Nullable ProtectionDomain domain,
            int capacity,
            QueueCapabilities granted,
            PostedOperations log) {
        super(
                queuePair,
                domain,
                capacity,
                ibv_send_wr.sizeof(),
                granted.sendSge(),
                (long) capacity * Math.max(granted.inlineSize(), queuePair.longestHeader()),
                log);
        this.queuePair = queuePair;
        this.maxInline = granted.inlineSize();
        this.maxHeader = queuePair.longestHeader();
        this.datagrams = queuePair.sendsDatagrams();
        this.direct = queuePair.postsDirectly();
        this.function = queuePair.postSendFunction();
        this.qp = queuePair.address;
        if (datagrams) {
            parts(); // each names its address
        }
    }

    @Override
    SendBatch self() {
        return this;
    }

    @Override
    int callPost(long requests, long firstRefused) {
        RequestParts named = parts;
        if (named == null) {
            return direct && queuePair.canSend
                    ? QueuePairWork.callPostDirectly(function, qp, requests, firstRefused)
                    : queuePair.callPostSend(requests, firstRefused);
        }
        int entered = named.enter(size(), datagrams);
        try {
            return binds ? bindAndPost(named, requests, firstRefused) : queuePair.callPostSend(requests, firstRefused);
        } finally {
            named.exit(entered);
        }
    }

    /** Gives the windows their next keys, and takes note of what was posted. */
    private int bindAndPost(RequestParts named, long requests, long firstRefused) {
        int begun = 0;
        int posted = 0;
        try {
            for (; begun < size(); begun++) {
                MemoryWindow window = windowOf(named, begun);
                if (window != null) {
                    window.beginBinding();
                    Memory.set(addressOf(begun) + WINDOW_KEY, MemoryWindow.after(window.key()));
                }
            }
            int errno = queuePair.callPostSend(requests, firstRefused);
            posted = errno == 0 ? size() : postedBefore();
            return errno;
        } finally {
            for (int i = 0; i < begun; i++) {
                MemoryWindow window = windowOf(named, i);
                if (window != null) {
                    if (i < posted) {
                        noteBinding(named, window, i);
                    }
                    window.endBinding();
                }
            }
        }
    }

    private void noteBinding(RequestParts named, MemoryWindow window, int request) {
        long at = addressOf(request);
        window.key(Memory.getInt(at + WINDOW_KEY));
        if (named.second(request) instanceof MemoryRegion region) {
            window.nowBound(
                    region,
                    Memory.getLong(at + BIND_ADDRESS),
                    Memory.getLong(at + BIND_LENGTH),
                    Memory.getInt(at + BIND_ACCESS));
        }
    }

    private static @Nullable MemoryWindow windowOf(RequestParts named, int request) {
        return named.first(request) instanceof MemoryWindow window ? window : null;
    }

    @Override
    long operations() {
        return OPCODE - ID;
    }

    @Override
    String verb() {
        return queuePair.isExtendedEvenIfClosed() ? "ibv_wr_complete" : "ibv_post_send";
    }

    @Override
    String whenFull() {
        return WHEN_FULL;
    }

    /**
     * Adds a send: its data arrives in the receive that the peer has posted first.
     *
     * @param id comes back with the completion
     * @param local what to send
     * @return this
     * @throws IllegalStateException if the batch is full, or the memory's region closed
     */
    @CName({"ibv_wr_send", "ibv_wr_set_sge", "rdma_post_sendv"})
    public SendBatch send(long id, LocalMemory local) {
        return local(id, Operation.SEND, local, queuePair.maxBytes());
    }

    /**
     * Adds a send of no bytes: all it carries is that it came, and perhaps {@link #immediate}.
     *
     * @param id comes back with the completion
     * @return this
     * @throws IllegalStateException if the batch is full
     */
    @CName("ibv_wr_send")
    public SendBatch send(long id) {
        return add(id, Operation.SEND, queuePair.maxBytes());
    }

    /**
     * Adds a send whose data is copied at once: the memory need not be registered, and is free when this returns.
     *
     * @param id comes back with the completion
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     * @return this
     */
    @CName({"ibv_wr_send", "ibv_wr_set_inline_data"})
    public SendBatch sendInline(long id, MemorySegment data) {
        return inline(id, Operation.SEND, data, queuePair.maxBytes());
    }

    /**
     * Adds an RDMA write: the data is stored in the peer's memory, and the peer is told nothing.
     *
     * @param id comes back with the completion
     * @param local what to write
     * @param remote where to; at least as long
     * @return this
     * @throws IndexOutOfBoundsException if the remote memory is too short
     */
    @CName({"ibv_wr_rdma_write", "ibv_wr_set_sge", "rdma_post_writev"})
    public SendBatch write(long id, LocalMemory local, RemoteMemory remote) {
        return local(id, Operation.RDMA_WRITE, local, remote.length()).remote(remote);
    }

    /**
     * Adds an RDMA write whose data is copied at once: the memory need not be registered, and is free when this returns.
     *
     * @param id comes back with the completion
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     * @param remote where to; at least as long
     * @return this
     */
    @CName({"ibv_wr_rdma_write", "ibv_wr_set_inline_data"})
    public SendBatch writeInline(long id, MemorySegment data, RemoteMemory remote) {
        return inline(id, Operation.RDMA_WRITE, data, remote.length()).remote(remote);
    }

    /**
     * Adds an RDMA read: the peer's memory is stored here, and the peer is told nothing.
     *
     * @param id comes back with the completion
     * @param local where to; its region needs {@link AccessFlag#LOCAL_WRITE}
     * @param remote what to read; at least as long as {@code local}, which decides how much is read
     * @return this
     * @throws IndexOutOfBoundsException if the remote memory is too short
     */
    @CName({"ibv_wr_rdma_read", "ibv_wr_set_sge", "rdma_post_readv"})
    public SendBatch read(long id, LocalMemory local, RemoteMemory remote) {
        return local(id, Operation.RDMA_READ, local, remote.length()).remote(remote);
    }

    /**
     * Adds a fetch-and-add: adds to 8 bytes of the peer's memory, and stores what was there before here.
     *
     * @param id comes back with the completion
     * @param local where the old value is stored; the first 8 bytes of it are used
     * @param remote what to add to: 8 bytes or more, at an address that is a multiple of 8
     * @param value what to add
     * @return this
     */
    @CName("ibv_wr_atomic_fetch_add")
    public SendBatch fetchAndAdd(long id, LocalMemory local, RemoteMemory remote, long value) {
        return atomic(id, Operation.FETCH_AND_ADD, local, remote, value, 0);
    }

    /**
     * Adds a compare-and-swap: stores a new value in 8 bytes of the peer's memory if they hold the expected one, and
     * stores what was there before here.
     *
     * @param id comes back with the completion
     * @param local where the old value is stored; the first 8 bytes of it are used
     * @param remote what to compare and swap: 8 bytes or more, at an address that is a multiple of 8
     * @param expected what must be there
     * @param value what to store then
     * @return this
     */
    @CName("ibv_wr_atomic_cmp_swp")
    public SendBatch compareAndSwap(long id, LocalMemory local, RemoteMemory remote, long expected, long value) {
        return atomic(id, Operation.COMPARE_AND_SWAP, local, remote, expected, value);
    }

    /**
     * Adds the binding of a memory window of {@link MemoryWindowType#TYPE_2} to a part of memory ({@code IBV_WR_BIND_MW}).
     * When it is posted, the window gets its {@linkplain MemoryWindow#nextRemoteKey next key}.
     *
     * @param id comes back with the completion
     * @param window the window; not bound now, and once only in a batch
     * @param part what to bind it to, of a memory region with {@link AccessFlag#MW_BIND}
     * @param access what peers may do through the window
     * @return this
     * @throws IllegalArgumentException if the memory region does not allow it, or the window is of another kind
     */
    @CName("ibv_wr_bind_mw")
    public SendBatch bind(long id, MemoryWindow window, LocalMemory part, Collection<AccessFlag> access) {
        window.checkUsableIn(domain);
        if (window.type() != MemoryWindowType.TYPE_2) {
            throw new IllegalArgumentException("A batch binds windows of TYPE_2 only: see QueuePair.postBind()");
        }
        int flags = NativeFlag.bits(access);
        MemoryRegion region = part.region();
        region.checkUsableIn(domain);
        window.checkCanCover(region, part, flags);
        long start = part.address();
        long length = part.length();
        add(id, Operation.BIND_MW, 0);
        binds = true;
        parts().set(index(), window, region);
        Memory.set(base + IMMEDIATE, 0); // some providers refuse what an earlier request left
        Memory.set(base + WINDOW, window.address());
        Memory.set(base + BIND_REGION, region.structure());
        Memory.set(base + BIND_ADDRESS, start);
        Memory.set(base + BIND_LENGTH, length);
        Memory.set(base + BIND_ACCESS, flags);
        return this;
    }

    /**
     * Adds the invalidation of a key of this side's ({@code IBV_WR_LOCAL_INV}): peers can no longer use it.
     *
     * @param id comes back with the completion
     * @param key the key, most often of a {@link MemoryWindow}
     * @return this
     */
    @CName("ibv_wr_local_inv")
    public SendBatch localInvalidate(long id, int key) {
        add(id, Operation.LOCAL_INVALIDATE, 0);
        Memory.set(base + INVALIDATE_KEY, key);
        return this;
    }

    /**
     * Invalidates a key of the peer's with the request added last: a send becomes {@code IBV_WR_SEND_WITH_INV}.
     *
     * @param key the remote key that the peer gave out
     * @return this
     * @throws IllegalStateException if it is no send, or carries immediate data
     */
    @CName("ibv_wr_send_inv")
    public SendBatch invalidate(int key) {
        checkBegun();
        int opcode = Memory.getInt(base + OPCODE);
        if (opcode != Operation.SEND.code() && opcode != Operation.SEND_WITH_INVALIDATE.code()) {
            throw new IllegalStateException(Operation.of(opcode) + " invalidates nothing at the peer: a send does");
        }
        checkAllows(Operation.SEND_WITH_INVALIDATE);
        become(Operation.SEND_WITH_INVALIDATE);
        Memory.set(base + INVALIDATE_KEY, key);
        return this;
    }

    /**
     * Adds a send that the adapter cuts into packets, each with a copy of a header ({@code IBV_WR_TSO}): for queue pairs
     * made with {@link QueuePairOptions#tsoHeader}.
     *
     * @param id comes back with the completion
     * @param header any segment; it is copied at once
     * @param segmentSize how many bytes of the data each packet carries at most ({@code mss})
     * @param local the data
     * @return this
     * @throws IllegalStateException if the queue pair has no segmented sends
     */
    @CName("ibv_wr_send_tso")
    public SendBatch segmented(long id, MemorySegment header, int segmentSize, LocalMemory local) {
        checkAllows(Operation.TSO);
        if (header.byteSize() > maxHeader) {
            throw new IndexOutOfBoundsException("A header of " + header.byteSize() + " bytes: this queue pair takes "
                    + maxHeader + ". Ask for more with tsoHeader()");
        }
        Checks.checkRange("segment size", segmentSize, 0xffff);
        int key = usableKey(local);
        long length = local.length();
        checkPiece(length);
        long place = copy(header);
        add(id, Operation.TSO, LONGEST_PIECE);
        room = LONGEST_PIECE;
        Memory.set(base + TSO_HEADER, place);
        Memory.set(base + TSO_HEADER_SIZE, (short) header.byteSize());
        Memory.set(base + TSO_MSS, (short) segmentSize);
        return take(local.address(), length, key);
    }

    /**
     * Adds an atomic write: stores 8 bytes in the peer's memory at once, so that nobody sees a part of them
     * ({@code ibv_wr_atomic_write}). For queue pairs made with {@link SendOperation#ATOMIC_WRITE}.
     *
     * @param id comes back with the completion
     * @param value what to store, in this machine's byte order
     * @param remote where to: 8 bytes or more, at an address that is a multiple of 8
     * @return this
     */
    @CName("ibv_wr_atomic_write")
    public SendBatch atomicWrite(long id, long value, RemoteMemory remote) {
        checkAligned(remote);
        Objects.checkFromIndexSize(0, ATOMIC_SIZE, remote.length());
        return remotely(id, Operation.ATOMIC_WRITE, remote, value, 0);
    }

    /**
     * Adds a flush: it completes when what was written before has come as far as is asked for ({@code ibv_wr_flush}). For
     * queue pairs made with {@link SendOperation#FLUSH}.
     *
     * @param id comes back with the completion
     * @param remote the memory; its region needs {@link AccessFlag#FLUSH_GLOBAL} or {@link AccessFlag#FLUSH_PERSISTENT}
     * @param level whether this range is meant or the whole region
     * @param placement how far it must have come
     * @return this
     */
    @CName("ibv_wr_flush")
    public SendBatch flush(long id, RemoteMemory remote, SelectivityLevel level, Set<PlacementType> placement) {
        int type = (placement.contains(PlacementType.GLOBAL) ? PlacementType.GLOBAL.bit() : 0)
                | (placement.contains(PlacementType.PERSISTENT) ? PlacementType.PERSISTENT.bit() : 0);
        if (type == 0) {
            throw new IllegalArgumentException("A flush says how far: GLOBAL, PERSISTENT or both");
        }
        return remotely(id, Operation.FLUSH, remote, remote.length(), (long) level.code() << Integer.SIZE | type);
    }

    /** A request without local memory, which only extended queue pairs have; they read it as they find it here. */
    private SendBatch remotely(long id, Operation operation, RemoteMemory remote, long one, long other) {
        add(id, operation, 0);
        Memory.set(base + REMOTE_ADDRESS, remote.address());
        Memory.set(base + COMPARE_ADD, one);
        Memory.set(base + SWAP, other);
        Memory.set(base + ATOMIC_KEY, remote.key());
        return this;
    }

    private static void checkAligned(RemoteMemory remote) {
        if ((remote.address() & 7) != 0) {
            throw new IllegalArgumentException("An atomic needs a remote address that is a multiple of 8: " + remote);
        }
    }

    private SendBatch atomic(
            long id, Operation operation, LocalMemory local, RemoteMemory remote, long compareAdd, long swap) {
        checkAligned(remote);
        Objects.checkFromIndexSize(0, ATOMIC_SIZE, local.length());
        Objects.checkFromIndexSize(0, ATOMIC_SIZE, remote.length());
        int key = usableKey(local);
        add(id, operation, ATOMIC_SIZE);
        Memory.set(base + REMOTE_ADDRESS, remote.address());
        Memory.set(base + COMPARE_ADD, compareAdd);
        Memory.set(base + SWAP, swap);
        Memory.set(base + ATOMIC_KEY, remote.key());
        return take(local.address(), ATOMIC_SIZE, key);
    }

    /**
     * Adds one more piece of memory to the request added last: they are sent one after the other, or filled so.
     *
     * @param local the piece
     * @return this
     * @throws IllegalStateException if the request has {@link QueueCapabilities#sendSge} pieces already
     */
    @CName("ibv_wr_set_sge_list")
    public SendBatch and(LocalMemory local) {
        checkAnotherPiece();
        checkIsLast();
        if ((flags() & INLINE) != 0) {
            throw new IllegalStateException("An inline request takes no further memory but by andInline()");
        }
        int opcode = Memory.getInt(base + OPCODE);
        if (opcode == Operation.BIND_MW.code() || opcode == Operation.LOCAL_INVALIDATE.code()) {
            throw new IllegalStateException(Operation.of(opcode) + " moves no data");
        }
        int key = usableKey(local);
        long length = local.length();
        checkRoom(length, room);
        return take(local.address(), length, key);
    }

    /**
     * Copies more data to the end of the inline request added last, as a list of pieces would
     * ({@code ibv_wr_set_inline_data_list}).
     *
     * @param data any segment; together not longer than {@link QueueCapabilities#inlineSize}
     * @return this
     * @throws IllegalStateException if the request added last is not inline
     */
    @CName("ibv_wr_set_inline_data_list")
    public SendBatch andInline(MemorySegment data) {
        checkBegun();
        checkIsLast();
        if ((flags() & INLINE) == 0) {
            throw new IllegalStateException("The request added last is not inline: and() adds memory to it");
        }
        long length = data.byteSize();
        long already = onlyPieceLength();
        if (already + length > maxInline) {
            throw tooLongForInline(already + length);
        }
        checkRoom(length, room);
        MemorySegment.copy(data, 0, memory, extra + (long) index() * Math.max(maxInline, maxHeader) + already, length);
        room -= length;
        onlyPieceLength(already + length);
        return this;
    }

    private void checkIsLast() {
        if (index() != size() - 1) {
            throw new IllegalStateException(
                    "Only the request added last takes more memory: not one gone back to by at()");
        }
    }

    private IndexOutOfBoundsException tooLongForInline(long length) {
        return new IndexOutOfBoundsException(length + " bytes can't go inline: this queue pair carries " + maxInline
                + ". Ask for more with inlineSize()");
    }

    /**
     * Sends a number along with the request added last: a send becomes {@code IBV_WR_SEND_WITH_IMM}, a write
     * {@code IBV_WR_RDMA_WRITE_WITH_IMM}, which uses up a receive of the peer's.
     *
     * @param value arrives as the same {@code int}, also at a C program that does {@code ntohl}
     * @return this
     * @throws IllegalStateException if it is neither a send nor a write
     */
    @CName({"ibv_wr_send_imm", "ibv_wr_rdma_write_imm"})
    public SendBatch immediate(int value) {
        checkBegun();
        int opcode = Memory.getInt(base + OPCODE);
        if (opcode == Operation.SEND.code() || opcode == Operation.RDMA_WRITE.code()) {
            Operation more = opcode == Operation.SEND.code()
                    ? Operation.SEND_WITH_IMMEDIATE
                    : Operation.RDMA_WRITE_WITH_IMMEDIATE;
            checkAllows(more);
            become(more);
        } else if (opcode != Operation.SEND_WITH_IMMEDIATE.code()
                && opcode != Operation.RDMA_WRITE_WITH_IMMEDIATE.code()) {
            throw new IllegalStateException(Operation.of(opcode) + " carries no immediate data: sends and writes do");
        }
        Memory.set(base + IMMEDIATE, Integer.reverseBytes(value));
        return this;
    }

    /**
     * Says where the request added last goes, which a datagram needs ({@code wr.ud}).
     *
     * @param path the way there, of this queue pair's protection domain; it must still be open when the batch is posted
     * @param queuePairNumber the queue pair at the other end, or {@link QueuePair#MULTICAST}
     * @param qkey that queue pair's key; with its highest bit set, this queue pair's own is sent
     * @return this
     * @throws IllegalStateException if the queue pair does not send datagrams, or the path is closed
     */
    @CName("ibv_wr_set_ud_addr")
    public SendBatch to(AddressHandle path, int queuePairNumber, int qkey) {
        checkBegun();
        if (!datagrams) {
            throw new IllegalStateException("Only datagrams are addressed one by one: " + queuePair);
        }
        path.checkUsableIn(domain);
        Checks.checkRange("queue pair number", queuePairNumber, QueuePair.MULTICAST);
        parts().set(index(), path, null);
        Memory.set(base + HANDLE, path.address());
        Memory.set(base + REMOTE_QP, queuePairNumber);
        Memory.set(base + REMOTE_QKEY, qkey);
        return this;
    }

    /**
     * Says which shared receive queue takes the request added last, on an extended reliable connection
     * ({@code qp_type.xrc.remote_srqn}).
     *
     * @param sharedReceiveQueue its {@linkplain SharedReceiveQueue#number number} at the other end
     * @return this
     * @throws IllegalStateException if it is another transport
     */
    @CName("ibv_wr_set_xrc_srqn")
    public SendBatch toShared(int sharedReceiveQueue) {
        checkBegun();
        if (!queuePair.sendsExtended()) {
            throw new IllegalStateException("Only XRC_SEND names shared receive queues: " + queuePair);
        }
        Memory.set(base + REMOTE_SRQ, sharedReceiveQueue);
        return this;
    }

    private RequestParts parts() {
        RequestParts known = parts;
        if (known == null) {
            parts = known = new RequestParts(capacity());
        }
        return known;
    }

    /**
     * Lets the request added last succeed without a completion. Have one in every {@link QueueCapabilities#sendDepth}
     * signaled, since only a completion frees the queue.
     *
     * @return this
     */
    public SendBatch unsignaled() {
        checkBegun();
        return flags(flags() & ~SIGNALED);
    }

    /**
     * Holds the request added last back until earlier reads and atomics are done.
     *
     * @return this
     */
    public SendBatch fence() {
        checkBegun();
        return flags(flags() | SendFlag.FENCE.bit());
    }

    /**
     * Lets the request added last wake a peer that waits for solicited messages only.
     *
     * @return this
     */
    public SendBatch solicited() {
        checkBegun();
        return flags(flags() | SendFlag.SOLICITED.bit());
    }

    private int flags() {
        return Memory.getInt(base + FLAGS);
    }

    private SendBatch flags(int flags) {
        Memory.set(base + FLAGS, flags);
        return this;
    }

    private void checkAllows(Operation operation) {
        checkUser();
        queuePair.checkAllows(operation);
    }

    private void become(Operation operation) {
        is(operation);
        Memory.set(base + OPCODE, operation.code());
    }

    private SendBatch add(long id, Operation operation, long bytes) {
        checkAllows(operation);
        begin(id, operation);
        room = Math.min(bytes, queuePair.maxBytes());
        if (parts != null) {
            parts.forget(index());
        }
        Memory.set(base + OPCODE, operation.code());
        Memory.set(base + REMOTE_SRQ, 0); // never that of an earlier request
        return flags(SIGNALED);
    }

    private SendBatch local(long id, Operation operation, LocalMemory local, long bytes) {
        checkUser();
        int key = usableKey(local);
        long length = lengthOf(local);
        checkRoom(length, Math.min(bytes, queuePair.maxBytes()));
        add(id, operation, bytes);
        room -= length;
        onlyPiece(startOf(local), length, key);
        return this;
    }

    /** Copied here first, so that C never reads memory that another thread may free meanwhile. */
    private SendBatch inline(long id, Operation operation, MemorySegment data, long bytes) {
        long length = data.byteSize();
        if (length > maxInline) {
            throw tooLongForInline(length);
        }
        checkRoom(length, bytes);
        long place = copy(data);
        return add(id, operation, bytes).take(place, length, 0).flags(SIGNALED | INLINE);
    }

    /** Copies what the next request needs to keep, and answers where it is. */
    private long copy(MemorySegment data) {
        checkUser();
        long place = extra + (long) size() * Math.max(maxInline, maxHeader);
        if (size() < capacity()) {
            MemorySegment.copy(data, 0, memory, place, data.byteSize());
        }
        return memory.address() + place;
    }

    private static void checkRoom(long length, long room) {
        if (length > room) {
            throw new IndexOutOfBoundsException(length + " bytes are more than the remote memory, or a message of this "
                    + "transport, holds: " + room);
        }
        checkPiece(length);
    }

    private SendBatch take(long start, long length, int key) {
        room -= length;
        piece(start, length, key);
        return this;
    }

    private SendBatch remote(RemoteMemory remote) {
        Memory.set(base + REMOTE_ADDRESS, remote.address());
        Memory.set(base + REMOTE_KEY, remote.key());
        return this;
    }
}
