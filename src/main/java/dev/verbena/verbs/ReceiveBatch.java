package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsObject;
import dev.verbena.internal.Calls;
import dev.verbena.internal.DataPathCalls;
import dev.verbena.internal.raw.ibv_recv_wr;
import org.jspecify.annotations.Nullable;

/**
 * Work requests for a receive queue, posted together with one call into C ({@code ibv_post_recv}). A batch is made once
 * and used again and again: nothing is allocated. It belongs to the first thread that uses it.
 */
@CName("ibv_post_recv")
public final class ReceiveBatch extends WorkBatch<ReceiveBatch> {
    /** One call into C: which of those that post receives. */
    @FunctionalInterface
    interface Call {
        int post(long requests, long firstRefused);
    }

    private final String verb;
    private final Call call;
    private final Calls calls;
    private final @Nullable QueuePairWork pair;
    private final long function;
    private final long target;

    /** The function is what one thread may call directly, in a critical call; 0 where it must go the guarded way. */
    ReceiveBatch(
            VerbsObject queue,
            @Nullable ProtectionDomain domain,
            int capacity,
            int maxPieces,
            PostedOperations log,
            String verb,
            Call call,
            long function,
            long target) {
        super(queue, domain, capacity, ibv_recv_wr.sizeof(), maxPieces, 0, log);
        this.verb = verb;
        this.call = call;
        this.calls = Calls.of(verb);
        this.pair = queue instanceof QueuePairWork work ? work : null;
        this.function = function;
        this.target = target;
    }

    @Override
    ReceiveBatch self() {
        return this;
    }

    @Override
    int callPost(long requests, long firstRefused) {
        if (function != 0 && (pair == null || pair.canReceive)) {
            calls.one();
            return DataPathCalls.postCritical(function, target, requests, firstRefused);
        }
        return call.post(requests, firstRefused);
    }

    @Override
    long operations() {
        return 0;
    }

    @Override
    String verb() {
        return verb;
    }

    @Override
    String whenFull() {
        return "The receive queue is full: wait for messages before posting more, or ask for a deeper one";
    }

    /**
     * Adds a receive.
     *
     * @param id comes back with the completion
     * @param local where the message is stored; its region needs {@link AccessFlag#LOCAL_WRITE}
     * @return this
     * @throws IllegalStateException if the batch is full, or the memory's region closed
     */
    @CName("rdma_post_recvv")
    public ReceiveBatch receive(long id, LocalMemory local) {
        checkUser();
        int key = usableKey(local);
        long length = lengthOf(local);
        checkPiece(length);
        begin(id, Operation.RECEIVE);
        onlyPiece(startOf(local), length, key);
        return this;
    }

    /**
     * Adds a receive for a message of no bytes: for sends without data, and writes with immediate data.
     *
     * @param id comes back with the completion
     * @return this
     * @throws IllegalStateException if the batch is full
     */
    public ReceiveBatch receive(long id) {
        checkUser();
        begin(id, Operation.RECEIVE);
        return this;
    }

    /**
     * Adds one more piece of memory to the receive added last: they are filled one after the other.
     *
     * @param local the piece
     * @return this
     * @throws IllegalStateException if the receive has {@link QueueCapabilities#receiveSge} pieces already
     */
    public ReceiveBatch and(LocalMemory local) {
        checkAnotherPiece();
        int key = usableKey(local);
        long length = local.length();
        checkPiece(length);
        piece(local.address(), length, key);
        return this;
    }
}
