package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.internal.Driver;
import dev.verbena.internal.Memory;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_recv_wr;
import dev.verbena.internal.raw.ibv_send_wr;
import dev.verbena.internal.raw.ibv_sge;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A batch of sends or of receives: native memory with the requests, then their pieces of memory, then whatever else the
 * kind needs, then the pointer to the first refused request. {@code ibv_send_wr} begins like {@code ibv_recv_wr}.
 *
 * <p>The package's own methods leave the check of the thread to their caller: see {@link ThreadBound#checkUser}.
 *
 * @param <B> the kind of batch
 */
abstract sealed class WorkBatch<B extends WorkBatch<B>> extends ThreadBound permits SendBatch, ReceiveBatch {
    static final long ID = ibv_recv_wr.wr_id$offset();
    static final long NEXT = ibv_recv_wr.next$offset();
    private static final long SG_LIST = ibv_recv_wr.sg_list$offset();
    static final long NUM_SGE = ibv_recv_wr.num_sge$offset();
    static final int ID_WORD = (int) ID / Long.BYTES;
    static final int SG_LIST_WORD = (int) SG_LIST / Long.BYTES;
    static final int NUM_SGE_WORD = (int) NUM_SGE / Long.BYTES;

    private static final long SGE_SIZE = ibv_sge.sizeof();
    private static final long SGE_ADDRESS = ibv_sge.addr$offset();
    private static final long SGE_LENGTH = ibv_sge.length$offset();
    private static final long SGE_KEY = ibv_sge.lkey$offset();
    static final long LONGEST_PIECE = 0xffff_ffffL;

    /** The binary logarithm of {@link #STRIDE}: a shift needs no care for numbers below 0, as a division does. */
    private static final int STRIDE_SHIFT = shiftFor(ibv_send_wr.sizeof());

    /** The distance between requests. It is a constant for both kinds, because C2 then folds the multiplication. */
    static final long STRIDE = 1L << STRIDE_SHIFT;

    final @Nullable ProtectionDomain domain;
    /**
     * The domain if all threads of the queue may use it, else this batch, which is no domain. A region that has {@linkplain
     * MemoryRegion#uncheckedDomain the same} needs no more checks.
     */
    final Object uncheckedDomain;

    final PostPath path;
    /** The memory of the batch. The queue keeps the batch reachable while C may read it, so addresses are enough. */
    final MemorySegment memory;
    /** The offset of the kind's own part of the memory. */
    final long extra;
    /** The address of the request added last or gone back to; 0 before the first. */
    long base;
    /** The objects that requests name by pointers; null if there are none. See {@link #makeParts}. */
    @Nullable
    RequestParts parts;

    private final VerbsObject queue;
    final long address;
    private final int capacity;
    private final int maxPieces;
    /** The size of the pieces of a request is 1 shifted by this, which costs less than a multiplication. */
    private final int pieceShift;

    /** The address of the first piece of the first request. */
    final long pieces;

    final long refused;
    final PostedOperations log;
    /** Of {@link #path}, as the next two are: the hot path reads them from here. */
    final Driver driver;

    final long queueAddress;

    /** The address of the next request to be added. */
    private long next;
    /** The address behind the last request that there is room for. */
    private final long full;
    /** The index of the request that ends C's list. All others stay linked to the next. */
    private int last;
    /** The address behind C's list; 0 if a post must look at {@link #parts}. */
    private long linked;

    /** The operation of all requests, or {@link PostedOperations#SEVERAL}. It outlives {@link #clear}. */
    private int kind = PostedOperations.SEVERAL;

    /** Makes an empty batch. */
    WorkBatch(
            VerbsObject queue,
            @Nullable ProtectionDomain domain,
            PostPath path,
            int capacity,
            int maxPieces,
            long extraSize) {
        super(queue);
        this.queue = queue;
        this.domain = domain;
        this.uncheckedDomain = domain != null && (isConfined(queue) || !isConfined(domain)) ? domain : this;
        this.path = path;
        this.log = path.log;
        this.driver = path.driver;
        this.queueAddress = path.address;
        this.capacity = capacity;
        this.maxPieces = Math.max(1, maxPieces);
        long piecesAt = capacity * STRIDE;
        this.pieceShift = shiftFor(this.maxPieces * SGE_SIZE);
        this.extra = piecesAt + ((long) capacity << pieceShift);
        long refusedAt = extra + (extraSize + 7 & -8);
        this.memory = Arena.ofAuto().allocate(refusedAt + Long.BYTES, 64);
        this.address = memory.address();
        this.pieces = address + piecesAt;
        this.refused = address + refusedAt;
        this.full = address + piecesAt;
        this.last = capacity - 1;
        this.linked = full;
        for (int i = 0; i < capacity; i++) { // these fields never change but at the end of a list
            Memory.set(addressOf(i) + SG_LIST, pieceOf(i));
            Memory.set(addressOf(i) + NEXT, i < last ? addressOf(i + 1) : 0);
        }
        reset();
    }

    private static boolean isConfined(VerbsObject object) {
        return ObjectLifetime.of(object).isConfined();
    }

    /** Returns the number of bits to shift 1 by, to get at least a number. */
    private static int shiftFor(long least) {
        return Long.SIZE - Long.numberOfLeadingZeros(least - 1);
    }

    /** Returns two fields of a {@code struct ibv_sge} as one word, as a little-endian processor stores them. */
    static long lengthAndKey(long length, int key) {
        return ((long) key << Integer.SIZE) | (length & LONGEST_PIECE);
    }

    static void checkCapacity(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("capacity of a batch must be at least 1, got " + capacity);
        }
    }

    abstract B self();

    /** Returns the offset of the operation from the id, or 0 if all requests are receives. */
    abstract long operationOffset();

    /**
     * Returns the number of requests that this batch can hold.
     *
     * @return the number that the batch was made with
     */
    public int capacity() {
        return capacity;
    }

    /**
     * Returns the number of requests that have been added since {@link #clear}.
     *
     * @return the count
     */
    public int size() {
        return (int) ((next - address) >>> STRIDE_SHIFT);
    }

    /**
     * Empties this batch.
     *
     * @return this
     */
    public B clear() {
        checkUser();
        reset();
        return self();
    }

    /** Empties this batch. */
    final void reset() {
        next = address;
        base = 0;
        if (parts != null) {
            parts.forgetRegions();
        }
    }

    /** Makes each post check that a region is open, and keep it open, because C does not notice when it is closed. */
    final void keepOpen(MemoryRegion region) {
        makeParts(false).add(region);
    }

    /**
     * Returns the objects that requests name by pointers. From the first call on, each post looks at them.
     *
     * @param eachAddressed whether each request must name one: see {@link RequestParts}
     */
    final RequestParts makeParts(boolean eachAddressed) {
        RequestParts known = parts;
        if (known == null) {
            parts = known = new RequestParts(capacity, eachAddressed);
            linked = 0;
        }
        return known;
    }

    /**
     * Goes back to a request that was added before: the methods that change the request added last now change this one,
     * until another is added. A program can so fill a batch once, and write only the differences before it posts again.
     *
     * @param request the index of the request, in the order they were added, from 0
     * @return this
     * @throws IndexOutOfBoundsException if there is no such request
     */
    public B at(int request) {
        checkUser();
        base = addressOf(Objects.checkIndex(request, size()));
        return self();
    }

    /**
     * Sets the id of the request added last, or gone back to by {@link #at}.
     *
     * @param id comes back with the completion
     * @return this
     */
    public B id(long id) {
        checkBegun();
        Memory.LONG_AT.set(Memory.ALL, Memory.at(Memory.word(base), ID_WORD), id);
        return self();
    }

    /**
     * Sets the id of one request and changes nothing else. This is the fastest way to post a batch again.
     *
     * @param request the index of the request, in the order they were added, from 0
     * @param id comes back with the completion
     * @return this
     * @throws IndexOutOfBoundsException if there is no such request
     */
    public B id(int request, long id) {
        checkUser();
        Memory.LONG_AT.set(
                Memory.ALL, Memory.at(Memory.word(addressOf(Objects.checkIndex(request, size()))), ID_WORD), id);
        return self();
    }

    /**
     * Returns the address of the next request, which becomes part of the batch by {@link #added}: a request that fails the
     * checks in between is not added.
     */
    final long place(int code) {
        long request = next;
        if (request == full) {
            throw full();
        }
        if (kind != code) {
            kind = next == address ? code : PostedOperations.SEVERAL;
        }
        return request;
    }

    /** Returns true if all requests are of this kind, and one of this kind may be added. */
    final boolean isKind(int code) {
        return kind == code;
    }

    /** Adds the request at an address, which {@link #place} has returned and the caller has written. */
    final B added(long request) {
        next = request + STRIDE;
        base = request;
        return self();
    }

    /** Forgets the objects that an earlier request at an address has named. */
    final void forgetParts(RequestParts named, long request) {
        if (request == address) {
            named.forgetRegions();
        }
        named.forget((int) ((request - address) >>> STRIDE_SHIFT));
    }

    private IllegalStateException full() {
        return new IllegalStateException("The batch is full: it was made for " + capacity + " requests");
    }

    /** Notes the operation of the request at {@link #base}. */
    final void kindIs(int code) {
        kind = size() == 1 || kind == code ? code : PostedOperations.SEVERAL;
    }

    final void checkBegun() {
        checkUser();
        if (base == 0) {
            throw new IllegalStateException("The batch is empty: add a request first");
        }
    }

    final void checkAnotherPiece() {
        checkBegun();
        if (Memory.getInt(base + NUM_SGE) == maxPieces) {
            throw new IllegalStateException("A request of " + queue + " names at most " + maxPieces
                    + " pieces of memory: ask for more when you make the queue");
        }
    }

    static void checkPiece(long length) {
        if (length > LONGEST_PIECE) {
            throw new IndexOutOfBoundsException("length of a piece of memory must be at most 4 GiB - 1, got " + length);
        }
    }

    /** Adds a piece of memory to a request. */
    final void addPiece(long start, long length, int key) {
        int used = Memory.getInt(base + NUM_SGE);
        long piece = pieceOf(index()) + used * SGE_SIZE;
        Memory.set(piece + SGE_ADDRESS, start);
        Memory.set(piece + SGE_LENGTH, (int) length);
        Memory.set(piece + SGE_KEY, key);
        Memory.set(base + NUM_SGE, used + 1);
    }

    /** Writes the only piece of memory of the request at {@link #base}, which has one. */
    final void rangeIs(long start, long lengthAndKey) {
        long piece = Memory.word(pieceOf(index()));
        Memory.LONG_AT.set(Memory.ALL, Memory.at(piece, 0), start);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(piece, 1), lengthAndKey);
    }

    /** Returns the number of bytes that the request at {@link #base} names. */
    final long lengthOfPieces() {
        long piece = pieceOf(index());
        long length = 0;
        for (int used = Memory.getInt(base + NUM_SGE); used > 0; used--) {
            length += Integer.toUnsignedLong(Memory.getInt(piece + SGE_LENGTH));
            piece += SGE_SIZE;
        }
        return length;
    }

    /** Returns the length of the piece of a request that has one. */
    final long onlyPieceLength() {
        return Integer.toUnsignedLong(Memory.getInt(pieceOf(index()) + SGE_LENGTH));
    }

    final void onlyPieceLength(long length) {
        Memory.set(pieceOf(index()) + SGE_LENGTH, (int) length);
    }

    final long addressOf(int request) {
        return address + request * STRIDE;
    }

    /** Returns the address of the first piece of a request. */
    final long pieceOf(int request) {
        return pieces + ((long) request << pieceShift);
    }

    /** Returns the index of the request added last, or gone back to. */
    final int index() {
        return (int) ((base - address) >>> STRIDE_SHIFT);
    }

    /** Posts requests by the driver's function. */
    abstract int drive(long of, long requests);

    /** Posts the batch by any function: this is for the requests that {@link #drive} may not post. */
    int driveRarely() {
        return drive(queueAddress, address);
    }

    /**
     * Posts all requests with one call. The batch keeps them, and can post them again.
     *
     * @return the number of posted requests, which is all of them
     * @throws PostException if a request was refused: the exception tells how many were posted before
     * @throws IllegalStateException if the queue is closed, or not yet in a state to take requests
     */
    public int post() {
        checkUser();
        if (next != linked || !log.letsThrough(kind)) {
            return postRarely();
        }
        int errno = drive(queueAddress, address);
        Reference.reachabilityFence(this);
        if (errno != 0) {
            throw refused(errno);
        }
        return size();
    }

    /**
     * Posts the only request of this batch, which the caller has written.
     *
     * <p>The caller gives the batch's own addresses. What C gets first should be few loads away from the user's object: C's
     * first loads wait for it, and each load more takes a nanosecond or two.
     *
     * @param of the queue in C
     * @param request the request
     */
    final void postOne(long of, long request, long id, int code) {
        if (parts != null || !log.takes(id, code)) {
            checkOperation(code);
            one(request, code);
            postRarely();
            return;
        }
        int errno = drive(of, request);
        Reference.reachabilityFence(this);
        if (errno != 0) {
            one(request, code);
            throw refused(errno);
        }
    }

    /** Notes that a request is the only one. */
    private void one(long request, int code) {
        kind = code;
        added(request);
    }

    /** Checks that an operation may be posted to the queue. */
    void checkOperation(int code) {}

    private int postRarely() {
        int n = size();
        if (n == 0) {
            return 0;
        }
        if (n - 1 != last) {
            endListAt(n - 1);
        }
        path.checkReady();
        // Log before posting, because a request may complete at once.
        int logged = log.covers(kind) ? 0 : log.add(address + ID, operationOffset(), STRIDE, n, kind);
        RequestParts named = parts;
        int errno;
        try {
            errno = named == null ? driveRarely() : named.post(this);
        } catch (RuntimeException notCalled) {
            log.takeBack(logged);
            throw notCalled;
        }
        Reference.reachabilityFence(this);
        if (errno != 0) {
            throw failed(path.verb(), errno, n, logged);
        }
        return n;
    }

    private void endListAt(int request) {
        Memory.set(addressOf(last) + NEXT, addressOf(last + 1)); // read by C only within a longer list
        Memory.set(addressOf(request) + NEXT, 0L);
        last = request;
        linked = parts == null ? addressOf(request + 1) : 0;
    }

    /** Returns the C name of the driver's function. */
    String verbOfDriver() {
        return path.verb();
    }

    /** Returns the exception for a refusal of the driver's function. */
    private PostException refused(int errno) {
        return failed(verbOfDriver(), errno, size(), log.covers(kind) ? 0 : size());
    }

    private PostException failed(String function, int errno, int n, int logged) {
        int posted = postedBefore();
        log.takeBack(Math.max(0, logged - posted));
        Memory.set(refused, 0L); // some providers leave it as it is
        return path.failure(function, errno, posted, n);
    }

    /** Returns the number of requests that were posted before the refused one. */
    final int postedBefore() {
        long first = Memory.getLong(refused);
        return first == 0 ? 0 : (int) ((first - address) / STRIDE); // some providers leave it null
    }

    /** Returns the number of requests and the capacity. */
    @Override
    public String toString() {
        return path.verb() + " batch of " + size() + " (of " + capacity + ") for " + queue;
    }
}
