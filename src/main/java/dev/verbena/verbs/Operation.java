package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.NativeValue;

/** What was asked for in a work request ({@code enum ibv_wr_opcode}, and receives). */
public enum Operation implements NativeValue {
    /** An RDMA write ({@code IBV_WR_RDMA_WRITE}). */
    RDMA_WRITE(0, "IBV_WR_RDMA_WRITE"),
    /** An RDMA write with immediate data ({@code IBV_WR_RDMA_WRITE_WITH_IMM}). */
    RDMA_WRITE_WITH_IMMEDIATE(1, "IBV_WR_RDMA_WRITE_WITH_IMM"),
    /** A send ({@code IBV_WR_SEND}). */
    SEND(2, "IBV_WR_SEND"),
    /** A send with immediate data ({@code IBV_WR_SEND_WITH_IMM}). */
    SEND_WITH_IMMEDIATE(3, "IBV_WR_SEND_WITH_IMM"),
    /** An RDMA read ({@code IBV_WR_RDMA_READ}). */
    RDMA_READ(4, "IBV_WR_RDMA_READ"),
    /** A compare-and-swap ({@code IBV_WR_ATOMIC_CMP_AND_SWP}). */
    COMPARE_AND_SWAP(5, "IBV_WR_ATOMIC_CMP_AND_SWP"),
    /** A fetch-and-add ({@code IBV_WR_ATOMIC_FETCH_AND_ADD}). */
    FETCH_AND_ADD(6, "IBV_WR_ATOMIC_FETCH_AND_ADD"),
    /** Invalidating a local key ({@code IBV_WR_LOCAL_INV}). */
    LOCAL_INVALIDATE(7, "IBV_WR_LOCAL_INV"),
    /** Binding a memory window ({@code IBV_WR_BIND_MW}). */
    BIND_MW(8, "IBV_WR_BIND_MW"),
    /** A send that invalidates a key of the receiver's ({@code IBV_WR_SEND_WITH_INV}). */
    SEND_WITH_INVALIDATE(9, "IBV_WR_SEND_WITH_INV"),
    /** A segmented TCP send ({@code IBV_WR_TSO}). */
    TSO(10, "IBV_WR_TSO"),
    /** What a driver defines for itself ({@code IBV_WR_DRIVER1}). */
    DRIVER1(11, "IBV_WR_DRIVER1"),
    /** A flush ({@code IBV_WR_FLUSH}). */
    FLUSH(14, "IBV_WR_FLUSH"),
    /** An atomic write ({@code IBV_WR_ATOMIC_WRITE}). */
    ATOMIC_WRITE(15, "IBV_WR_ATOMIC_WRITE"),
    /** A receive, which has no number of its own. */
    RECEIVE(-2, ""),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    private static final Operation[] VALUES = values();

    private final int code;
    private final String cName;

    Operation(int code, String cName) {
        this.code = code;
        this.cName = cName;
    }

    @Override
    public int code() {
        return code;
    }

    @CName("ibv_wr_opcode_str")
    @Override
    public String cName() {
        return cName;
    }

    /**
     * The constant for a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static Operation of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}
