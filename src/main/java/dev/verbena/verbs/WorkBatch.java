package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.internal.Memory;
import dev.verbena.internal.raw.ibv_recv_wr;
import dev.verbena.internal.raw.ibv_sge;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What batches of sends and of receives have in common: native memory with the requests, then their pieces of memory,
 * then what else the kind needs, then the pointer to the first refused request. {@code ibv_send_wr} begins like
 * {@code ibv_recv_wr}.
 *
 * @param <B> the kind of batch
 */
abstract sealed class WorkBatch<B extends WorkBatch<B>> extends ThreadBound permits SendBatch, ReceiveBatch {
    static final long ID = ibv_recv_wr.wr_id$offset();
    private static final long NEXT = ibv_recv_wr.next$offset();
    private static final long SG_LIST = ibv_recv_wr.sg_list$offset();
    private static final long NUM_SGE = ibv_recv_wr.num_sge$offset();

    private static final long SGE_SIZE = ibv_sge.sizeof();
    private static final long SGE_ADDRESS = ibv_sge.addr$offset();
    private static final long SGE_LENGTH = ibv_sge.length$offset();
    private static final long SGE_KEY = ibv_sge.lkey$offset();
    static final long LONGEST_PIECE = 0xffff_ffffL;

    final @Nullable ProtectionDomain domain;
    /** What holds all of it. The queue keeps it while it may be used, so that addresses are enough. */
    final MemorySegment memory;
    /** Where the kind's own part of the memory begins. */
    final long extra;
    /** Where the request is that was added last or gone back to; 0 before the first. */
    long base;

    private final VerbsObject queue;
    private final long address;
    private final long requestSize;
    private final int capacity;
    private final int maxPieces;
    private final long pieces;
    private final long refused;
    private final PostedOperations log;

    private int count;
    /** The index of the request at {@link #base}. */
    private int current;
    /** The request that no other follows in C's list: all others are linked to the next for good. */
    private int last;
    /** The operation of all requests, or {@link PostedOperations#SEVERAL}. */
    private int kind;

    /** The queue is what requests are posted to: for messages. */
    WorkBatch(
            VerbsObject queue,
            @Nullable ProtectionDomain domain,
            int capacity,
            long requestSize,
            int maxPieces,
            long extraSize,
            PostedOperations log) {
        super(queue);
        this.queue = queue;
        this.domain = domain;
        this.capacity = capacity;
        this.requestSize = requestSize;
        this.maxPieces = Math.max(1, maxPieces);
        this.log = log;
        long piecesAt = capacity * requestSize;
        this.extra = piecesAt + (long) capacity * this.maxPieces * SGE_SIZE;
        long refusedAt = extra + (extraSize + 7 & -8);
        this.memory = Arena.ofAuto().allocate(refusedAt + Long.BYTES, 64);
        this.address = memory.address();
        this.pieces = address + piecesAt;
        this.refused = address + refusedAt;
        this.last = capacity - 1;
        for (int i = 0; i < capacity; i++) { // what stays the same for good
            Memory.set(addressOf(i) + SG_LIST, pieceOf(i));
            Memory.set(addressOf(i) + NEXT, i < last ? addressOf(i + 1) : 0);
        }
        reset();
    }

    abstract B self();

    /** One call into C; answers an error number or 0. */
    abstract int callPost(long requests, long firstRefused);

    /** Where the operations are, from the ids on; 0 where all are receives. */
    abstract long operations();

    abstract String verb();

    abstract String whenFull();

    /**
     * How many requests it can hold.
     *
     * @return the number it was made with
     */
    public int capacity() {
        return capacity;
    }

    /**
     * How many requests have been added since {@link #clear}.
     *
     * @return the count
     */
    public int size() {
        return count;
    }

    /**
     * Empties the batch.
     *
     * @return this
     */
    public B clear() {
        checkUser();
        reset();
        return self();
    }

    /** As {@link #clear}, for a caller that has made sure that it is alone: whichever thread it is. */
    final void claim() {
        takeOver();
        reset();
    }

    private void reset() {
        count = 0;
        base = 0;
    }

    /**
     * Goes back to a request that was added before: what changes the request added last changes this one, until another
     * is added. So a batch is filled once, and only what differs is written before it is posted again.
     *
     * @param request the index of the request, in the order they were added, from 0
     * @return this
     * @throws IndexOutOfBoundsException if there is no such request
     */
    public B at(int request) {
        checkUser();
        current = Objects.checkIndex(request, count);
        base = addressOf(request);
        return self();
    }

    /**
     * Gives the request added last, or gone back to by {@link #at}, another id.
     *
     * @param id comes back with the completion
     * @return this
     */
    public B id(long id) {
        checkBegun();
        Memory.set(base + ID, id);
        return self();
    }

    /**
     * Gives one of the requests another id, and leaves it at that: the fastest way to post a batch again.
     *
     * @param request the index of the request, in the order they were added, from 0
     * @param id comes back with the completion
     * @return this
     * @throws IndexOutOfBoundsException if there is no such request
     */
    public B id(int request, long id) {
        checkUser();
        Memory.set(addressOf(Objects.checkIndex(request, count)) + ID, id);
        return self();
    }

    /** The key of memory that may be used now, in the queue's protection domain. */
    final int usableKey(LocalMemory local) {
        MemoryRegion region = local.region();
        region.checkUsableIn(domain);
        return region.keyWhenOpen();
    }

    /** Where memory begins, for a caller that has just checked its key. */
    static long startOf(LocalMemory local) {
        return local instanceof MemorySlice slice
                ? slice.startWhenOpen()
                : local.region().startWhenOpen();
    }

    /** How long memory is, for a caller that has just checked its key. */
    static long lengthOf(LocalMemory local) {
        return local instanceof MemorySlice slice
                ? slice.length()
                : local.region().lengthWhenOpen();
    }

    /** Begins a request: from here on nothing may fail. */
    final void begin(long id, Operation operation) {
        if (count == capacity) {
            throw new IllegalStateException("The batch is full: it was made for " + capacity + " requests");
        }
        current = count++;
        base = addressOf(current);
        Memory.set(base + ID, id);
        Memory.set(base + NUM_SGE, 0);
        is(operation);
    }

    /** What the request at {@link #base} does, from now on. */
    final void is(Operation operation) {
        int code = operation.code();
        kind = count == 1 || kind == code ? code : PostedOperations.SEVERAL;
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
                    + " pieces of memory: ask for more when you make it");
        }
    }

    static void checkPiece(long length) {
        if (length > LONGEST_PIECE) {
            throw new IndexOutOfBoundsException("A piece of memory has at most 4 GiB - 1: " + length);
        }
    }

    final void piece(long start, long length, int key) {
        int used = Memory.getInt(base + NUM_SGE);
        setPiece(pieceOf(current) + used * SGE_SIZE, start, length, key);
        Memory.set(base + NUM_SGE, used + 1);
    }

    /** As {@link #piece} of a request that has none yet. */
    final void onlyPiece(long start, long length, int key) {
        setPiece(pieceOf(current), start, length, key);
        Memory.set(base + NUM_SGE, 1);
    }

    private static void setPiece(long piece, long start, long length, int key) {
        Memory.set(piece + SGE_ADDRESS, start);
        Memory.set(piece + SGE_LENGTH, (int) length);
        Memory.set(piece + SGE_KEY, key);
    }

    /** Where a request is. */
    final long addressOf(int request) {
        return address + request * requestSize;
    }

    /** Where the first piece of a request is. */
    private long pieceOf(int request) {
        return pieces + (long) request * maxPieces * SGE_SIZE;
    }

    /** The length of the piece of a request that has one. */
    final long onlyPieceLength() {
        return Integer.toUnsignedLong(Memory.getInt(pieceOf(current) + SGE_LENGTH));
    }

    final void onlyPieceLength(long length) {
        Memory.set(pieceOf(current) + SGE_LENGTH, (int) length);
    }

    /** The index of the request added last, or gone back to. */
    final int index() {
        return current;
    }

    /**
     * Posts all requests with one call. The batch keeps them, and could post them again.
     *
     * @return how many were posted: all of them
     * @throws PostException if one was refused: it says how many were posted before
     * @throws IllegalStateException if what they go to is closed, or not yet in a state to take them
     */
    public int post() {
        checkUser();
        return postAll();
    }

    /** As {@link #post}, for a caller that has made sure that it is alone. */
    final int postAll() {
        int n = count;
        if (n == 0) {
            return 0;
        }
        if (n - 1 != last) {
            endListAt(n - 1);
        }
        // Before they are posted, as they may complete at once.
        int logged = log.covers(kind) ? 0 : log.add(address + ID, operations(), requestSize, n, kind);
        int errno;
        try {
            errno = callPost(address, refused);
        } catch (RuntimeException notCalled) {
            log.takeBack(logged);
            throw notCalled;
        }
        Reference.reachabilityFence(this);
        if (errno != 0) {
            throw failed(errno, n, logged);
        }
        return n;
    }

    private void endListAt(int request) {
        if (last < capacity - 1) {
            Memory.set(addressOf(last) + NEXT, addressOf(last + 1));
        }
        Memory.set(addressOf(request) + NEXT, 0L);
        last = request;
    }

    private PostException failed(int errno, int n, int logged) {
        int posted = postedBefore();
        log.takeBack(Math.max(0, logged - posted));
        Memory.set(refused, 0L); // some providers leave it as it is
        return PostException.of(verb(), queue, errno, posted, n, whenFull());
    }

    /** How many requests went through before one was refused. */
    final int postedBefore() {
        long first = Memory.getLong(refused);
        return first == 0 ? 0 : (int) ((first - address) / requestSize); // some providers leave it null
    }

    /** How many requests of how many. */
    @Override
    public String toString() {
        return verb() + " batch of " + count + " (of " + capacity + ") for " + queue;
    }
}
