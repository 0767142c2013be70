package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.TYPE;

import dev.verbena.CName;
import dev.verbena.internal.Checks;
import dev.verbena.internal.Memory;
import dev.verbena.internal.raw.ibv_mw_bind_info;
import dev.verbena.internal.raw.ibv_send_wr;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.Objects;
import java.util.Set;

/**
 * A batch of work requests for a queue pair's send queue, posted with one call into C ({@code ibv_post_send}). Make a batch
 * once and use it again and again: it allocates nothing.
 *
 * <p>Methods such as {@link #send} add a request; methods such as {@link #immediate} change the request added last.
 *
 * {@snippet file="BatchSnippets.java" region="mixed"}
 *
 * <p>The memory that a batch names belongs to the adapter from {@link #post} until the requests complete. The batch itself
 * may be filled again when {@code post} returns.
 *
 * <p>A batch belongs to the first thread that uses it; other threads get a {@link WrongThreadException}. It can be used
 * until its queue pair is closed.
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
    static final long BIND_ADDRESS = BIND_INFO + ibv_mw_bind_info.addr$offset();
    static final long BIND_LENGTH = BIND_INFO + ibv_mw_bind_info.length$offset();
    static final long BIND_ACCESS = BIND_INFO + ibv_mw_bind_info.mw_access_flags$offset();
    private static final long TSO = ibv_send_wr.tso$offset();
    static final long TSO_HEADER = TSO + ibv_send_wr.tso.hdr$offset();
    static final long TSO_HEADER_SIZE = TSO + ibv_send_wr.tso.hdr_sz$offset();
    static final long TSO_MSS = TSO + ibv_send_wr.tso.mss$offset();

    // The codes of the usual operations. As constants they cost the data path nothing; the field of an enum constant
    // does.
    static final int SEND = Operation.SEND.code();
    static final int RDMA_WRITE = Operation.RDMA_WRITE.code();
    static final int RDMA_READ = Operation.RDMA_READ.code();

    static final int FLAGS_WORD = (int) FLAGS / Long.BYTES;
    static final int REMOTE_ADDRESS_WORD = (int) REMOTE_ADDRESS / Long.BYTES;
    static final int REMOTE_KEY_WORD = (int) REMOTE_KEY / Long.BYTES;

    /** The bytes of the remote memory. C does not read this word of a send, a write or a read. */
    private static final int LIMIT_WORD = (int) SWAP / Long.BYTES;

    // enum ibv_send_flags
    static final int FENCE = 1;
    static final int SIGNALED = 1 << 1;
    static final int SOLICITED = 1 << 2;
    static final int INLINE = 1 << 3;
    private static final long ATOMIC_SIZE = 8;

    /** The limit of a request that only the longest message of the transport limits. */
    static final long NO_LIMIT = Long.MAX_VALUE;

    private final QueuePair queuePair;
    private final QueuePairType type;
    private final AllowedOperations operations;
    private final int maxInline;
    private final int maxHeader;

    /** Makes an empty batch. */
    SendBatch(QueuePair queuePair, PostPath path, int capacity, AllowedOperations operations) {
        super(
                queuePair,
                queuePair.domain,
                path,
                capacity,
                queuePair.granted.sendSge(),
                (long) capacity
                        * Math.max(queuePair.granted.inlineSize(), QueuePairOptions.TSO_HEADER.of(queuePair.options)));
        this.queuePair = queuePair;
        this.type = TYPE.of(queuePair.options);
        this.operations = operations;
        this.maxInline = queuePair.granted.inlineSize();
        this.maxHeader = QueuePairOptions.TSO_HEADER.of(queuePair.options);
        if (isOf(QueuePairType.UD)) {
            makeParts(true); // each datagram names its address
        } else if (isOf(QueuePairType.XRC_SEND)) {
            makeParts(false); // each request forgets the queue that an earlier one named
        }
    }

    boolean isOf(QueuePair pair) {
        return queuePair == pair;
    }

    private boolean isOf(QueuePairType wanted) {
        return type == wanted;
    }

    @Override
    int drive(long of, long requests) {
        return driver.postSends(of, requests, refused);
    }

    @Override
    int driveRarely() {
        SendSlots slots = queuePair.batches.slots();
        if (slots != null) {
            return slots.drive(this);
        }
        ExtendedSends extended = path.extended;
        return extended == null ? drive(queueAddress, address) : extended.post(address, refused);
    }

    @Override
    String verbOfDriver() {
        return "ibv_post_send";
    }

    @Override
    void checkOperation(int code) {
        operations.check(Operation.of(code));
    }

    @Override
    SendBatch self() {
        return this;
    }

    @Override
    long operationOffset() {
        return OPCODE - ID;
    }

    /**
     * Adds a send ({@code IBV_WR_SEND}). Its data arrives in the oldest receive that the peer has posted.
     *
     * @param id comes back with the completion
     * @param local the data
     * @return this
     * @throws IllegalStateException if the batch is full, or the memory's region is closed
     */
    @CName({"ibv_wr_send", "ibv_wr_set_sge", "rdma_post_sendv"})
    public SendBatch send(long id, LocalMemory local) {
        return send(id, SEND, local);
    }

    /**
     * Adds a send of a range of memory, without a slice.
     *
     * @param id comes back with the completion
     * @param local the memory that the range is part of
     * @param offset the offset of the range in {@code local}
     * @param length the number of bytes
     * @return this
     * @throws IndexOutOfBoundsException if the range is not within {@code local}
     */
    @CName({"ibv_wr_send", "ibv_wr_set_sge"})
    public SendBatch send(long id, LocalMemory local, long offset, long length) {
        return ranged(id, SEND, local, offset, length, NO_LIMIT, 0, 0);
    }

    /**
     * Adds a send of no bytes. The peer sees that the message came, and {@link #immediate} data if there is any.
     *
     * @param id comes back with the completion
     * @return this
     * @throws IllegalStateException if the batch is full
     */
    @CName("ibv_wr_send")
    public SendBatch send(long id) {
        checkUser();
        return begin(id, SEND, path.longestMessage());
    }

    /**
     * Adds a send whose data is copied at once ({@code IBV_SEND_INLINE}). The memory need not be registered, and is free
     * when this method returns.
     *
     * @param id comes back with the completion
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     * @return this
     */
    @CName({"ibv_wr_send", "ibv_wr_set_inline_data"})
    public SendBatch sendInline(long id, MemorySegment data) {
        return inline(id, SEND, data, NO_LIMIT);
    }

    /**
     * Adds an RDMA write ({@code IBV_WR_RDMA_WRITE}). The data is stored in the peer's memory; the peer gets no completion.
     *
     * @param id comes back with the completion
     * @param local the data
     * @param remote the destination, at least as long
     * @return this
     * @throws IndexOutOfBoundsException if the remote memory is too short
     */
    @CName({"ibv_wr_rdma_write", "ibv_wr_set_sge", "rdma_post_writev"})
    public SendBatch write(long id, LocalMemory local, RemoteMemory remote) {
        checkUser();
        long request = placeOf(RDMA_WRITE);
        put(request, id, RDMA_WRITE, local, remote.length(), remote.address(), remote.key());
        return added(request, remote.length());
    }

    /**
     * Adds an RDMA write of a range of memory, without a slice.
     *
     * @param id comes back with the completion
     * @param local the memory that the range is part of
     * @param offset the offset of the range in {@code local}
     * @param length the number of bytes
     * @param remote the destination, at least as long
     * @return this
     * @throws IndexOutOfBoundsException if the range is not within {@code local}, or the remote memory is too short
     */
    @CName({"ibv_wr_rdma_write", "ibv_wr_set_sge"})
    public SendBatch write(long id, LocalMemory local, long offset, long length, RemoteMemory remote) {
        return ranged(id, RDMA_WRITE, local, offset, length, remote.length(), remote.address(), remote.key());
    }

    /**
     * Adds an RDMA write whose data is copied at once ({@code IBV_SEND_INLINE}). The memory need not be registered, and is
     * free when this method returns.
     *
     * @param id comes back with the completion
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     * @param remote the destination, at least as long
     * @return this
     */
    @CName({"ibv_wr_rdma_write", "ibv_wr_set_inline_data"})
    public SendBatch writeInline(long id, MemorySegment data, RemoteMemory remote) {
        inline(id, RDMA_WRITE, data, remote.length());
        Memory.set(base + REMOTE_ADDRESS, remote.address());
        Memory.set(base + REMOTE_KEY, remote.key());
        return this;
    }

    /**
     * Adds an RDMA read ({@code IBV_WR_RDMA_READ}). The peer's memory is copied to local memory; the peer gets no
     * completion.
     *
     * @param id comes back with the completion
     * @param local the destination, whose length decides how much is read; its region needs {@link AccessFlag#LOCAL_WRITE}
     * @param remote the memory to read, at least as long as {@code local}
     * @return this
     * @throws IndexOutOfBoundsException if the remote memory is too short
     */
    @CName({"ibv_wr_rdma_read", "ibv_wr_set_sge", "rdma_post_readv"})
    public SendBatch read(long id, LocalMemory local, RemoteMemory remote) {
        checkUser();
        long request = placeOf(RDMA_READ);
        put(request, id, RDMA_READ, local, remote.length(), remote.address(), remote.key());
        return added(request, remote.length());
    }

    /**
     * Adds an RDMA read into a range of memory, without a slice.
     *
     * @param id comes back with the completion
     * @param local the memory that the range is part of; its region needs {@link AccessFlag#LOCAL_WRITE}
     * @param offset the offset of the range in {@code local}
     * @param length the number of bytes to read
     * @param remote the memory to read, at least as long
     * @return this
     * @throws IndexOutOfBoundsException if the range is not within {@code local}, or the remote memory is too short
     */
    @CName({"ibv_wr_rdma_read", "ibv_wr_set_sge"})
    public SendBatch read(long id, LocalMemory local, long offset, long length, RemoteMemory remote) {
        return ranged(id, RDMA_READ, local, offset, length, remote.length(), remote.address(), remote.key());
    }

    /**
     * Adds a fetch-and-add ({@code IBV_WR_ATOMIC_FETCH_AND_ADD}). It adds a value to 8 bytes of the peer's memory, and
     * stores the old value in local memory.
     *
     * @param id comes back with the completion
     * @param local the destination of the old value, of which the first 8 bytes are used
     * @param remote the memory to add to: 8 bytes or more, at an address that is a multiple of 8
     * @param value the value to add
     * @return this
     */
    @CName("ibv_wr_atomic_fetch_add")
    public SendBatch fetchAndAdd(long id, LocalMemory local, RemoteMemory remote, long value) {
        return atomic(id, Operation.FETCH_AND_ADD, local, remote, value, 0);
    }

    /**
     * Adds a compare-and-swap ({@code IBV_WR_ATOMIC_CMP_AND_SWP}). It stores a new value in 8 bytes of the peer's memory if
     * they hold the expected value, and stores the old value in local memory.
     *
     * @param id comes back with the completion
     * @param local the destination of the old value, of which the first 8 bytes are used
     * @param remote the memory to compare and swap: 8 bytes or more, at an address that is a multiple of 8
     * @param expected the expected value
     * @param value the new value
     * @return this
     */
    @CName("ibv_wr_atomic_cmp_swp")
    public SendBatch compareAndSwap(long id, LocalMemory local, RemoteMemory remote, long expected, long value) {
        return atomic(id, Operation.COMPARE_AND_SWAP, local, remote, expected, value);
    }

    /**
     * Adds the binding of a memory window of {@link MemoryWindow.Type#TYPE_2} to a part of memory ({@code IBV_WR_BIND_MW}).
     * Posting gives the window its {@linkplain MemoryWindow#nextRemoteKey next key}.
     *
     * @param id comes back with the completion
     * @param window the window, which is not bound now and occurs once in the batch
     * @param part the memory to bind the window to, of a region with {@link AccessFlag#MW_BIND}
     * @param access the rights of peers through the window
     * @return this
     * @throws IllegalArgumentException if the region does not allow the access, or the window is of another type
     */
    @CName("ibv_wr_bind_mw")
    public SendBatch bind(long id, MemoryWindow window, LocalMemory part, Collection<AccessFlag> access) {
        checkUser();
        window.checkUsableIn(domain);
        if (window.type() != MemoryWindow.Type.TYPE_2) {
            throw new IllegalArgumentException("A batch binds windows of TYPE_2 only: see QueuePair.postBind()");
        }
        int flags = AccessFlag.bits(access);
        MemoryRegion region = part.region();
        region.checkUsableIn(domain);
        window.checkCanCover(region, part, flags);
        long start = part.address();
        long length = part.length();
        RequestParts named = makeParts(false); // may run out of memory
        begin(id, Operation.BIND_MW.code(), 0);
        named.set(index(), window, region);
        Memory.set(base + IMMEDIATE, 0); // some providers refuse the value of an earlier request
        Memory.set(base + WINDOW, window.address());
        Memory.set(base + BIND_REGION, region.structure());
        Memory.set(base + BIND_ADDRESS, start);
        Memory.set(base + BIND_LENGTH, length);
        Memory.set(base + BIND_ACCESS, flags);
        return this;
    }

    /**
     * Adds the invalidation of a local key ({@code IBV_WR_LOCAL_INV}). Peers can no longer use the key.
     *
     * @param id comes back with the completion
     * @param key the key, most often of a {@link MemoryWindow}
     * @return this
     */
    @CName("ibv_wr_local_inv")
    public SendBatch localInvalidate(long id, int key) {
        checkUser();
        begin(id, Operation.LOCAL_INVALIDATE.code(), 0);
        return key(key);
    }

    /**
     * Invalidates a key of the peer with the request added last. A send becomes {@code IBV_WR_SEND_WITH_INV}.
     *
     * @param key the remote key that the peer gave out
     * @return this
     * @throws IllegalStateException if the request is not a send, or carries immediate data
     */
    @CName("ibv_wr_send_inv")
    public SendBatch invalidate(int key) {
        checkBegun();
        Operation operation = operation();
        if (operation != Operation.SEND && operation != Operation.SEND_WITH_INVALIDATE) {
            throw new IllegalStateException("Only a send invalidates a key of the peer, got " + operation);
        }
        become(Operation.SEND_WITH_INVALIDATE);
        return key(key);
    }

    /**
     * Adds a send that the adapter cuts into packets, each with a copy of a header ({@code IBV_WR_TSO}): for queue pairs
     * made with {@link QueuePairOptions#tsoHeader}.
     *
     * @param id comes back with the completion
     * @param header any segment; it is copied at once
     * @param segmentSize the largest number of bytes of the data in a packet ({@code mss})
     * @param local the data
     * @return this
     * @throws IllegalStateException if the queue pair has no segmented sends
     */
    @CName("ibv_wr_send_tso")
    public SendBatch segmented(long id, MemorySegment header, int segmentSize, LocalMemory local) {
        checkUser();
        operations.check(Operation.TSO);
        if (header.byteSize() > maxHeader) {
            throw new IndexOutOfBoundsException("length of a header must be at most " + maxHeader
                    + " for this queue pair, got " + header.byteSize() + ": ask for more with tsoHeader()");
        }
        Checks.checkRange("segment size", segmentSize, 0xffff);
        MemoryRegion region = local.region();
        boolean watched = region.checkUsableIn(domain);
        long length = local.length();
        checkPiece(length);
        long start = MemorySlice.of(local).start;
        long place = copy(header);
        begin(id, Operation.TSO.code(), LONGEST_PIECE);
        Memory.set(base + TSO_HEADER, place);
        Memory.set(base + TSO_HEADER_SIZE, (short) header.byteSize());
        Memory.set(base + TSO_MSS, (short) segmentSize);
        addPiece(start, length, region.keyWhenOpen());
        if (watched) {
            keepOpen(region);
        }
        return this;
    }

    /**
     * Adds an atomic write ({@code ibv_wr_atomic_write}). It stores 8 bytes in the peer's memory at once, so that no reader
     * sees a part of them. The queue pair must have been made with {@link QueuePairOptions.OfferedOperation#ATOMIC_WRITE}.
     *
     * @param id comes back with the completion
     * @param value the value to store, in this machine's byte order
     * @param remote the destination: 8 bytes or more, at an address that is a multiple of 8
     * @return this
     */
    @CName("ibv_wr_atomic_write")
    public SendBatch atomicWrite(long id, long value, RemoteMemory remote) {
        checkUser();
        checkAligned(remote);
        Objects.checkFromIndexSize(0, ATOMIC_SIZE, remote.length());
        begin(id, Operation.ATOMIC_WRITE.code(), 0);
        return operands(remote, value, 0);
    }

    /**
     * Adds a flush ({@code ibv_wr_flush}). It completes when earlier writes have been placed as far as asked for. The queue
     * pair must have been made with {@link QueuePairOptions.OfferedOperation#FLUSH}.
     *
     * @param id comes back with the completion
     * @param remote the memory; its region and the peer's queue pair need {@link AccessFlag#FLUSH_GLOBAL} or
     *     {@link AccessFlag#FLUSH_PERSISTENT}, as the placement does. Queue pairs have them by default if the device has
     *     flushes
     * @param level whether to flush this range or the whole region
     * @param placement how far the data must have been placed
     * @return this
     */
    @CName("ibv_wr_flush")
    public SendBatch flush(long id, RemoteMemory remote, FlushLevel level, Set<FlushPlacement> placement) {
        checkUser();
        int type = (placement.contains(FlushPlacement.GLOBAL) ? FlushPlacement.GLOBAL.bit : 0)
                | (placement.contains(FlushPlacement.PERSISTENT) ? FlushPlacement.PERSISTENT.bit : 0);
        if (type == 0) {
            throw new IllegalArgumentException("placement of a flush must be GLOBAL, PERSISTENT or both, got none");
        }
        long limit = remote.length();
        long how = (long) level.code << Integer.SIZE | type;
        begin(id, Operation.FLUSH.code(), 0);
        return operands(remote, limit, how);
    }

    /**
     * Adds one more piece of memory to the request added last. The pieces are sent, or filled, one after the other.
     *
     * @param local the piece
     * @return this
     * @throws IllegalStateException if the request has {@link QueueCapabilities#sendSge} pieces already, or moves no data
     */
    @CName("ibv_wr_set_sge_list")
    public SendBatch and(LocalMemory local) {
        checkAnotherPiece();
        checkIsLast();
        if ((flags() & INLINE) != 0) {
            throw new IllegalStateException("An inline request takes more data by andInline(), not by and()");
        }
        if (!operation().carriesData()) {
            throw new IllegalStateException(operation() + " moves no data");
        }
        MemoryRegion region = local.region();
        boolean watched = region.checkUsableIn(domain);
        long length = local.length();
        checkRoom(length, room());
        addPiece(local.address(), length, region.keyWhenOpen());
        if (watched) {
            keepOpen(region);
        }
        return this;
    }

    /**
     * Copies more data to the end of the inline request added last ({@code ibv_wr_set_inline_data_list}).
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
        checkInline(already + length);
        checkRoom(length, room());
        MemorySegment.copy(data, 0, memory, extra + (long) index() * Math.max(maxInline, maxHeader) + already, length);
        onlyPieceLength(already + length);
        return this;
    }

    /**
     * Gives the request added last, or gone back to by {@link #at}, other local memory. All else stays: the id, the remote
     * memory, the flags. A program can so keep requests in a batch, and post them with another range of memory each time:
     *
     * {@snippet :
     * batch.at(i).range(region, offset, length);
     * }
     *
     * @param local the memory that the range is part of
     * @param offset the offset of the range in {@code local}
     * @param length the number of bytes, not more than the remote memory has if the request names some
     * @return this
     * @throws IndexOutOfBoundsException if the range is not within {@code local}, or too long
     * @throws IllegalStateException if the memory's region is closed; if the request is inline, names several pieces of
     *     memory, or is neither a send, a write nor a read
     */
    @CName("ibv_wr_set_sge")
    public SendBatch range(LocalMemory local, long offset, long length) {
        checkBegun();
        long word = Memory.word(base);
        long operation = (long) Memory.LONG_AT.get(Memory.ALL, Memory.at(word, NUM_SGE_WORD));
        if ((int) operation != 1
                || (ExtendedSends.RANGED >>> (int) (operation >>> Integer.SIZE) & 1) == 0
                || ((long) Memory.LONG_AT.get(Memory.ALL, Memory.at(word, FLAGS_WORD)) & INLINE) != 0) {
            throw new IllegalStateException(
                    "Only a send, write or read with one piece of memory, not inline, takes another range, got "
                            + operation());
        }
        MemorySlice piece = MemorySlice.of(local);
        boolean watched = piece.region.uncheckedDomain != uncheckedDomain && piece.region.checkUsableIn(domain);
        Objects.checkFromIndexSize(offset, length, piece.length);
        long limit = (long) Memory.LONG_AT.get(Memory.ALL, Memory.at(word, LIMIT_WORD));
        if (length > limit || length > path.longestMessage()) {
            throw tooLong(length, limit);
        }
        if (watched) {
            keepOpen(piece.region);
        }
        rangeIs(piece.start + offset, lengthAndKey(length, piece.region.keyWhenOpen()));
        return this;
    }

    private void checkIsLast() {
        if (index() != size() - 1) {
            throw new IllegalStateException(
                    "Only the request added last takes more memory, not a request gone back to by at()");
        }
    }

    /**
     * Adds a number to the request added last. A send becomes {@code IBV_WR_SEND_WITH_IMM}; a write becomes
     * {@code IBV_WR_RDMA_WRITE_WITH_IMM}, which uses up a receive of the peer.
     *
     * @param value arrives as the same {@code int}, also at a C program that calls {@code ntohl}
     * @return this
     * @throws IllegalStateException if the request is neither a send nor a write
     */
    @CName({"ibv_wr_send_imm", "ibv_wr_rdma_write_imm"})
    public SendBatch immediate(int value) {
        checkBegun();
        Operation operation = operation();
        Operation with = operation.withImmediate();
        if (with == Operation.UNKNOWN) {
            throw new IllegalStateException("Only sends and writes carry immediate data, got " + operation);
        }
        become(with);
        Memory.set(base + IMMEDIATE, Integer.reverseBytes(value));
        return this;
    }

    /**
     * Sets the destination of the request added last, which a datagram needs ({@code wr.ud}).
     *
     * @param path the path to the peer, of the queue pair's protection domain; it must still be open when the batch is posted
     * @param queuePairNumber the peer's queue pair, or {@link QueuePair#MULTICAST}
     * @param qkey the peer's key; with its highest bit set, this queue pair's own key is sent
     * @return this
     * @throws IllegalStateException if the queue pair does not send datagrams, or the path is closed
     */
    @CName("ibv_wr_set_ud_addr")
    public SendBatch to(AddressHandle path, int queuePairNumber, int qkey) {
        checkBegun();
        if (!isOf(QueuePairType.UD)) {
            throw new IllegalStateException("Only datagrams have a destination each: " + queuePair);
        }
        path.checkUsableIn(domain);
        Checks.checkRange("queue pair number", queuePairNumber, QueuePair.MULTICAST);
        makeParts(true).set(index(), path, null);
        Memory.set(base + HANDLE, path.address());
        Memory.set(base + REMOTE_QP, queuePairNumber);
        Memory.set(base + REMOTE_QKEY, qkey);
        return this;
    }

    /**
     * Sets the shared receive queue that takes the request added last, on an extended reliable connection
     * ({@code qp_type.xrc.remote_srqn}).
     *
     * @param sharedReceiveQueue the {@linkplain SharedReceiveQueue#number number} of the peer's queue
     * @return this
     * @throws IllegalStateException if the queue pair is of another transport
     */
    @CName("ibv_wr_set_xrc_srqn")
    public SendBatch toShared(int sharedReceiveQueue) {
        checkBegun();
        if (!isOf(QueuePairType.XRC_SEND)) {
            throw new IllegalStateException("Only XRC_SEND names shared receive queues: " + queuePair);
        }
        Memory.set(base + REMOTE_SRQ, sharedReceiveQueue);
        return this;
    }

    /**
     * Lets the request added last succeed without a completion. Keep one request in every
     * {@link QueueCapabilities#sendDepth} signaled, because only a completion frees the queue.
     *
     * @return this
     */
    public SendBatch unsignaled() {
        checkBegun();
        Memory.set(base + FLAGS, flags() & ~SIGNALED);
        return this;
    }

    /**
     * Holds the request added last back until earlier reads and atomics are done ({@code IBV_SEND_FENCE}).
     *
     * @return this
     */
    public SendBatch fence() {
        checkBegun();
        Memory.set(base + FLAGS, flags() | FENCE);
        return this;
    }

    /**
     * Lets the request added last wake a peer that waits for solicited messages only ({@code IBV_SEND_SOLICITED}).
     *
     * @return this
     */
    public SendBatch solicited() {
        checkBegun();
        Memory.set(base + FLAGS, flags() | SOLICITED);
        return this;
    }

    private int flags() {
        return Memory.getInt(base + FLAGS);
    }

    private Operation operation() {
        return Operation.of(Memory.getInt(base + OPCODE));
    }

    private void become(Operation operation) {
        operations.check(operation);
        kindIs(operation.code());
        Memory.set(base + OPCODE, operation.code());
    }

    /** Adds a send, as it is or with what the caller writes to it. */
    private SendBatch send(long id, int code, LocalMemory local) {
        checkUser();
        long request = placeOf(code);
        put(request, id, code, local, NO_LIMIT, 0, 0);
        return added(request, NO_LIMIT);
    }

    /** Adds a request with a range of memory, and a place in the peer's memory if its operation has one. */
    private SendBatch ranged(
            long id,
            int code,
            LocalMemory local,
            long offset,
            long length,
            long limit,
            long remoteAddress,
            int remoteKey) {
        checkUser();
        MemorySlice piece = MemorySlice.of(local);
        boolean watched = piece.region.uncheckedDomain != uncheckedDomain && piece.region.checkUsableIn(domain);
        Objects.checkFromIndexSize(offset, length, piece.length);
        if (length > limit || length > path.longestMessage()) {
            throw tooLong(length, limit);
        }
        begin(id, code, limit);
        long word = Memory.word(base);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, NUM_SGE_WORD), (long) code << Integer.SIZE | 1); // one piece
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, REMOTE_ADDRESS_WORD), remoteAddress);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, REMOTE_KEY_WORD), (long) remoteKey);
        rangeIs(piece.start + offset, lengthAndKey(length, piece.region.keyWhenOpen()));
        if (watched) {
            keepOpen(piece.region);
        }
        return this;
    }

    /** Returns the place of the next request, if its operation may be posted. */
    private long placeOf(int code) {
        if (!isKind(code)) { // else the batch has such a request already, or had
            operations.check(Operation.of(code));
        }
        return place(code);
    }

    /**
     * Writes a request with one piece of memory, and a place in the peer's memory if its operation has one. All checks come
     * first, then all stores, each of a whole word. The caller has checked the thread, as for all methods below.
     *
     * <p>This method is flat: see {@link Memory#LONG_AT}. C2 inlines methods of at most 325 bytes, which this one must not
     * exceed.
     *
     * @param request the address of the request
     * @param limit the number of bytes that the request may name, or {@link #NO_LIMIT}
     */
    void put(long request, long id, int code, LocalMemory local, long limit, long remoteAddress, int remoteKey) {
        MemorySlice piece = MemorySlice.of(local);
        boolean watched = piece.region.uncheckedDomain != uncheckedDomain && piece.region.checkUsableIn(domain);
        if (piece.length > limit || piece.length > path.longestMessage()) {
            throw tooLong(piece.length, limit);
        }
        RequestParts named = parts;
        if (named != null) {
            forgetRareFields(named, request);
        }
        long word = Memory.word(request);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, ID_WORD), id);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, NUM_SGE_WORD), (long) code << Integer.SIZE | 1); // one piece
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, FLAGS_WORD), (long) SIGNALED);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, REMOTE_ADDRESS_WORD), remoteAddress);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, REMOTE_KEY_WORD), (long) remoteKey);
        long first = Memory.word((long) Memory.LONG_AT.get(Memory.ALL, Memory.at(word, SG_LIST_WORD)));
        Memory.LONG_AT.set(Memory.ALL, Memory.at(first, 0), piece.start);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(first, 1), piece.lengthAndKey);
        if (watched) {
            keepOpen(piece.region);
        }
    }

    private void forgetRareFields(RequestParts named, long request) {
        forgetParts(named, request);
        Memory.set(request + REMOTE_SRQ, 0);
    }

    /** Adds a request that names no memory yet, and may name some bytes. From here on nothing may fail. */
    private SendBatch begin(long id, int code, long bytes) {
        long request = placeOf(code);
        RequestParts named = parts;
        if (named != null) {
            forgetRareFields(named, request);
        }
        long word = Memory.word(request);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, ID_WORD), id);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, NUM_SGE_WORD), (long) code << Integer.SIZE);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, FLAGS_WORD), (long) SIGNALED);
        return added(request, bytes);
    }

    /** Adds a request that the caller has written, and notes the number of bytes that it may name. */
    private SendBatch added(long request, long limit) {
        Memory.LONG_AT.set(Memory.ALL, Memory.at(Memory.word(request), LIMIT_WORD), limit);
        return added(request);
    }

    /** Adds a request whose data is copied to the batch, so that C never reads memory that another thread may free. */
    private SendBatch inline(long id, int code, MemorySegment data, long limit) {
        checkUser();
        long length = data.byteSize();
        if (path.extended != null) {
            path.extended.checkInline();
        }
        checkInline(length);
        long most = Math.min(limit, path.longestMessage());
        checkRoom(length, most);
        long place = copy(data);
        begin(id, code, most);
        addPiece(place, length, 0);
        Memory.set(base + FLAGS, SIGNALED | INLINE);
        return this;
    }

    private SendBatch atomic(
            long id, Operation operation, LocalMemory local, RemoteMemory remote, long compareAdd, long swap) {
        checkUser();
        checkAligned(remote);
        Objects.checkFromIndexSize(0, ATOMIC_SIZE, local.length());
        Objects.checkFromIndexSize(0, ATOMIC_SIZE, remote.length());
        MemorySlice piece = MemorySlice.of(local);
        boolean watched = piece.region.checkUsableIn(domain);
        begin(id, operation.code(), ATOMIC_SIZE);
        operands(remote, compareAdd, swap);
        addPiece(piece.start, ATOMIC_SIZE, piece.region.keyWhenOpen());
        if (watched) {
            keepOpen(piece.region);
        }
        return this;
    }

    private SendBatch operands(RemoteMemory remote, long one, long other) {
        Memory.set(base + REMOTE_ADDRESS, remote.address());
        Memory.set(base + COMPARE_ADD, one);
        Memory.set(base + SWAP, other);
        Memory.set(base + ATOMIC_KEY, remote.key());
        return this;
    }

    private SendBatch key(int key) {
        Memory.set(base + INVALIDATE_KEY, key);
        return this;
    }

    /** Posts a request of a thread that is not the first one, or is not known yet. */
    static void postOne(
            SingleRequestBatches<SendBatch> batches,
            long id,
            int code,
            LocalMemory local,
            long limit,
            long remoteAddress,
            int remoteKey) {
        try (var claimed = batches.claim()) {
            SendBatch one = claimed.batch;
            one.put(one.address, id, code, local, limit, remoteAddress, remoteKey);
            one.postOne(one.queueAddress, one.address, id, code);
        }
    }

    /** Returns the number of bytes that the request added last may still name. */
    private long room() {
        long limit = switch (operation()) {
            case FETCH_AND_ADD, COMPARE_AND_SWAP -> ATOMIC_SIZE; // an operand is in place of the limit
            default ->
                Math.min(
                        (long) Memory.LONG_AT.get(Memory.ALL, Memory.at(Memory.word(base), LIMIT_WORD)),
                        path.longestMessage());
        };
        return limit - lengthOfPieces();
    }

    /** Copies data of the next request to the batch, and returns its address there. */
    private long copy(MemorySegment data) {
        long place = extra + (long) size() * Math.max(maxInline, maxHeader);
        if (size() < capacity()) {
            MemorySegment.copy(data, 0, memory, place, data.byteSize());
        }
        return memory.address() + place;
    }

    private static void checkAligned(RemoteMemory remote) {
        if ((remote.address() & 7) != 0) {
            throw new IllegalArgumentException(
                    "remote address of an atomic operation must be a multiple of 8, got " + remote);
        }
    }

    private void checkInline(long length) {
        if (length > maxInline) {
            throw tooLongInline(length);
        }
    }

    private IndexOutOfBoundsException tooLongInline(long length) {
        String limit = queuePair.context.limits().reason(DriverLimits.Part.INLINE);
        return new IndexOutOfBoundsException("length of inline data must be at most " + maxInline
                + " for this queue pair, got " + length + ": "
                + (limit.isEmpty() ? "ask for more with inlineSize()" : limit));
    }

    private IndexOutOfBoundsException tooLong(long length, long limit) {
        return new IndexOutOfBoundsException("length must be at most " + Math.min(limit, path.longestMessage())
                + ", the rest of the remote memory or of a message of this transport, got " + length);
    }

    private static void checkRoom(long length, long room) {
        if (length > room) {
            throw new IndexOutOfBoundsException("length must be at most " + room
                    + ", the rest of the remote memory or of a message of this transport, got " + length);
        }
    }

    /** The place that earlier writes must have reached when a flush completes ({@code enum ibv_placement_type}). */
    public enum FlushPlacement {
        /** The memory that the peer's whole machine sees ({@code IBV_FLUSH_GLOBAL}). */
        GLOBAL(rdma_h.IBV_FLUSH_GLOBAL),
        /** The memory that survives a loss of power ({@code IBV_FLUSH_PERSISTENT}). */
        PERSISTENT(rdma_h.IBV_FLUSH_PERSISTENT);

        final int bit;

        FlushPlacement(int bit) {
            this.bit = bit;
        }
    }

    /** The extent of a flush ({@code enum ibv_selectivity_level}). */
    public enum FlushLevel {
        /** The named range ({@code IBV_FLUSH_RANGE}). */
        RANGE(rdma_h.IBV_FLUSH_RANGE),
        /** The whole memory region ({@code IBV_FLUSH_MR}). */
        MEMORY_REGION(rdma_h.IBV_FLUSH_MR);

        final int code;

        FlushLevel(int code) {
            this.code = code;
        }
    }
}
