package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.internal.raw.ibv_recv_wr;
import dev.verbena.internal.raw.ibv_sge;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/**
 * What batches of sends and of receives have in common: native memory with the requests, then their pieces of memory,
 * then what else the kind needs, then the pointer to the first refused request. {@code ibv_send_wr} begins like
 * {@code ibv_recv_wr}.
 *
 * @param <B> the kind of batch
 */
abstract sealed class WorkBatch<B extends WorkBatch<B>> permits SendBatch, ReceiveBatch {
    private static final long ID = ibv_recv_wr.wr_id$offset();
    private static final long NEXT = ibv_recv_wr.next$offset();
    private static final long SG_LIST = ibv_recv_wr.sg_list$offset();
    private static final long NUM_SGE = ibv_recv_wr.num_sge$offset();

    private static final long SGE_SIZE = ibv_sge.sizeof();
    private static final long SGE_ADDRESS = ibv_sge.addr$offset();
    private static final long SGE_LENGTH = ibv_sge.length$offset();
    private static final long SGE_KEY = ibv_sge.lkey$offset();
    static final long LONGEST_PIECE = 0xffff_ffffL;

    final @Nullable ProtectionDomain domain;
    final MemorySegment memory;
    final long address;
    /** Where the kind's own part of the memory begins. */
    final long extra;

    private final VerbsObject queue;
    private final long requestSize;
    private final int capacity;
    private final int mostPieces;
    private final long pieces;
    private final long refused;
    private final WorkLog log;

    private final OneThread user = new OneThread();
    private int count;
    /** Where the request added last is; negative before the first. */
    long base;

    /** The queue is what requests are posted to: for messages. */
    WorkBatch(VerbsObject queue, @Nullable ProtectionDomain domain, int capacity, long requestSize, int mostPieces,
            long extraSize, Arena arena, WorkLog log) {
        this.queue = queue;
        this.domain = domain;
        this.capacity = capacity;
        this.requestSize = requestSize;
        this.mostPieces = Math.max(1, mostPieces);
        this.log = log;
        this.pieces = capacity * requestSize;
        this.extra = pieces + (long) capacity * this.mostPieces * SGE_SIZE;
        this.refused = extra + (extraSize + 7 & -8);
        this.memory = arena.allocate(refused + Long.BYTES, 64);
        this.address = memory.address();
        for (int i = 0; i < capacity; i++) { // what stays the same for good
            memory.set(ValueLayout.JAVA_LONG, i * requestSize + SG_LIST,
                    address + pieces + (long) i * this.mostPieces * SGE_SIZE);
        }
        reset();
    }

    abstract B self();

    /** One call into C; answers an error number or 0. */
    abstract int callPost(long requests, long firstRefused);

    abstract int operation(long request);

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
        user.take();
        reset();
    }

    private void reset() {
        count = 0;
        base = -requestSize;
    }

    final void checkUser() {
        user.check(memory, this);
    }

    /** The key of memory that may be used now, in the queue's protection domain. */
    final int usableKey(LocalMemory local) {
        MemoryRegion region = local.region();
        region.checkUsableIn(domain);
        return region.keyWhenOpen();
    }

    /** Begins a request: from here on nothing may fail. */
    final void begin(long id) {
        checkUser();
        if (count == capacity) {
            throw new IllegalStateException("The batch is full: it was made for " + capacity + " requests");
        }
        base += requestSize;
        count++;
        memory.set(ValueLayout.JAVA_LONG, base + ID, id);
        memory.set(ValueLayout.JAVA_INT, base + NUM_SGE, 0);
    }

    final void checkBegun() {
        checkUser();
        if (base < 0) {
            throw new IllegalStateException("The batch is empty: add a request first");
        }
    }

    final void checkAnotherPiece() {
        checkBegun();
        if (memory.get(ValueLayout.JAVA_INT, base + NUM_SGE) == mostPieces) {
            throw new IllegalStateException("A request of " + queue + " names at most " + mostPieces
                    + " pieces of memory: ask for more when you make it");
        }
    }

    static void checkPiece(long length) {
        if (length > LONGEST_PIECE) {
            throw new IndexOutOfBoundsException("A piece of memory has at most 4 GiB - 1: " + length);
        }
    }

    final void piece(long start, long length, int key) {
        int used = memory.get(ValueLayout.JAVA_INT, base + NUM_SGE);
        long piece = pieces + ((long) index() * mostPieces + used) * SGE_SIZE;
        memory.set(ValueLayout.JAVA_LONG, piece + SGE_ADDRESS, start);
        memory.set(ValueLayout.JAVA_INT, piece + SGE_LENGTH, (int) length);
        memory.set(ValueLayout.JAVA_INT, piece + SGE_KEY, key);
        memory.set(ValueLayout.JAVA_INT, base + NUM_SGE, used + 1);
    }

    /** Where a request is in the memory. */
    final long at(int request) {
        return request * requestSize;
    }

    /** The length of the piece of a request that has one. */
    final long onlyPieceLength() {
        return Integer.toUnsignedLong(
                memory.get(ValueLayout.JAVA_INT, pieces + index() * mostPieces * SGE_SIZE + SGE_LENGTH));
    }

    final void onlyPieceLength(long length) {
        memory.set(ValueLayout.JAVA_INT, pieces + index() * mostPieces * SGE_SIZE + SGE_LENGTH, (int) length);
    }

    /** The index of the request added last. */
    final int index() {
        return count - 1;
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
        long last = (n - 1) * requestSize;
        for (long at = 0; at <= last; at += requestSize) {
            memory.set(ValueLayout.JAVA_LONG, at + NEXT, at == last ? 0 : address + at + requestSize);
        }
        int logged = log(n);
        memory.set(ValueLayout.JAVA_LONG, refused, 0);
        int errno;
        try {
            errno = callPost(address, address + refused);
        } catch (RuntimeException notCalled) {
            log.takeBack(logged);
            throw notCalled;
        }
        if (errno != 0) {
            throw failed(errno, n, logged);
        }
        return n;
    }

    /** Before they are posted, as they may complete at once. Those that no queue can hold would push out the others. */
    private int log(int n) {
        int logged = Math.min(n, log.size());
        for (long at = 0, end = logged * requestSize; at < end; at += requestSize) {
            log.add(memory.get(ValueLayout.JAVA_LONG, at + ID), operation(at));
        }
        return logged;
    }

    private PostException failed(int errno, int n, int logged) {
        int posted = postedBefore();
        log.takeBack(Math.max(0, logged - posted));
        return PostException.of(verb(), queue, errno, posted, n, whenFull());
    }

    /** How many requests went through before one was refused. */
    final int postedBefore() {
        long first = memory.get(ValueLayout.JAVA_LONG, refused);
        return first == 0 ? 0 : (int) ((first - address) / requestSize); // some providers leave it null
    }

    /** How many requests of how many. */
    @Override
    public String toString() {
        return verb() + " batch of " + count + " (of " + capacity + ") for " + queue;
    }
}
