package dev.verbena.verbs;

import dev.verbena.NativeValue;

/** An opcode of a completion ({@code enum ibv_wc_opcode}). The opcode of a failed completion has no meaning. */
public enum WorkOpcode implements NativeValue {
    /** A send ({@code IBV_WC_SEND}). */
    SEND(0, "IBV_WC_SEND"),
    /** An RDMA write ({@code IBV_WC_RDMA_WRITE}). */
    RDMA_WRITE(1, "IBV_WC_RDMA_WRITE"),
    /** An RDMA read ({@code IBV_WC_RDMA_READ}). */
    RDMA_READ(2, "IBV_WC_RDMA_READ"),
    /** A compare-and-swap ({@code IBV_WC_COMP_SWAP}). */
    COMPARE_AND_SWAP(3, "IBV_WC_COMP_SWAP"),
    /** A fetch-and-add ({@code IBV_WC_FETCH_ADD}). */
    FETCH_AND_ADD(4, "IBV_WC_FETCH_ADD"),
    /** The binding of a memory window ({@code IBV_WC_BIND_MW}). */
    BIND_MW(5, "IBV_WC_BIND_MW"),
    /** The invalidation of a local key ({@code IBV_WC_LOCAL_INV}). */
    LOCAL_INVALIDATE(6, "IBV_WC_LOCAL_INV"),
    /** A segmented TCP send ({@code IBV_WC_TSO}). */
    TSO(7, "IBV_WC_TSO"),
    /** A flush ({@code IBV_WC_FLUSH}). */
    FLUSH(8, "IBV_WC_FLUSH"),
    /** An atomic write ({@code IBV_WC_ATOMIC_WRITE}). */
    ATOMIC_WRITE(9, "IBV_WC_ATOMIC_WRITE"),
    /** A receive ({@code IBV_WC_RECV}). */
    RECEIVE(128, "IBV_WC_RECV"),
    /** A receive that an RDMA write with immediate data used up ({@code IBV_WC_RECV_RDMA_WITH_IMM}). */
    RECEIVE_RDMA_WITH_IMMEDIATE(129, "IBV_WC_RECV_RDMA_WITH_IMM"),
    /** The addition of a tag to the list of tag matching ({@code IBV_WC_TM_ADD}). */
    TM_ADD(130, "IBV_WC_TM_ADD"),
    /** The removal of a tag ({@code IBV_WC_TM_DEL}). */
    TM_DEL(131, "IBV_WC_TM_DEL"),
    /** The synchronisation of the list of tags ({@code IBV_WC_TM_SYNC}). */
    TM_SYNC(132, "IBV_WC_TM_SYNC"),
    /** A tagged receive ({@code IBV_WC_TM_RECV}). */
    TM_RECEIVE(133, "IBV_WC_TM_RECV"),
    /** A receive without a tag ({@code IBV_WC_TM_NO_TAG}). */
    TM_NO_TAG(134, "IBV_WC_TM_NO_TAG"),
    /** A driver's own operation ({@code IBV_WC_DRIVER1}). */
    DRIVER1(135, "IBV_WC_DRIVER1"),
    /** A driver's own operation ({@code IBV_WC_DRIVER2}). */
    DRIVER2(136, "IBV_WC_DRIVER2"),
    /** A driver's own operation ({@code IBV_WC_DRIVER3}). */
    DRIVER3(137, "IBV_WC_DRIVER3"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    private static final WorkOpcode[] VALUES = values();

    private final int code;
    private final String cName;

    WorkOpcode(int code, String cName) {
        this.code = code;
        this.cName = cName;
    }

    @Override
    public int code() {
        return code;
    }

    @Override
    public String cName() {
        return cName;
    }

    /**
     * Returns the opcode with a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static WorkOpcode of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}
