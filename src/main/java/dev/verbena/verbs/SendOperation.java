package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import dev.verbena.verbs.device.QueuePairType;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * An operation that an extended queue pair is to offer ({@code enum ibv_qp_create_send_ops_flags}): see
 * {@link QueuePairOptions#operations}.
 */
public enum SendOperation implements NativeFlag {
    /** An RDMA write ({@code IBV_QP_EX_WITH_RDMA_WRITE}). */
    RDMA_WRITE(1, "IBV_QP_EX_WITH_RDMA_WRITE", "ibv_wr_rdma_write", Operation.RDMA_WRITE),
    /** An RDMA write with immediate data ({@code IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM}). */
    RDMA_WRITE_WITH_IMMEDIATE(
            1 << 1, "IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM", "ibv_wr_rdma_write_imm", Operation.RDMA_WRITE_WITH_IMMEDIATE),
    /** A send ({@code IBV_QP_EX_WITH_SEND}). */
    SEND(1 << 2, "IBV_QP_EX_WITH_SEND", "ibv_wr_send", Operation.SEND),
    /** A send with immediate data ({@code IBV_QP_EX_WITH_SEND_WITH_IMM}). */
    SEND_WITH_IMMEDIATE(1 << 3, "IBV_QP_EX_WITH_SEND_WITH_IMM", "ibv_wr_send_imm", Operation.SEND_WITH_IMMEDIATE),
    /** An RDMA read ({@code IBV_QP_EX_WITH_RDMA_READ}). */
    RDMA_READ(1 << 4, "IBV_QP_EX_WITH_RDMA_READ", "ibv_wr_rdma_read", Operation.RDMA_READ),
    /** A compare-and-swap ({@code IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP}). */
    COMPARE_AND_SWAP(1 << 5, "IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP", "ibv_wr_atomic_cmp_swp", Operation.COMPARE_AND_SWAP),
    /** A fetch-and-add ({@code IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD}). */
    FETCH_AND_ADD(1 << 6, "IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD", "ibv_wr_atomic_fetch_add", Operation.FETCH_AND_ADD),
    /** Invalidating a local key ({@code IBV_QP_EX_WITH_LOCAL_INV}). */
    LOCAL_INVALIDATE(1 << 7, "IBV_QP_EX_WITH_LOCAL_INV", "ibv_wr_local_inv", Operation.LOCAL_INVALIDATE),
    /** Binding a memory window ({@code IBV_QP_EX_WITH_BIND_MW}). */
    BIND_MW(1 << 8, "IBV_QP_EX_WITH_BIND_MW", "ibv_wr_bind_mw", Operation.BIND_MW),
    /** A send that invalidates a key of the receiver's ({@code IBV_QP_EX_WITH_SEND_WITH_INV}). */
    SEND_WITH_INVALIDATE(1 << 9, "IBV_QP_EX_WITH_SEND_WITH_INV", "ibv_wr_send_inv", Operation.SEND_WITH_INVALIDATE),
    /** A segmented TCP send ({@code IBV_QP_EX_WITH_TSO}). */
    TSO(1 << 10, "IBV_QP_EX_WITH_TSO", "ibv_wr_send_tso", Operation.TSO),
    /** A flush ({@code IBV_QP_EX_WITH_FLUSH}). */
    FLUSH(1 << 11, "IBV_QP_EX_WITH_FLUSH", "ibv_wr_flush", Operation.FLUSH),
    /** An atomic write ({@code IBV_QP_EX_WITH_ATOMIC_WRITE}). */
    ATOMIC_WRITE(1 << 12, "IBV_QP_EX_WITH_ATOMIC_WRITE", "ibv_wr_atomic_write", Operation.ATOMIC_WRITE);

    private static final Set<SendOperation> DATAGRAMS =
            Collections.unmodifiableSet(EnumSet.of(SEND, SEND_WITH_IMMEDIATE));
    private static final Set<SendOperation> UNRELIABLE =
            Collections.unmodifiableSet(EnumSet.of(SEND, SEND_WITH_IMMEDIATE, RDMA_WRITE, RDMA_WRITE_WITH_IMMEDIATE));
    private static final Set<SendOperation> RELIABLE = Collections.unmodifiableSet(EnumSet.of(
            SEND,
            SEND_WITH_IMMEDIATE,
            RDMA_WRITE,
            RDMA_WRITE_WITH_IMMEDIATE,
            RDMA_READ,
            COMPARE_AND_SWAP,
            FETCH_AND_ADD));

    private final int bit;
    private final String cName;
    private final String builder;
    private final Operation operation;

    SendOperation(int bit, String cName, String builder, Operation operation) {
        this.bit = bit;
        this.cName = cName;
        this.builder = builder;
        this.operation = operation;
    }

    @Override
    public int bit() {
        return bit;
    }

    @Override
    public String cName() {
        return cName;
    }

    /** The C function that adds one to what {@code ibv_wr_start} began. */
    String builder() {
        return builder;
    }

    /**
     * What a work request calls it.
     *
     * @return the operation
     */
    public Operation operation() {
        return operation;
    }

    /**
     * The operations that all devices have for a transport.
     *
     * @param type the transport
     * @return sends and, where the transport has them, writes, reads and atomics
     */
    public static Set<SendOperation> usual(QueuePairType type) {
        return switch (type) {
            case UD, RAW_PACKET -> DATAGRAMS;
            case UC -> UNRELIABLE;
            default -> RELIABLE;
        };
    }
}
