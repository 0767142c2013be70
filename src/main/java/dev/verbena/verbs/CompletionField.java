package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * A field that the completions of an extended queue can report ({@code enum ibv_create_cq_wc_flags}). They always report
 * the id, the status, the opcode, the vendor error and the flags.
 */
public enum CompletionField {
    /** The number of bytes that arrived ({@code IBV_WC_EX_WITH_BYTE_LEN}). */
    BYTE_LENGTH(rdma_h.IBV_WC_EX_WITH_BYTE_LEN),
    /** The immediate data, and the invalidated key ({@code IBV_WC_EX_WITH_IMM}). */
    IMMEDIATE(rdma_h.IBV_WC_EX_WITH_IMM),
    /** The number of the queue pair ({@code IBV_WC_EX_WITH_QP_NUM}). */
    QUEUE_PAIR_NUMBER(rdma_h.IBV_WC_EX_WITH_QP_NUM),
    /** The number of the queue pair that sent a datagram ({@code IBV_WC_EX_WITH_SRC_QP}). */
    SOURCE_QUEUE_PAIR(rdma_h.IBV_WC_EX_WITH_SRC_QP),
    /** The sender's local identifier ({@code IBV_WC_EX_WITH_SLID}). */
    SOURCE_LID(rdma_h.IBV_WC_EX_WITH_SLID),
    /** The service level ({@code IBV_WC_EX_WITH_SL}). */
    SERVICE_LEVEL(rdma_h.IBV_WC_EX_WITH_SL),
    /** The low bits of the destination's local identifier ({@code IBV_WC_EX_WITH_DLID_PATH_BITS}). */
    PATH_BITS(rdma_h.IBV_WC_EX_WITH_DLID_PATH_BITS),
    /** The time of completion in ticks of the device's clock ({@code IBV_WC_EX_WITH_COMPLETION_TIMESTAMP}). */
    TIMESTAMP(rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP),
    /** The VLAN tag of a raw packet ({@code IBV_WC_EX_WITH_CVLAN}). */
    VLAN(rdma_h.IBV_WC_EX_WITH_CVLAN),
    /** The tag of the flow rule that a raw packet matched ({@code IBV_WC_EX_WITH_FLOW_TAG}). */
    FLOW_TAG(rdma_h.IBV_WC_EX_WITH_FLOW_TAG),
    /** The result of tag matching ({@code IBV_WC_EX_WITH_TM_INFO}). */
    TAG_MATCHING(rdma_h.IBV_WC_EX_WITH_TM_INFO),
    /** The time of completion by the time of day ({@code IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK}). */
    WALL_CLOCK(rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);

    private static final Set<CompletionField> STANDARD =
            Collections.unmodifiableSet(EnumSet.range(BYTE_LENGTH, PATH_BITS));

    final int bit;

    CompletionField(int bit) {
        this.bit = bit;
    }

    /**
     * Returns the fields that the completions of a plain queue report too ({@code IBV_WC_STANDARD_FLAGS}). Most
     * drivers have them; irdma lacks {@link #PATH_BITS}.
     *
     * @return the fields, unmodifiable
     */
    public static Set<CompletionField> standard() {
        return STANDARD;
    }
}
