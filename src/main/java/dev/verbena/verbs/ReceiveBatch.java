package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsObject;
import dev.verbena.internal.Memory;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A batch of work requests for a receive queue, posted with one call into C ({@code ibv_post_recv}). Make a batch once and
 * use it again and again: it allocates nothing.
 *
 * <p>The memory that a batch names belongs to the adapter from {@link #post} until the requests complete. The batch itself
 * may be filled again when {@code post} returns.
 *
 * <p>A batch belongs to the first thread that uses it; other threads get a {@link WrongThreadException}. It can be used
 * until its queue is closed.
 */
@CName("ibv_post_recv")
public final class ReceiveBatch extends WorkBatch<ReceiveBatch> {
    static final int RECEIVE = Operation.RECEIVE.code();

    ReceiveBatch(VerbsObject queue, @Nullable ProtectionDomain domain, PostPath path, int capacity, int maxPieces) {
        super(queue, domain, path, capacity, maxPieces, 0);
    }

    @Override
    int drive(long of, long requests) {
        return driver.postReceives(of, requests, refused);
    }

    @Override
    ReceiveBatch self() {
        return this;
    }

    @Override
    long operationOffset() {
        return 0;
    }

    /**
     * Adds a receive.
     *
     * @param id comes back with the completion
     * @param local the memory for the message; its region needs {@link AccessFlag#LOCAL_WRITE}
     * @return this
     * @throws IllegalStateException if the batch is full, or the memory's region is closed
     */
    @CName("rdma_post_recvv")
    public ReceiveBatch receive(long id, LocalMemory local) {
        checkUser();
        long request = place(RECEIVE);
        put(request, id, local);
        return added(request);
    }

    /**
     * Adds a receive into a range of memory, without a slice.
     *
     * @param id comes back with the completion
     * @param local the memory that the range is part of; its region needs {@link AccessFlag#LOCAL_WRITE}
     * @param offset the offset of the range in {@code local}
     * @param length the number of bytes
     * @return this
     * @throws IndexOutOfBoundsException if the range is not within {@code local}
     */
    public ReceiveBatch receive(long id, LocalMemory local, long offset, long length) {
        checkUser();
        MemorySlice piece = MemorySlice.of(local);
        boolean watched = piece.region.uncheckedDomain != uncheckedDomain && piece.region.checkUsableIn(domain);
        Objects.checkFromIndexSize(offset, length, piece.length);
        checkPiece(length);
        long request = place(RECEIVE);
        RequestParts named = parts;
        if (named != null) {
            forgetParts(named, request);
        }
        long word = Memory.word(request);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, ID_WORD), id);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, NUM_SGE_WORD), 1L); // one piece
        added(request);
        rangeIs(piece.start + offset, lengthAndKey(length, piece.region.keyWhenOpen()));
        if (watched) {
            keepOpen(piece.region);
        }
        return this;
    }

    /**
     * Gives the receive added last, or gone back to by {@link #at}, other memory. Its id stays.
     *
     * @param local the memory that the range is part of
     * @param offset the offset of the range in {@code local}
     * @param length the number of bytes
     * @return this
     * @throws IndexOutOfBoundsException if the range is not within {@code local}
     * @throws IllegalStateException if the memory's region is closed, or the receive does not name one piece of memory
     */
    public ReceiveBatch range(LocalMemory local, long offset, long length) {
        checkBegun();
        if ((int) (long) Memory.LONG_AT.get(Memory.ALL, Memory.at(Memory.word(base), NUM_SGE_WORD)) != 1) {
            throw new IllegalStateException("Only a receive with one piece of memory takes another range");
        }
        MemorySlice piece = MemorySlice.of(local);
        boolean watched = piece.region.uncheckedDomain != uncheckedDomain && piece.region.checkUsableIn(domain);
        Objects.checkFromIndexSize(offset, length, piece.length);
        checkPiece(length);
        if (watched) {
            keepOpen(piece.region);
        }
        rangeIs(piece.start + offset, lengthAndKey(length, piece.region.keyWhenOpen()));
        return this;
    }

    /** Writes a receive. This method is flat: see {@link Memory#LONG_AT}. */
    void put(long request, long id, LocalMemory local) {
        MemorySlice piece = MemorySlice.of(local);
        boolean watched = piece.region.uncheckedDomain != uncheckedDomain && piece.region.checkUsableIn(domain);
        checkPiece(piece.length);
        RequestParts named = parts;
        if (named != null) {
            forgetParts(named, request);
        }
        long word = Memory.word(request);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, ID_WORD), id);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, NUM_SGE_WORD), 1L); // one piece
        long first = Memory.word((long) Memory.LONG_AT.get(Memory.ALL, Memory.at(word, SG_LIST_WORD)));
        Memory.LONG_AT.set(Memory.ALL, Memory.at(first, 0), piece.start);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(first, 1), piece.lengthAndKey);
        if (watched) {
            keepOpen(piece.region);
        }
    }

    /** Posts a receive of a thread that is not the first one, or is not known yet. */
    static void postOne(SingleRequestBatches<ReceiveBatch> batches, long id, LocalMemory local) {
        try (var claimed = batches.claim()) {
            ReceiveBatch one = claimed.batch;
            one.put(one.address, id, local);
            one.postOne(one.queueAddress, one.address, id, RECEIVE);
        }
    }

    /**
     * Adds a receive for a message of no bytes: for sends without data, and for writes with immediate data.
     *
     * @param id comes back with the completion
     * @return this
     * @throws IllegalStateException if the batch is full
     */
    public ReceiveBatch receive(long id) {
        checkUser();
        long request = place(RECEIVE);
        long word = Memory.word(request);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, ID_WORD), id);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, NUM_SGE_WORD), 0L); // no piece
        return added(request);
    }

    /**
     * Adds one more piece of memory to the receive added last. A message fills one piece after the other.
     *
     * @param local the piece
     * @return this
     * @throws IllegalStateException if the receive has {@link QueueCapabilities#receiveSge} pieces already
     */
    public ReceiveBatch and(LocalMemory local) {
        checkAnotherPiece();
        MemoryRegion region = local.region();
        boolean watched = region.checkUsableIn(domain);
        long length = local.length();
        checkPiece(length);
        addPiece(local.address(), length, region.keyWhenOpen());
        if (watched) {
            keepOpen(region);
        }
        return this;
    }
}
