package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.OPERATIONS;
import static dev.verbena.verbs.QueuePairOptions.TYPE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Driver;
import dev.verbena.internal.ExtendedCalls;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.Memory;
import dev.verbena.internal.raw.ibv_qp_ex;
import dev.verbena.internal.raw.ibv_send_wr;
import dev.verbena.internal.raw.ibv_sge;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/**
 * The functions of one extended queue pair ({@code struct ibv_qp_ex}), which post a list of {@code struct ibv_send_wr}:
 * {@code ibv_wr_start}, then one {@code ibv_wr_...} and its setters for each request, then {@code ibv_wr_complete}.
 *
 * <p>The driver holds a lock from the first call to the last. All requests were written before, so no code of a user runs
 * meanwhile. An operation that the queue pair was not made with is a null pointer in C, and is refused before the lock.
 *
 * <p>{@code ibv_post_send} works for extended queue pairs too, as {@code ibv_wr_post(3)} says, and takes one call for all
 * requests. It posts those of {@link #plain}.
 */
final class ExtendedSends {
    /** All memory. The caller keeps the requests and the queue pair from being freed. */
    private static final MemorySegment MEMORY = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private static final long NEXT = ibv_send_wr.next$offset();
    private static final long PIECES = ibv_send_wr.sg_list$offset();
    private static final long PIECE_COUNT = ibv_send_wr.num_sge$offset();
    private static final long PIECE_SIZE = ibv_sge.sizeof();
    private static final long PIECE_ADDRESS = ibv_sge.addr$offset();
    private static final long PIECE_LENGTH = ibv_sge.length$offset();
    private static final long PIECE_KEY = ibv_sge.lkey$offset();
    private static final long LOW = 0xffff_ffffL;
    private static final int INLINE = SendBatch.INLINE;

    /** The columns of the table of operations that each request needs, by code. */
    private static final Operation.Shape[] SHAPES = new Operation.Shape[Operation.CODES];

    private static final boolean[] CARRY_DATA = new boolean[Operation.CODES];

    /** Sends, writes and reads, a bit for each code: the operations of most programs. */
    private static final int USUAL;

    /** The operations whose requests are written by {@code SendBatch.put}, and so can take another range. */
    static final int RANGED;

    static {
        int usual = 0;
        for (int code = 0; code < Operation.CODES; code++) {
            SHAPES[code] = Operation.of(code).shape();
            CARRY_DATA[code] = Operation.of(code).carriesData();
            boolean plain = SHAPES[code] == Operation.Shape.SEND || SHAPES[code] == Operation.Shape.REMOTE;
            usual |= plain && CARRY_DATA[code] ? 1 << code : 0;
        }
        USUAL = usual;
        int ranged = 0;
        for (Operation operation : new Operation[] {
            Operation.SEND,
            Operation.SEND_WITH_IMMEDIATE,
            Operation.SEND_WITH_INVALIDATE,
            Operation.RDMA_WRITE,
            Operation.RDMA_WRITE_WITH_IMMEDIATE,
            Operation.RDMA_READ
        }) {
            ranged |= 1 << operation.code();
        }
        RANGED = ranged;
    }

    private static final int NEXT_WORD = (int) NEXT / Long.BYTES;

    private final long queue;
    private final long idAddress;
    private final long flagsAddress;
    private final MemorySegment[] builders = new MemorySegment[Operation.CODES];
    private final MemorySegment start;
    private final long completeAddress;
    private MemorySegment complete; // as read last
    private final MemorySegment abort;
    private final MemorySegment setAddress;
    private final MemorySegment setSharedReceiveQueue;
    private final MemorySegment setInline;
    private final MemorySegment setPiece;
    private final MemorySegment setPieces;
    private final ExtendedCalls calls;
    private final ExtendedCalls startCalls; // start takes a lock: see ExtendedCalls
    private final ExtendedCalls completeCalls;
    private final Driver driver;
    /**
     * The value of {@link #plain()}. It would have to be 0 for pairs of type DRIVER, which Verbena does not make: EFA's
     * {@code ibv_post_send} refuses their writes and reads.
     */
    private final int plain;

    private final int flags;
    private final boolean assumesEqualPieces;
    private final QueuePair queuePair;
    private final QueuePairType type;
    private final AllowedOperations allowed;

    /**
     * Reads the functions of a queue pair.
     *
     * @param assumesEqualPieces whether the driver takes all pieces of a request to be as long as the first
     * @throws UnsupportedVerbException if the driver has not made it an extended one, or lacks a function
     */
    ExtendedSends(
            QueuePair queuePair, AllowedOperations allowed, DriverFunctions provider, boolean assumesEqualPieces) {
        long queue = Ibv.QP_TO_QP_EX.call(queuePair.address);
        if (queue == 0) {
            throw new UnsupportedVerbException(
                    Ibv.QP_TO_QP_EX.name(),
                    queuePair.context.name() + ", " + queuePair.options,
                    0,
                    "This device's driver has no extended queue pairs");
        }
        MemorySegment struct = MemorySegment.ofAddress(queue).reinterpret(ibv_qp_ex.sizeof());
        this.queue = queue;
        this.idAddress = queue + ibv_qp_ex.wr_id$offset();
        this.flagsAddress = queue + ibv_qp_ex.wr_flags$offset(); // with the padding before the functions
        Arrays.fill(builders, MemorySegment.NULL);
        for (QueuePairOptions.OfferedOperation operation : OPERATIONS.of(queuePair.options)) {
            builders[operation.operation().code()] = operation.operation().builder(struct);
        }
        checkComplete(queuePair);
        this.start = ibv_qp_ex.wr_start(struct);
        this.completeAddress = queue + ibv_qp_ex.wr_complete$offset();
        this.complete = ibv_qp_ex.wr_complete(struct);
        this.abort = ibv_qp_ex.wr_abort(struct);
        this.setAddress = ibv_qp_ex.wr_set_ud_addr(struct);
        this.setSharedReceiveQueue = ibv_qp_ex.wr_set_xrc_srqn(struct);
        this.setInline = ibv_qp_ex.wr_set_inline_data(struct);
        this.setPiece = ibv_qp_ex.wr_set_sge(struct);
        this.setPieces = ibv_qp_ex.wr_set_sge_list(struct);
        boolean confined = queuePair.lifetime.isConfined();
        this.calls = provider.calls();
        this.startCalls = provider.calls(confined);
        this.completeCalls = provider.calls(provider.postsCritically());
        calls.prepare(true);
        for (ExtendedCalls each : List.of(calls, startCalls, completeCalls)) {
            each.prepare(false);
        }
        this.driver = confined ? provider.forPosts() : provider.forPlainPosts();
        // Inline data has a setter of its own, and only soft-RoCE wants the flag as well.
        this.flags = provider.software() ? -1 : ~INLINE;
        this.assumesEqualPieces = assumesEqualPieces;
        // In a shared arena, the driver makes a plain call, because another thread may have the driver's lock in Java.
        // With libmlx5, a post and its poll take 1.3 times as long as in C there. By the queue pair's functions they
        // take 1.7 to 2.6 times as long.
        boolean may = provider.postsCritically() && !provider.software();
        this.queuePair = queuePair;
        this.type = TYPE.of(queuePair.options);
        this.plain = may && !isOf(QueuePairType.UD) && !isOf(QueuePairType.XRC_SEND) ? USUAL & offered() : 0;
        this.allowed = allowed;
    }

    private boolean isOf(QueuePairType wanted) {
        return type == wanted;
    }

    /** Returns the driver, whose posts take the lock too. */
    Driver driver() {
        return driver;
    }

    /** Returns the operations that have a function, a bit for each code. */
    private int offered() {
        int codes = 0;
        for (int code = 0; code < Operation.CODES; code++) {
            codes |= isMissing(builders[code]) ? 0 : 1 << code;
        }
        return codes;
    }

    private static boolean isMissing(MemorySegment function) {
        return function.address() == 0;
    }

    /** Checks that the driver has a function for each operation that it made the queue pair with. */
    private void checkComplete(QueuePair made) {
        List<QueuePairOptions.OfferedOperation> missing = OPERATIONS.of(made.options).stream()
                .filter(operation -> isMissing(builders[operation.operation().code()]))
                .toList();
        if (!missing.isEmpty()) {
            List<String> lacking = missing.stream()
                    .map(operation -> operation.operation().builder())
                    .toList();
            throw new UnsupportedVerbException(
                    ContextVerb.CREATE_QP_EX.verb(),
                    made.context.name() + ", " + made.options,
                    0,
                    "The driver accepted the operations " + missing + " and lacks " + lacking);
        }
    }

    /**
     * Posts a list as {@code ibv_post_send} does, but either all requests of a run are posted or none.
     *
     * @return 0 or an error number
     */
    int post(long requests, long firstRefused) {
        int way = queuePair.lifetime.enter();
        try {
            return postRuns(requests, firstRefused);
        } finally {
            queuePair.lifetime.exit(way);
        }
    }

    private int postRuns(long requests, long firstRefused) {
        for (long request = requests; request != 0; request = next(request)) {
            checkOffered(request);
        }
        if (!assumesEqualPieces) {
            int errno = postRun(requests, 0);
            if (errno != 0) {
                MEMORY.set(JAVA_LONG, firstRefused, requests);
            }
            return errno;
        }
        long from = requests;
        while (from != 0) {
            boolean plainly = mustPostPlainly(from);
            long last = from;
            long next = next(last);
            while (next != 0 && mustPostPlainly(next) == plainly) {
                last = next;
                next = next(last);
            }
            int errno = plainly ? postPlainly(from, last, next, firstRefused) : postRun(from, next);
            if (errno != 0) {
                if (!plainly || MEMORY.get(JAVA_LONG, firstRefused) == 0) {
                    MEMORY.set(JAVA_LONG, firstRefused, from);
                }
                return errno;
            }
            from = next;
        }
        return 0;
    }

    private void checkOffered(long request) {
        int opcode =
                (int) ((long) Memory.LONG_AT.get(Memory.ALL, Memory.at(Memory.word(request), WorkBatch.NUM_SGE_WORD))
                        >>> Integer.SIZE);
        if (isMissing(builders[opcode])) {
            throw allowed.refusal(Operation.of(opcode));
        }
    }

    /** Checks that the driver has inline data. */
    void checkInline() {
        if (isMissing(setInline)) {
            throw new UnsupportedVerbException(
                    "ibv_wr_set_inline_data",
                    queuePair.toString(),
                    0,
                    "This device's driver has no inline data on extended queue pairs");
        }
    }

    private static long next(long request) {
        return (long) Memory.LONG_AT.get(Memory.ALL, Memory.at(Memory.word(request), NEXT_WORD));
    }

    private boolean mustPostPlainly(long request) {
        int count = MEMORY.get(JAVA_INT, request + PIECE_COUNT);
        if (count < 2) {
            return false;
        }
        long pieces = MEMORY.get(JAVA_LONG, request + PIECES);
        int length = MEMORY.get(JAVA_INT, pieces + PIECE_LENGTH);
        for (int i = 1; i < count; i++) {
            if (MEMORY.get(JAVA_INT, pieces + i * PIECE_SIZE + PIECE_LENGTH) != length) {
                return true;
            }
        }
        return false;
    }

    private int postPlainly(long first, long last, long next, long firstRefused) {
        MEMORY.set(JAVA_LONG, last + NEXT, 0);
        try {
            return driver.postSends(queuePair.address, first, firstRefused);
        } finally {
            MEMORY.set(JAVA_LONG, last + NEXT, next);
        }
    }

    private int postRun(long first, long end) {
        startCalls.call(start, queue);
        try {
            for (long request = first; request != end; request = next(request)) {
                build(request);
            }
        } catch (Throwable broken) { // only an error of the virtual machine leads here
            calls.call(abort, queue);
            throw broken;
        }
        return (int) completeCalls.call(complete(), queue);
    }

    /**
     * Returns the function that posts, which changes: until the queue pair is ready to send, that of mlx5 returns EINVAL.
     * Threads may read different ones, as in C.
     */
    private MemorySegment complete() {
        MemorySegment function = complete;
        long address = MEMORY.get(JAVA_LONG, completeAddress);
        if (function.address() != address) {
            function = MemorySegment.ofAddress(address);
            complete = function;
        }
        return function;
    }

    /** Returns the operations whose requests {@code ibv_post_send} posts, a bit for each code; 0 if there are none. */
    int plain() {
        return plain;
    }

    private void build(long request) {
        int opcode = MEMORY.get(JAVA_INT, request + SendBatch.OPCODE);
        int sendFlags = MEMORY.get(JAVA_INT, request + SendBatch.FLAGS);
        MEMORY.set(JAVA_LONG, idAddress, MEMORY.get(JAVA_LONG, request + WorkBatch.ID));
        MEMORY.set(JAVA_LONG, flagsAddress, sendFlags & flags & LOW);
        build(request, opcode, sendFlags);
    }

    private void build(long request, int opcode, int sendFlags) {
        MemorySegment function = builders[opcode];
        switch (SHAPES[opcode]) {
            case SEND -> calls.call(function, queue);
            case IMMEDIATE_OR_KEY -> calls.call(function, queue, word(request + SendBatch.IMMEDIATE));
            case REMOTE ->
                call(
                        function,
                        word(request + SendBatch.REMOTE_KEY),
                        MEMORY.get(JAVA_LONG, request + SendBatch.REMOTE_ADDRESS),
                        0,
                        0);
            case REMOTE_IMMEDIATE ->
                call(
                        function,
                        word(request + SendBatch.REMOTE_KEY),
                        MEMORY.get(JAVA_LONG, request + SendBatch.REMOTE_ADDRESS),
                        word(request + SendBatch.IMMEDIATE),
                        0);
            case ATOMIC ->
                call(
                        function,
                        word(request + SendBatch.ATOMIC_KEY),
                        MEMORY.get(JAVA_LONG, request + SendBatch.REMOTE_ADDRESS),
                        MEMORY.get(JAVA_LONG, request + SendBatch.COMPARE_ADD),
                        MEMORY.get(JAVA_LONG, request + SendBatch.SWAP));
            case ATOMIC_WRITE ->
                call(
                        function,
                        word(request + SendBatch.ATOMIC_KEY),
                        MEMORY.get(JAVA_LONG, request + SendBatch.REMOTE_ADDRESS),
                        request + SendBatch.COMPARE_ADD,
                        0);
            case BIND ->
                call(
                        function,
                        MEMORY.get(JAVA_LONG, request + SendBatch.WINDOW),
                        word(request + SendBatch.WINDOW_KEY),
                        request + SendBatch.BIND_INFO,
                        0);
            case TSO ->
                call(
                        function,
                        MEMORY.get(JAVA_LONG, request + SendBatch.TSO_HEADER),
                        Short.toUnsignedLong(MEMORY.get(JAVA_SHORT, request + SendBatch.TSO_HEADER_SIZE)),
                        Short.toUnsignedLong(MEMORY.get(JAVA_SHORT, request + SendBatch.TSO_MSS)),
                        0);
            case FLUSH ->
                calls.call(
                        function,
                        queue,
                        word(request + SendBatch.ATOMIC_KEY),
                        MEMORY.get(JAVA_LONG, request + SendBatch.REMOTE_ADDRESS),
                        MEMORY.get(JAVA_LONG, request + SendBatch.COMPARE_ADD),
                        word(request + SendBatch.SWAP),
                        word(request + SendBatch.SWAP + Integer.BYTES));
            case NONE -> throw new AssertionError(Operation.of(opcode));
        }
        if (isOf(QueuePairType.UD)) {
            call(
                    setAddress,
                    MEMORY.get(JAVA_LONG, request + SendBatch.HANDLE),
                    word(request + SendBatch.REMOTE_QP),
                    word(request + SendBatch.REMOTE_QKEY),
                    0);
        } else if (isOf(QueuePairType.XRC_SEND)) {
            calls.call(setSharedReceiveQueue, queue, word(request + SendBatch.REMOTE_SRQ));
        }
        if (CARRY_DATA[opcode]) {
            setData(request, (sendFlags & INLINE) != 0);
        }
    }

    private void setData(long request, boolean inline) {
        int count = MEMORY.get(JAVA_INT, request + PIECE_COUNT);
        long pieces = MEMORY.get(JAVA_LONG, request + PIECES);
        if (inline) {
            call(setInline, MEMORY.get(JAVA_LONG, pieces + PIECE_ADDRESS), word(pieces + PIECE_LENGTH), 0, 0);
        } else if (count > 1) {
            call(setPieces, count, pieces, 0, 0);
        } else if (count == 1) {
            call(
                    setPiece,
                    word(pieces + PIECE_KEY),
                    MEMORY.get(JAVA_LONG, pieces + PIECE_ADDRESS),
                    word(pieces + PIECE_LENGTH),
                    0);
        } else { // some providers finish a request in its setter
            call(setPiece, 0, 0, 0, 0);
        }
    }

    private void call(MemorySegment function, long a, long b, long c, long d) {
        calls.call(function, queue, a, b, c, d, 0);
    }

    private static long word(long at) {
        return MEMORY.get(JAVA_INT, at) & LOW;
    }
}
