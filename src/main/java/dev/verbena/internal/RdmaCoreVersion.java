package dev.verbena.internal;

/**
 * Which rdma-core is installed, as far as one can tell: libibverbs has no function that says so, but each of its
 * releases has functions that the one before had not. A provider is always of the same release as the library.
 */
public enum RdmaCoreVersion {
    /** {@code ibv_wr_flush} is surely there; it came with 45, which nothing tells from 44. */
    V49("ibv_wr_opcode_str"),
    /** The extended completion queue of soft-RoCE is unlocked once a poll. */
    V59("ibv_reg_mr_ex"),
    /** {@code ibv_query_port_speed}. */
    V62("ibv_query_port_speed"),
    /** Soft-RoCE counts all pieces of {@code ibv_wr_set_sge_list} and {@code ibv_wr_set_inline_data_list}. */
    V64("ibv_alloc_buf");

    private final String telltale;

    RdmaCoreVersion(String telltale) {
        this.telltale = telltale;
    }

    /** Whether the installed rdma-core is this release or a newer one. */
    public boolean isInstalled() {
        return NativeLibraries.VERBS.symbol(telltale).isPresent();
    }
}
