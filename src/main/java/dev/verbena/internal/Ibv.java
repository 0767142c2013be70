package dev.verbena.internal;

import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** The exported functions of {@code libibverbs} that are called. */
public final class Ibv {
    public static final CFunction GET_DEVICE_LIST = function("ibv_get_device_list");
    public static final CFunction FREE_DEVICE_LIST = function("ibv_free_device_list");
    public static final CFunction GET_DEVICE_GUID = function("ibv_get_device_guid");
    public static final CFunction GET_DEVICE_INDEX = function("ibv_get_device_index");
    public static final CFunction FORK_INIT = function("ibv_fork_init");
    public static final CFunction IS_FORK_INITIALIZED = function("ibv_is_fork_initialized");
    public static final CFunction OPEN_DEVICE = function("ibv_open_device");
    public static final CFunction CLOSE_DEVICE = function("ibv_close_device");
    public static final CFunction QUERY_DEVICE = function("ibv_query_device");
    public static final CFunction QUERY_PORT = function("ibv_query_port");
    public static final CFunction QUERY_GID = function("ibv_query_gid");
    public static final CFunction QUERY_GID_TABLE = function("_ibv_query_gid_table");
    public static final CFunction QUERY_GID_EX = function("_ibv_query_gid_ex");
    public static final CFunction QUERY_PORT_SPEED = function("ibv_query_port_speed", 62);
    public static final CFunction GET_PKEY_INDEX = function("ibv_get_pkey_index");
    public static final CFunction QUERY_PKEY = function("ibv_query_pkey");
    public static final CFunction ALLOC_PD = function("ibv_alloc_pd");
    public static final CFunction DEALLOC_PD = function("ibv_dealloc_pd");
    public static final CFunction REG_MR_IOVA2 = function("ibv_reg_mr_iova2");
    public static final CFunction DEREG_MR = function("ibv_dereg_mr");
    public static final CFunction REREG_MR = function("ibv_rereg_mr");
    public static final CFunction REG_MR_EX = function("ibv_reg_mr_ex", 59);
    public static final CFunction REG_DMABUF_MR = function("ibv_reg_dmabuf_mr");
    public static final CFunction IMPORT_DEVICE = function("ibv_import_device");
    public static final CFunction IMPORT_PD = function("ibv_import_pd");
    public static final CFunction UNIMPORT_PD = function("ibv_unimport_pd");
    public static final CFunction IMPORT_MR = function("ibv_import_mr");
    public static final CFunction UNIMPORT_MR = function("ibv_unimport_mr");
    public static final CFunction IMPORT_DM = function("ibv_import_dm");
    public static final CFunction UNIMPORT_DM = function("ibv_unimport_dm");
    public static final CFunction DM_EXPORT_DMABUF_FD = function("ibv_dm_export_dmabuf_fd", 62);
    public static final CFunction ALLOC_DMAH = function("ibv_alloc_dmah", 59);
    public static final CFunction DEALLOC_DMAH = function("ibv_dealloc_dmah", 59);
    public static final CFunction ALLOC_BUF = function("ibv_alloc_buf", 64);
    public static final CFunction FREE_BUF = function("ibv_free_buf", 64);
    public static final CFunction REG_BUF_MR = function("ibv_reg_buf_mr", 64);
    public static final CFunction EXPORT_BUF_DMABUF_FD = function("ibv_export_buf_dmabuf_fd", 65);
    public static final CFunction QUERY_COMP_CNTR_CAPS = function("_ibv_query_comp_cntr_caps", 65);
    public static final CFunction CREATE_COMP_CNTR = function("ibv_create_comp_cntr", 65);
    public static final CFunction DESTROY_COMP_CNTR = function("ibv_destroy_comp_cntr", 65);
    public static final CFunction SET_COMP_CNTR = function("ibv_set_comp_cntr", 65);
    public static final CFunction SET_ERR_COMP_CNTR = function("ibv_set_err_comp_cntr", 65);
    public static final CFunction INC_COMP_CNTR = function("ibv_inc_comp_cntr", 65);
    public static final CFunction INC_ERR_COMP_CNTR = function("ibv_inc_err_comp_cntr", 65);
    public static final CFunction READ_COMP_CNTR = function("ibv_read_comp_cntr", 65);
    public static final CFunction READ_ERR_COMP_CNTR = function("ibv_read_err_comp_cntr", 65);
    public static final CFunction QP_ATTACH_COMP_CNTR = function("ibv_qp_attach_comp_cntr", 65);
    public static final CFunction CREATE_COMP_CHANNEL = function("ibv_create_comp_channel");
    public static final CFunction DESTROY_COMP_CHANNEL = function("ibv_destroy_comp_channel");
    public static final CFunction GET_CQ_EVENT = function("ibv_get_cq_event");
    public static final CFunction ACK_CQ_EVENTS = function("ibv_ack_cq_events");
    public static final CFunction GET_ASYNC_EVENT = function("ibv_get_async_event");
    public static final CFunction ACK_ASYNC_EVENT = function("ibv_ack_async_event");
    public static final CFunction CREATE_CQ = function("ibv_create_cq");
    public static final CFunction RESIZE_CQ = function("ibv_resize_cq");
    public static final CFunction DESTROY_CQ = function("ibv_destroy_cq");
    public static final CFunction CREATE_QP = function("ibv_create_qp");
    public static final CFunction QP_TO_QP_EX = function("ibv_qp_to_qp_ex");
    public static final CFunction MODIFY_QP = function("ibv_modify_qp");
    public static final CFunction QUERY_QP = function("ibv_query_qp");
    public static final CFunction DESTROY_QP = function("ibv_destroy_qp");
    public static final CFunction CREATE_SRQ = function("ibv_create_srq");
    public static final CFunction MODIFY_SRQ = function("ibv_modify_srq");
    public static final CFunction QUERY_SRQ = function("ibv_query_srq");
    public static final CFunction DESTROY_SRQ = function("ibv_destroy_srq");
    public static final CFunction ATTACH_MCAST = function("ibv_attach_mcast");
    public static final CFunction DETACH_MCAST = function("ibv_detach_mcast");
    public static final CFunction SET_ECE = function("ibv_set_ece");
    public static final CFunction QUERY_ECE = function("ibv_query_ece");
    public static final CFunction QUERY_QP_DATA_IN_ORDER = function("ibv_query_qp_data_in_order");
    public static final CFunction RESOLVE_ETH_L2_FROM_GID = function("ibv_resolve_eth_l2_from_gid");
    public static final CFunction CREATE_AH = function("ibv_create_ah");
    public static final CFunction INIT_AH_FROM_WC = function("ibv_init_ah_from_wc");
    public static final CFunction DESTROY_AH = function("ibv_destroy_ah");

    /** Initialises the class of the struct early: the end of a connection must not be the first to need it. */
    private static final long QP_ATTR_BYTES = ibv_qp_attr.sizeof();

    private Ibv() {}

    /**
     * Changes a queue pair to {@code IBV_QPS_ERR}, so that its requests end. Any thread may call this.
     *
     * @param pair the {@code struct ibv_qp}, which the caller keeps from being destroyed
     * @return 0, or an error number
     */
    public static int failQueuePair(long pair) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment attributes = scratch.allocate(QP_ATTR_BYTES, Long.BYTES);
            ibv_qp_attr.qp_state(attributes, rdma_h.IBV_QPS_ERR);
            return (int) MODIFY_QP.call(pair, attributes.address(), rdma_h.IBV_QP_STATE);
        }
    }

    private static CFunction function(String name) {
        return new CFunction(NativeLibraries.VERBS, name);
    }

    private static CFunction function(String name, int since) {
        return new CFunction(NativeLibraries.VERBS, name, since);
    }
}
