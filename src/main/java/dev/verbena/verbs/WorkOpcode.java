package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** An opcode of a completion ({@code enum ibv_wc_opcode}). The opcode of a failed completion has no meaning. */
public enum WorkOpcode {
    /** A send ({@code IBV_WC_SEND}). */
    SEND(rdma_h.IBV_WC_SEND),
    /** An RDMA write ({@code IBV_WC_RDMA_WRITE}). */
    RDMA_WRITE(rdma_h.IBV_WC_RDMA_WRITE),
    /** An RDMA read ({@code IBV_WC_RDMA_READ}). */
    RDMA_READ(rdma_h.IBV_WC_RDMA_READ),
    /** A compare-and-swap ({@code IBV_WC_COMP_SWAP}). */
    COMPARE_AND_SWAP(rdma_h.IBV_WC_COMP_SWAP),
    /** A fetch-and-add ({@code IBV_WC_FETCH_ADD}). */
    FETCH_AND_ADD(rdma_h.IBV_WC_FETCH_ADD),
    /** The binding of a memory window ({@code IBV_WC_BIND_MW}). */
    BIND_MW(rdma_h.IBV_WC_BIND_MW),
    /** The invalidation of a local key ({@code IBV_WC_LOCAL_INV}). */
    LOCAL_INVALIDATE(rdma_h.IBV_WC_LOCAL_INV),
    /** A segmented TCP send ({@code IBV_WC_TSO}). */
    TSO(rdma_h.IBV_WC_TSO),
    /** A flush ({@code IBV_WC_FLUSH}). */
    FLUSH(rdma_h.IBV_WC_FLUSH),
    /** An atomic write ({@code IBV_WC_ATOMIC_WRITE}). */
    ATOMIC_WRITE(rdma_h.IBV_WC_ATOMIC_WRITE),
    /** A receive ({@code IBV_WC_RECV}). */
    RECEIVE(rdma_h.IBV_WC_RECV),
    /** A receive that an RDMA write with immediate data used up ({@code IBV_WC_RECV_RDMA_WITH_IMM}). */
    RECEIVE_RDMA_WITH_IMMEDIATE(rdma_h.IBV_WC_RECV_RDMA_WITH_IMM),
    /** The addition of a tag to the list of tag matching ({@code IBV_WC_TM_ADD}). */
    TM_ADD(rdma_h.IBV_WC_TM_ADD),
    /** The removal of a tag ({@code IBV_WC_TM_DEL}). */
    TM_DEL(rdma_h.IBV_WC_TM_DEL),
    /** The synchronisation of the list of tags ({@code IBV_WC_TM_SYNC}). */
    TM_SYNC(rdma_h.IBV_WC_TM_SYNC),
    /** A tagged receive ({@code IBV_WC_TM_RECV}). */
    TM_RECEIVE(rdma_h.IBV_WC_TM_RECV),
    /** A receive without a tag ({@code IBV_WC_TM_NO_TAG}). */
    TM_NO_TAG(rdma_h.IBV_WC_TM_NO_TAG),
    /** A driver's own operation ({@code IBV_WC_DRIVER1}). */
    DRIVER1(rdma_h.IBV_WC_DRIVER1),
    /** A driver's own operation ({@code IBV_WC_DRIVER2}). */
    DRIVER2(rdma_h.IBV_WC_DRIVER2),
    /** A driver's own operation ({@code IBV_WC_DRIVER3}). */
    DRIVER3(rdma_h.IBV_WC_DRIVER3),
    /** A number that this release does not know. */
    UNKNOWN(-1);

    private static final WorkOpcode[] VALUES = values();

    private final int code;

    WorkOpcode(int code) {
        this.code = code;
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
     * Returns the opcode with a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static WorkOpcode of(int code) {
        for (WorkOpcode opcode : VALUES) {
            if (opcode.code == code) {
                return opcode;
            }
        }
        return UNKNOWN;
    }
}
