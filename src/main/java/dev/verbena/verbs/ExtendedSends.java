package dev.verbena.verbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.internal.Calls;
import dev.verbena.internal.ExtendedCalls;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.internal.raw.ibv_qp_ex;
import dev.verbena.internal.raw.ibv_send_wr;
import dev.verbena.internal.raw.ibv_sge;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;

/**
 * Posts a list of {@code struct ibv_send_wr} through the functions of one extended queue pair ({@code struct ibv_qp_ex}):
 * {@code ibv_wr_start}, one {@code ibv_wr_...} and its setters a request, {@code ibv_wr_complete}.
 *
 * <p>A lock of the driver's is held from the first to the last. The requests were written before, so that nothing of the
 * caller's runs meanwhile. An operation that was not asked for is a null pointer in C, and so is refused before.
 */
final class ExtendedSends {
    /** All memory: the requests and the queue pair are where C says, and whoever calls keeps them there. */
    private static final MemorySegment MEMORY = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private static final long ID = ibv_send_wr.wr_id$offset();
    private static final long NEXT = ibv_send_wr.next$offset();
    private static final long PIECES = ibv_send_wr.sg_list$offset();
    private static final long PIECE_COUNT = ibv_send_wr.num_sge$offset();
    private static final long PIECE_SIZE = ibv_sge.sizeof();
    private static final long PIECE_ADDRESS = ibv_sge.addr$offset();
    private static final long PIECE_LENGTH = ibv_sge.length$offset();
    private static final long PIECE_KEY = ibv_sge.lkey$offset();
    private static final long LOW = 0xffff_ffffL;
    private static final int INLINE = SendFlag.INLINE.bit();
    private static final int OPCODES = 16;

    private static final Calls START = Calls.of("ibv_wr_start");
    private static final Calls COMPLETE = Calls.of("ibv_wr_complete");
    private static final Calls ABORT = Calls.of("ibv_wr_abort");
    private static final Calls SET_UD_ADDR = Calls.of("ibv_wr_set_ud_addr");
    private static final Calls SET_XRC_SRQN = Calls.of("ibv_wr_set_xrc_srqn");
    private static final Calls SET_INLINE_DATA = Calls.of("ibv_wr_set_inline_data");
    private static final Calls SET_SGE = Calls.of("ibv_wr_set_sge");
    private static final Calls SET_SGE_LIST = Calls.of("ibv_wr_set_sge_list");
    private static final Calls[] BUILD = new Calls[OPCODES];

    static {
        for (SendOperation operation : SendOperation.values()) {
            BUILD[operation.operation().code()] = Calls.of(operation.builder());
        }
    }

    private final long queue;
    private final long idField;
    private final long flagsField;
    private final long[] builders = new long[OPCODES];
    private final long start;
    private final long complete;
    private final long abort;
    private final long setAddress;
    private final long setSharedReceiveQueue;
    private final long setInline;
    private final long setPiece;
    private final long setPieces;
    private final boolean critical;
    private final boolean criticalStart;
    private final boolean criticalComplete;
    private final boolean datagrams;
    private final boolean namesSharedReceiveQueue;
    private final int flags;
    private final boolean listsAsBefore;

    private final QueuePair queuePair;

    ExtendedSends(
            long queue,
            Set<SendOperation> operations,
            QueuePairType type,
            DriverFunctions provider,
            QueuePair queuePair) {
        MemorySegment struct = MemorySegment.ofAddress(queue).reinterpret(ibv_qp_ex.sizeof());
        this.queue = queue;
        this.idField = queue + ibv_qp_ex.wr_id$offset();
        this.flagsField = queue + ibv_qp_ex.wr_flags$offset();
        for (SendOperation operation : operations) {
            builders[operation.operation().code()] = builder(struct, operation);
        }
        this.start = ibv_qp_ex.wr_start(struct).address();
        this.complete = ibv_qp_ex.wr_complete(struct).address();
        this.abort = ibv_qp_ex.wr_abort(struct).address();
        this.setAddress = ibv_qp_ex.wr_set_ud_addr(struct).address();
        this.setSharedReceiveQueue = ibv_qp_ex.wr_set_xrc_srqn(struct).address();
        this.setInline = ibv_qp_ex.wr_set_inline_data(struct).address();
        this.setPiece = ibv_qp_ex.wr_set_sge(struct).address();
        this.setPieces = ibv_qp_ex.wr_set_sge_list(struct).address();
        this.critical = provider.criticalPoll();
        this.criticalStart = critical && queuePair.lifetime.isConfined(); // it takes a lock: see ExtendedCalls
        this.criticalComplete = provider.criticalPost();
        this.datagrams = type == QueuePairType.UD;
        this.namesSharedReceiveQueue = type == QueuePairType.XRC_SEND;
        // Inline data has a setter of its own, and only soft-RoCE wants the flag as well.
        this.flags = provider.software() ? -1 : ~INLINE;
        // Before rdma-core 64 soft-RoCE takes all pieces of a list to be as long as the first.
        this.listsAsBefore = provider.software() && !RdmaCoreVersion.V64.isInstalled();
        this.queuePair = queuePair;
    }

    private static long builder(MemorySegment struct, SendOperation operation) {
        MemorySegment function = switch (operation) {
            case RDMA_WRITE -> ibv_qp_ex.wr_rdma_write(struct);
            case RDMA_WRITE_WITH_IMMEDIATE -> ibv_qp_ex.wr_rdma_write_imm(struct);
            case SEND -> ibv_qp_ex.wr_send(struct);
            case SEND_WITH_IMMEDIATE -> ibv_qp_ex.wr_send_imm(struct);
            case RDMA_READ -> ibv_qp_ex.wr_rdma_read(struct);
            case COMPARE_AND_SWAP -> ibv_qp_ex.wr_atomic_cmp_swp(struct);
            case FETCH_AND_ADD -> ibv_qp_ex.wr_atomic_fetch_add(struct);
            case LOCAL_INVALIDATE -> ibv_qp_ex.wr_local_inv(struct);
            case BIND_MW -> ibv_qp_ex.wr_bind_mw(struct);
            case SEND_WITH_INVALIDATE -> ibv_qp_ex.wr_send_inv(struct);
            case TSO -> ibv_qp_ex.wr_send_tso(struct);
            case ATOMIC_WRITE -> ibv_qp_ex.wr_atomic_write(struct);
            // The struct of rdma-core 44 ends before it: who asks for it has made sure that this one does not.
            case FLUSH -> MEMORY.get(ADDRESS, struct.address() + ibv_qp_ex.sizeof());
        };
        return function.address();
    }

    /** Those of the operations that the provider has no function for although it made the queue pair. */
    Set<SendOperation> missing(Set<SendOperation> operations) {
        EnumSet<SendOperation> missing = EnumSet.noneOf(SendOperation.class);
        for (SendOperation operation : operations) {
            if (builders[operation.operation().code()] == 0) {
                missing.add(operation);
            }
        }
        return missing;
    }

    /** Posts a list as {@code ibv_post_send} does, but that all of a run are posted or none. */
    int post(long requests, long firstRefused) {
        for (long request = requests; request != 0; request = next(request)) {
            checkOffered(request);
        }
        if (!listsAsBefore) {
            int errno = postRun(requests, 0);
            if (errno != 0) {
                MEMORY.set(JAVA_LONG, firstRefused, requests);
            }
            return errno;
        }
        long from = requests;
        while (from != 0) {
            boolean asBefore = mustGoAsBefore(from);
            long last = from;
            long next = next(last);
            while (next != 0 && mustGoAsBefore(next) == asBefore) {
                last = next;
                next = next(last);
            }
            int errno = asBefore ? postAsBefore(from, last, next, firstRefused) : postRun(from, next);
            if (errno != 0) {
                if (!asBefore || MEMORY.get(JAVA_LONG, firstRefused) == 0) {
                    MEMORY.set(JAVA_LONG, firstRefused, from);
                }
                return errno;
            }
            from = next;
        }
        return 0;
    }

    private void checkOffered(long request) {
        int opcode = MEMORY.get(JAVA_INT, request + SendBatch.OPCODE);
        if (builders[opcode] == 0) {
            throw queuePair.lacks(Operation.of(opcode));
        }
        if (setInline == 0 && (MEMORY.get(JAVA_INT, request + SendBatch.FLAGS) & INLINE) != 0) {
            throw new UnsupportedVerbException(
                    "ibv_wr_set_inline_data",
                    queuePair.toString(),
                    0,
                    "This device's driver has no inline data on extended queue pairs");
        }
    }

    private static long next(long request) {
        return MEMORY.get(JAVA_LONG, request + NEXT);
    }

    private boolean mustGoAsBefore(long request) {
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

    private int postAsBefore(long first, long last, long next, long firstRefused) {
        MEMORY.set(JAVA_LONG, last + NEXT, 0);
        try {
            return queuePair.postByList(first, firstRefused);
        } finally {
            MEMORY.set(JAVA_LONG, last + NEXT, next);
        }
    }

    private int postRun(long first, long end) {
        START.one();
        ExtendedCalls.call(criticalStart, start, queue);
        boolean built = false;
        try {
            for (long request = first; request != end; request = next(request)) {
                build(request);
            }
            built = true;
        } finally {
            if (!built) { // only an error of the virtual machine comes here
                ABORT.one();
                ExtendedCalls.call(critical, abort, queue);
            }
        }
        COMPLETE.one();
        return (int) ExtendedCalls.call(criticalComplete, complete, queue);
    }

    private void build(long request) {
        int sendFlags = MEMORY.get(JAVA_INT, request + SendBatch.FLAGS);
        int opcode = MEMORY.get(JAVA_INT, request + SendBatch.OPCODE);
        MEMORY.set(JAVA_LONG, idField, MEMORY.get(JAVA_LONG, request + ID));
        MEMORY.set(JAVA_INT, flagsField, sendFlags & flags);
        long function = builders[opcode];
        if (Calls.COUNTED) {
            BUILD[opcode].one();
        }
        switch (opcode) {
            case 0, 4 ->
                call(
                        function,
                        word(request + SendBatch.REMOTE_KEY), // a write, a read
                        MEMORY.get(JAVA_LONG, request + SendBatch.REMOTE_ADDRESS),
                        0,
                        0);
            case 1 ->
                call(
                        function,
                        word(request + SendBatch.REMOTE_KEY), // a write with immediate data
                        MEMORY.get(JAVA_LONG, request + SendBatch.REMOTE_ADDRESS),
                        word(request + SendBatch.IMMEDIATE),
                        0);
            case 2 -> ExtendedCalls.call(critical, function, queue); // a send
            case 3, 7, 9 -> // with immediate data; invalidating here; invalidating there: they share the field
                ExtendedCalls.call(critical, function, queue, word(request + SendBatch.IMMEDIATE));
            case 5, 6 ->
                call(
                        function,
                        word(request + SendBatch.ATOMIC_KEY), // atomics; an addition takes no swap
                        MEMORY.get(JAVA_LONG, request + SendBatch.REMOTE_ADDRESS),
                        MEMORY.get(JAVA_LONG, request + SendBatch.COMPARE_ADD),
                        MEMORY.get(JAVA_LONG, request + SendBatch.SWAP));
            case 8 ->
                call(
                        function,
                        MEMORY.get(JAVA_LONG, request + SendBatch.WINDOW),
                        word(request + SendBatch.WINDOW_KEY),
                        request + SendBatch.BIND_INFO,
                        0);
            case 10 ->
                call(
                        function,
                        MEMORY.get(JAVA_LONG, request + SendBatch.TSO_HEADER),
                        Short.toUnsignedLong(MEMORY.get(JAVA_SHORT, request + SendBatch.TSO_HEADER_SIZE)),
                        Short.toUnsignedLong(MEMORY.get(JAVA_SHORT, request + SendBatch.TSO_MSS)),
                        0);
            case 14 ->
                ExtendedCalls.flush(
                        critical,
                        function,
                        queue,
                        word(request + SendBatch.ATOMIC_KEY),
                        MEMORY.get(JAVA_LONG, request + SendBatch.REMOTE_ADDRESS),
                        MEMORY.get(JAVA_LONG, request + SendBatch.COMPARE_ADD),
                        word(request + SendBatch.SWAP),
                        word(request + SendBatch.SWAP + Integer.BYTES));
            default ->
                call(
                        function,
                        word(request + SendBatch.ATOMIC_KEY), // 15, an atomic write
                        MEMORY.get(JAVA_LONG, request + SendBatch.REMOTE_ADDRESS),
                        request + SendBatch.COMPARE_ADD,
                        0);
        }
        if (datagrams) {
            SET_UD_ADDR.one();
            call(
                    setAddress,
                    MEMORY.get(JAVA_LONG, request + SendBatch.HANDLE),
                    word(request + SendBatch.REMOTE_QP),
                    word(request + SendBatch.REMOTE_QKEY),
                    0);
        } else if (namesSharedReceiveQueue) {
            SET_XRC_SRQN.one();
            ExtendedCalls.call(critical, setSharedReceiveQueue, queue, word(request + SendBatch.REMOTE_SRQ));
        }
        if (opcode <= 6 || opcode == 9 || opcode == 10) {
            setData(request, (sendFlags & INLINE) != 0);
        }
    }

    private void setData(long request, boolean inline) {
        int count = MEMORY.get(JAVA_INT, request + PIECE_COUNT);
        long pieces = MEMORY.get(JAVA_LONG, request + PIECES);
        if (inline) {
            SET_INLINE_DATA.one();
            call(setInline, MEMORY.get(JAVA_LONG, pieces + PIECE_ADDRESS), word(pieces + PIECE_LENGTH), 0, 0);
        } else if (count > 1) {
            SET_SGE_LIST.one();
            call(setPieces, count, pieces, 0, 0);
        } else if (count == 1) {
            SET_SGE.one();
            call(
                    setPiece,
                    word(pieces + PIECE_KEY),
                    MEMORY.get(JAVA_LONG, pieces + PIECE_ADDRESS),
                    word(pieces + PIECE_LENGTH),
                    0);
        } else { // some providers finish a request in its setter
            SET_SGE.one();
            call(setPiece, 0, 0, 0, 0);
        }
    }

    private void call(long function, long a, long b, long c, long d) {
        ExtendedCalls.call(critical, function, queue, a, b, c, d);
    }

    private static long word(long at) {
        return MEMORY.get(JAVA_INT, at) & LOW;
    }
}
