package dev.verbena.internal;

/** The exported functions of {@code librdmacm} that are called. On failure they return -1 and set {@code errno}. */
public final class RdmaCm {
    public static final CFunction CREATE_EVENT_CHANNEL = function("rdma_create_event_channel");
    public static final CFunction DESTROY_EVENT_CHANNEL = function("rdma_destroy_event_channel");
    public static final CFunction GET_CM_EVENT = function("rdma_get_cm_event");
    public static final CFunction ACK_CM_EVENT = function("rdma_ack_cm_event");
    public static final CFunction CREATE_ID = function("rdma_create_id");
    public static final CFunction DESTROY_ID = function("rdma_destroy_id");
    public static final CFunction MIGRATE_ID = function("rdma_migrate_id");
    public static final CFunction CREATE_EP = function("rdma_create_ep");
    public static final CFunction DESTROY_EP = function("rdma_destroy_ep");
    public static final CFunction SET_OPTION = function("rdma_set_option");
    public static final CFunction BIND_ADDR = function("rdma_bind_addr");
    public static final CFunction LISTEN = function("rdma_listen");
    public static final CFunction RESOLVE_ADDR = function("rdma_resolve_addr");
    public static final CFunction RESOLVE_ROUTE = function("rdma_resolve_route");
    public static final CFunction CONNECT = function("rdma_connect");
    public static final CFunction ESTABLISH = function("rdma_establish");
    public static final CFunction ACCEPT = function("rdma_accept");
    public static final CFunction REJECT = function("rdma_reject");
    public static final CFunction REJECT_ECE = function("rdma_reject_ece");
    public static final CFunction NOTIFY = function("rdma_notify");
    public static final CFunction DISCONNECT = function("rdma_disconnect");
    public static final CFunction GET_SRC_PORT = function("rdma_get_src_port");
    public static final CFunction GET_DST_PORT = function("rdma_get_dst_port");
    public static final CFunction GET_DEVICES = function("rdma_get_devices");
    public static final CFunction FREE_DEVICES = function("rdma_free_devices");
    public static final CFunction CREATE_QP = function("rdma_create_qp");
    public static final CFunction CREATE_QP_EX = function("rdma_create_qp_ex");
    public static final CFunction DESTROY_QP = function("rdma_destroy_qp");
    public static final CFunction CREATE_SRQ = function("rdma_create_srq");
    public static final CFunction CREATE_SRQ_EX = function("rdma_create_srq_ex");
    public static final CFunction DESTROY_SRQ = function("rdma_destroy_srq");
    public static final CFunction INIT_QP_ATTR = function("rdma_init_qp_attr");
    public static final CFunction SET_LOCAL_ECE = function("rdma_set_local_ece");
    public static final CFunction GET_REMOTE_ECE = function("rdma_get_remote_ece");
    public static final CFunction JOIN_MULTICAST = function("rdma_join_multicast");
    public static final CFunction JOIN_MULTICAST_EX = function("rdma_join_multicast_ex");
    public static final CFunction LEAVE_MULTICAST = function("rdma_leave_multicast");
    public static final CFunction GETADDRINFO = function("rdma_getaddrinfo");
    public static final CFunction FREEADDRINFO = function("rdma_freeaddrinfo");
    public static final CFunction RESOLVE_ADDRINFO = function("rdma_resolve_addrinfo", 60);
    public static final CFunction QUERY_ADDRINFO = function("rdma_query_addrinfo", 60);
    public static final CFunction WRITE_CM_EVENT = function("rdma_write_cm_event", 60);

    private RdmaCm() {}

    private static CFunction function(String name) {
        return new CFunction(NativeLibraries.CM, name);
    }

    private static CFunction function(String name, int since) {
        return new CFunction(NativeLibraries.CM, name, since);
    }
}
