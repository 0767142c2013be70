package dev.verbena.internal;

/**
 * A release of rdma-core that this library distinguishes. libibverbs has no function that returns its release, so a release
 * is recognised by a function that it introduced. A provider is always of the same release as the library.
 */
public enum RdmaCoreVersion {
    /** The first recognisable release with {@code ibv_wr_flush}, which came with 45. Nothing distinguishes 45 from 44. */
    V49(49, "ibv_wr_opcode_str"),
    /** The release from which on soft-RoCE unlocks the extended completion queue once per poll. */
    V59(59, "ibv_reg_mr_ex"),
    /**
     * The release that has {@code ibv_query_port_speed}, and the first recognisable one in which
     * {@code ibv_query_qp_data_in_order} can ask about the device only, which came with 60.
     */
    V62(62, "ibv_query_port_speed"),
    /**
     * The release from which on soft-RoCE counts all pieces of {@code ibv_wr_set_sge_list} and
     * {@code ibv_wr_set_inline_data_list}.
     */
    V64(64, "ibv_alloc_buf"),
    /** The release that brought completion counters. */
    V65(65, "ibv_create_comp_cntr");

    /** The oldest release that this library supports. */
    static final int OLDEST = 44;

    private final int number;
    private final String telltale;

    RdmaCoreVersion(int number, String telltale) {
        this.number = number;
        this.telltale = telltale;
    }

    /** Returns the number of the release. */
    public int number() {
        return number;
    }

    /** Returns true if the installed rdma-core is of this release or newer. */
    public boolean isInstalled() {
        return NativeLibraries.VERBS.symbol(telltale).isPresent();
    }
}
