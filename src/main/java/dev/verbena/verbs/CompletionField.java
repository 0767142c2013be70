package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * A field that the completions of an extended queue can report ({@code enum ibv_create_cq_wc_flags}). They always report
 * the id, the status, the opcode, the vendor error and the flags.
 */
public enum CompletionField implements NativeFlag {
    /** The number of bytes that arrived ({@code IBV_WC_EX_WITH_BYTE_LEN}). */
    BYTE_LENGTH(1, "IBV_WC_EX_WITH_BYTE_LEN"),
    /** The immediate data, and the invalidated key ({@code IBV_WC_EX_WITH_IMM}). */
    IMMEDIATE(1 << 1, "IBV_WC_EX_WITH_IMM"),
    /** The number of the queue pair ({@code IBV_WC_EX_WITH_QP_NUM}). */
    QUEUE_PAIR_NUMBER(1 << 2, "IBV_WC_EX_WITH_QP_NUM"),
    /** The number of the queue pair that sent a datagram ({@code IBV_WC_EX_WITH_SRC_QP}). */
    SOURCE_QUEUE_PAIR(1 << 3, "IBV_WC_EX_WITH_SRC_QP"),
    /** The sender's local identifier ({@code IBV_WC_EX_WITH_SLID}). */
    SOURCE_LID(1 << 4, "IBV_WC_EX_WITH_SLID"),
    /** The service level ({@code IBV_WC_EX_WITH_SL}). */
    SERVICE_LEVEL(1 << 5, "IBV_WC_EX_WITH_SL"),
    /** The low bits of the destination's local identifier ({@code IBV_WC_EX_WITH_DLID_PATH_BITS}). */
    PATH_BITS(1 << 6, "IBV_WC_EX_WITH_DLID_PATH_BITS"),
    /** The time of completion in ticks of the device's clock ({@code IBV_WC_EX_WITH_COMPLETION_TIMESTAMP}). */
    TIMESTAMP(1 << 7, "IBV_WC_EX_WITH_COMPLETION_TIMESTAMP"),
    /** The VLAN tag of a raw packet ({@code IBV_WC_EX_WITH_CVLAN}). */
    VLAN(1 << 8, "IBV_WC_EX_WITH_CVLAN"),
    /** The tag of the flow rule that a raw packet matched ({@code IBV_WC_EX_WITH_FLOW_TAG}). */
    FLOW_TAG(1 << 9, "IBV_WC_EX_WITH_FLOW_TAG"),
    /** The result of tag matching ({@code IBV_WC_EX_WITH_TM_INFO}). */
    TAG_MATCHING(1 << 10, "IBV_WC_EX_WITH_TM_INFO"),
    /** The time of completion by the time of day ({@code IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK}). */
    WALL_CLOCK(1 << 11, "IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK");

    private static final Set<CompletionField> STANDARD =
            Collections.unmodifiableSet(EnumSet.range(BYTE_LENGTH, PATH_BITS));

    private final int bit;
    private final String cName;

    CompletionField(int bit, String cName) {
        this.bit = bit;
        this.cName = cName;
    }

    @Override
    public int bit() {
        return bit;
    }

    @Override
    public String cName() {
        return cName;
    }

    /**
     * Returns the fields that the completions of a plain queue report too ({@code IBV_WC_STANDARD_FLAGS}). All devices
     * have them.
     *
     * @return the fields, unmodifiable
     */
    public static Set<CompletionField> standard() {
        return STANDARD;
    }
}
