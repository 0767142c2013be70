package dev.verbena.verbs;

import dev.verbena.verbs.device.QueuePairType;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * An operation to ask for when an extended queue pair is made ({@code enum ibv_qp_create_send_ops_flags}): see
 * {@link QueuePairOptions#operations}.
 */
public enum SendOperation {
    /** An RDMA write ({@code IBV_QP_EX_WITH_RDMA_WRITE}). */
    RDMA_WRITE(Operation.RDMA_WRITE),
    /** An RDMA write with immediate data ({@code IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM}). */
    RDMA_WRITE_WITH_IMMEDIATE(Operation.RDMA_WRITE_WITH_IMMEDIATE),
    /** A send ({@code IBV_QP_EX_WITH_SEND}). */
    SEND(Operation.SEND),
    /** A send with immediate data ({@code IBV_QP_EX_WITH_SEND_WITH_IMM}). */
    SEND_WITH_IMMEDIATE(Operation.SEND_WITH_IMMEDIATE),
    /** An RDMA read ({@code IBV_QP_EX_WITH_RDMA_READ}). */
    RDMA_READ(Operation.RDMA_READ),
    /** A compare-and-swap ({@code IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP}). */
    COMPARE_AND_SWAP(Operation.COMPARE_AND_SWAP),
    /** A fetch-and-add ({@code IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD}). */
    FETCH_AND_ADD(Operation.FETCH_AND_ADD),
    /** The invalidation of a local key ({@code IBV_QP_EX_WITH_LOCAL_INV}). */
    LOCAL_INVALIDATE(Operation.LOCAL_INVALIDATE),
    /** The binding of a memory window ({@code IBV_QP_EX_WITH_BIND_MW}). */
    BIND_MW(Operation.BIND_MW),
    /** A send that invalidates a key of the receiver ({@code IBV_QP_EX_WITH_SEND_WITH_INV}). */
    SEND_WITH_INVALIDATE(Operation.SEND_WITH_INVALIDATE),
    /** A segmented TCP send ({@code IBV_QP_EX_WITH_TSO}). */
    TSO(Operation.TSO),
    /** A flush ({@code IBV_QP_EX_WITH_FLUSH}). */
    FLUSH(Operation.FLUSH),
    /** An atomic write ({@code IBV_QP_EX_WITH_ATOMIC_WRITE}). */
    ATOMIC_WRITE(Operation.ATOMIC_WRITE);

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

    private final Operation operation;

    SendOperation(Operation operation) {
        this.operation = operation;
    }

    int bit() {
        return operation.flag();
    }

    /**
     * Returns the operation of a work request.
     *
     * @return the constant of the same name
     */
    public Operation operation() {
        return operation;
    }

    /**
     * Returns the operations that all devices have for a transport.
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
