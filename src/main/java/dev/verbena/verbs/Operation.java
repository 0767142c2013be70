package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.internal.raw.ibv_qp_ex;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * An operation that a work request asks for ({@code enum ibv_wr_opcode}), or a receive.
 *
 * <p>This is the only table of operations. {@link QueuePairOptions.OfferedOperation}, the batches and the extended queue pairs take from it.
 */
public enum Operation {
    /** An RDMA write ({@code IBV_WR_RDMA_WRITE}). */
    RDMA_WRITE(0, "IBV_WR_RDMA_WRITE", 0, "ibv_wr_rdma_write", Shape.REMOTE, Data.CARRIED, Transports.CONNECTED),
    /** An RDMA write with immediate data ({@code IBV_WR_RDMA_WRITE_WITH_IMM}). */
    RDMA_WRITE_WITH_IMMEDIATE(
            1,
            "IBV_WR_RDMA_WRITE_WITH_IMM",
            1,
            "ibv_wr_rdma_write_imm",
            Shape.REMOTE_IMMEDIATE,
            Data.CARRIED,
            Transports.CONNECTED),
    /** A send ({@code IBV_WR_SEND}). */
    SEND(2, "IBV_WR_SEND", 2, "ibv_wr_send", Shape.SEND, Data.CARRIED, Transports.ALL),
    /** A send with immediate data ({@code IBV_WR_SEND_WITH_IMM}). */
    SEND_WITH_IMMEDIATE(
            3, "IBV_WR_SEND_WITH_IMM", 3, "ibv_wr_send_imm", Shape.IMMEDIATE_OR_KEY, Data.CARRIED, Transports.ALL),
    /** An RDMA read ({@code IBV_WR_RDMA_READ}). */
    RDMA_READ(4, "IBV_WR_RDMA_READ", 4, "ibv_wr_rdma_read", Shape.REMOTE, Data.CARRIED, Transports.RELIABLE),
    /** A compare-and-swap ({@code IBV_WR_ATOMIC_CMP_AND_SWP}). */
    COMPARE_AND_SWAP(
            5,
            "IBV_WR_ATOMIC_CMP_AND_SWP",
            5,
            "ibv_wr_atomic_cmp_swp",
            Shape.ATOMIC,
            Data.CARRIED,
            Transports.RELIABLE),
    /** A fetch-and-add ({@code IBV_WR_ATOMIC_FETCH_AND_ADD}). */
    FETCH_AND_ADD(
            6,
            "IBV_WR_ATOMIC_FETCH_AND_ADD",
            6,
            "ibv_wr_atomic_fetch_add",
            Shape.ATOMIC,
            Data.CARRIED,
            Transports.RELIABLE),
    /** The invalidation of a local key ({@code IBV_WR_LOCAL_INV}). */
    LOCAL_INVALIDATE(
            7, "IBV_WR_LOCAL_INV", 7, "ibv_wr_local_inv", Shape.IMMEDIATE_OR_KEY, Data.NONE, Transports.CONNECTED),
    /** The binding of a memory window ({@code IBV_WR_BIND_MW}). */
    BIND_MW(8, "IBV_WR_BIND_MW", 8, "ibv_wr_bind_mw", Shape.BIND, Data.NONE, Transports.CONNECTED),
    /** A send that invalidates a key of the receiver ({@code IBV_WR_SEND_WITH_INV}). */
    SEND_WITH_INVALIDATE(
            9,
            "IBV_WR_SEND_WITH_INV",
            9,
            "ibv_wr_send_inv",
            Shape.IMMEDIATE_OR_KEY,
            Data.CARRIED,
            Transports.CONNECTED),
    /** A segmented TCP send ({@code IBV_WR_TSO}). */
    TSO(10, "IBV_WR_TSO", 10, "ibv_wr_send_tso", Shape.TSO, Data.CARRIED, Transports.ON_REQUEST),
    /** A driver's own operation ({@code IBV_WR_DRIVER1}). */
    DRIVER1(11, "IBV_WR_DRIVER1"),
    /** A flush ({@code IBV_WR_FLUSH}). */
    FLUSH(14, "IBV_WR_FLUSH", 11, "ibv_wr_flush", Shape.FLUSH, Data.NONE, Transports.ON_REQUEST),
    /** An atomic write ({@code IBV_WR_ATOMIC_WRITE}). */
    ATOMIC_WRITE(
            15, "IBV_WR_ATOMIC_WRITE", 12, "ibv_wr_atomic_write", Shape.ATOMIC_WRITE, Data.NONE, Transports.ON_REQUEST),
    /** A receive, which has no number of its own. */
    RECEIVE(-2, ""),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    /** One more than the largest number in C. */
    static final int CODES = 16;

    private static final Operation[] BY_CODE = new Operation[CODES];

    static {
        Arrays.fill(BY_CODE, UNKNOWN);
        for (Operation operation : values()) {
            if (operation.code >= 0) {
                BY_CODE[operation.code] = operation;
            }
        }
    }

    private final int code;
    private final String cName;
    private final int flag;
    private final String builder;
    private final Shape shape;
    private final boolean carriesData;
    private final Transports transports;

    /** The arguments of the function that builds a request on an extended queue pair. */
    enum Shape {
        /** No arguments: a send. */
        SEND,
        /** One word, which is immediate data or a key: both lie in the same field of a request. */
        IMMEDIATE_OR_KEY,
        /** The remote key and address. */
        REMOTE,
        /** The remote key and address, and immediate data. */
        REMOTE_IMMEDIATE,
        /** The remote key and address, and two operands; an addition has one and ignores the other. */
        ATOMIC,
        /** The remote key and address, and a pointer to the 8 bytes to write. */
        ATOMIC_WRITE,
        /** A window, its next key, and the part of a region. */
        BIND,
        /** A header, its length, and the segment size. */
        TSO,
        /** The remote key, address and length, the placement and the range. */
        FLUSH,
        /** The operation has no such function. */
        NONE
    }

    /** True if a request names local memory that data is read from or written to. */
    private enum Data {
        CARRIED,
        NONE
    }

    /** The transports that have an operation. */
    private enum Transports {
        /** All transports. */
        ALL,
        /** All but datagrams and raw packets. */
        CONNECTED,
        /** All reliable transports. */
        RELIABLE,
        /** None unless the queue pair's options ask for the operation. */
        ON_REQUEST,
        /** None: the operation is never posted to a send queue. */
        NONE
    }

    Operation(int code, String cName, int flagBit, String builder, Shape shape, Data data, Transports transports) {
        this.code = code;
        this.cName = cName;
        this.flag = flagBit < 0 ? 0 : 1 << flagBit;
        this.builder = builder;
        this.shape = shape;
        this.carriesData = data == Data.CARRIED;
        this.transports = transports;
    }

    Operation(int code, String cName) {
        this(code, cName, -1, "", Shape.NONE, Data.NONE, Transports.NONE);
    }

    /**
     * Returns the number in C.
     *
     * @return the value of the C constant
     */
    public int code() {
        return code;
    }

    /**
     * Returns the name in C.
     *
     * @return a name, such as {@code IBV_WR_SEND}; empty for a constant without a number in C
     */
    @CName("ibv_wr_opcode_str")
    public String cName() {
        return cName;
    }

    /** Returns the bit of {@code enum ibv_qp_create_send_ops_flags}, or 0 if the operation has none. */
    int flag() {
        return flag;
    }

    /** Returns the C name of the function that builds a request on an extended queue pair. */
    String builder() {
        return builder;
    }

    /** Returns the arguments of {@link #builder}. */
    Shape shape() {
        return shape;
    }

    /** Returns true if a request names local memory that data is read from or written to. */
    boolean carriesData() {
        return carriesData;
    }

    /** Returns true if all queue pairs of a transport have this operation, unless they are extended. */
    boolean isOf(QueuePairType transport) {
        return switch (transports) {
            case ALL -> transport != QueuePairType.XRC_RECV;
            case CONNECTED ->
                switch (transport) {
                    case UD, RAW_PACKET, XRC_RECV -> false;
                    default -> true;
                };
            case RELIABLE ->
                switch (transport) {
                    case UD, RAW_PACKET, XRC_RECV, UC -> false;
                    default -> true;
                };
            case ON_REQUEST, NONE -> false;
        };
    }

    /**
     * Returns the function that builds a request on an extended queue pair; its address is 0 if the driver has none.
     *
     * @param queuePair the {@code struct ibv_qp_ex}
     */
    MemorySegment builder(MemorySegment queuePair) {
        return switch (this) {
            case RDMA_WRITE -> ibv_qp_ex.wr_rdma_write(queuePair);
            case RDMA_WRITE_WITH_IMMEDIATE -> ibv_qp_ex.wr_rdma_write_imm(queuePair);
            case SEND -> ibv_qp_ex.wr_send(queuePair);
            case SEND_WITH_IMMEDIATE -> ibv_qp_ex.wr_send_imm(queuePair);
            case RDMA_READ -> ibv_qp_ex.wr_rdma_read(queuePair);
            case COMPARE_AND_SWAP -> ibv_qp_ex.wr_atomic_cmp_swp(queuePair);
            case FETCH_AND_ADD -> ibv_qp_ex.wr_atomic_fetch_add(queuePair);
            case LOCAL_INVALIDATE -> ibv_qp_ex.wr_local_inv(queuePair);
            case BIND_MW -> ibv_qp_ex.wr_bind_mw(queuePair);
            case SEND_WITH_INVALIDATE -> ibv_qp_ex.wr_send_inv(queuePair);
            case TSO -> ibv_qp_ex.wr_send_tso(queuePair);
            case FLUSH -> ibv_qp_ex.wr_flush(queuePair);
            case ATOMIC_WRITE -> ibv_qp_ex.wr_atomic_write(queuePair);
            case DRIVER1, RECEIVE, UNKNOWN -> MemorySegment.NULL;
        };
    }

    /** Returns the send or write that also carries immediate data, or {@link #UNKNOWN} if there is none. */
    Operation withImmediate() {
        return switch (this) {
            case SEND, SEND_WITH_IMMEDIATE -> SEND_WITH_IMMEDIATE;
            case RDMA_WRITE, RDMA_WRITE_WITH_IMMEDIATE -> RDMA_WRITE_WITH_IMMEDIATE;
            default -> UNKNOWN;
        };
    }

    /** Returns the operation that a request begins as before immediate data or a key is added. */
    Operation plain() {
        return switch (this) {
            case SEND_WITH_IMMEDIATE, SEND_WITH_INVALIDATE -> SEND;
            case RDMA_WRITE_WITH_IMMEDIATE -> RDMA_WRITE;
            default -> this;
        };
    }

    /**
     * Returns the operation with a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static Operation of(int code) {
        return code >= 0 && code < CODES ? BY_CODE[code] : code == RECEIVE.code ? RECEIVE : UNKNOWN;
    }

    /** A guarantee about the order in which data is written to memory ({@code enum ibv_query_qp_data_in_order_caps}). */
    public enum DataOrder {
        /** A whole message is written from its first byte to its last ({@code IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG}). */
        WHOLE_MESSAGE(rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG),
        /** Blocks of 128 bytes, aligned to 128 bytes, are written in order ({@code IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES}). */
        ALIGNED_128_BYTES(rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES);

        final int bit;

        DataOrder(int bit) {
            this.bit = bit;
        }
    }
}
