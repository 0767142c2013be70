package dev.verbena.cm;

import dev.verbena.internal.CFunction;
import dev.verbena.internal.NativeLibraries;

/** The exported functions of {@code librdmacm} that are called. On failure they return -1 and set {@code errno}. */
final class RdmaCm {
    static final CFunction CREATE_EVENT_CHANNEL = function("rdma_create_event_channel");
    static final CFunction DESTROY_EVENT_CHANNEL = function("rdma_destroy_event_channel");
    static final CFunction GET_CM_EVENT = function("rdma_get_cm_event");
    static final CFunction ACK_CM_EVENT = function("rdma_ack_cm_event");
    static final CFunction CREATE_ID = function("rdma_create_id");
    static final CFunction DESTROY_ID = function("rdma_destroy_id");
    static final CFunction MIGRATE_ID = function("rdma_migrate_id");
    static final CFunction CREATE_EP = function("rdma_create_ep");
    static final CFunction DESTROY_EP = function("rdma_destroy_ep");
    static final CFunction SET_OPTION = function("rdma_set_option");
    static final CFunction BIND_ADDR = function("rdma_bind_addr");
    static final CFunction LISTEN = function("rdma_listen");
    static final CFunction RESOLVE_ADDR = function("rdma_resolve_addr");
    static final CFunction RESOLVE_ROUTE = function("rdma_resolve_route");
    static final CFunction CONNECT = function("rdma_connect");
    static final CFunction ESTABLISH = function("rdma_establish");
    static final CFunction ACCEPT = function("rdma_accept");
    static final CFunction REJECT = function("rdma_reject");
    static final CFunction REJECT_ECE = function("rdma_reject_ece");
    static final CFunction NOTIFY = function("rdma_notify");
    static final CFunction DISCONNECT = function("rdma_disconnect");
    static final CFunction GET_SRC_PORT = function("rdma_get_src_port");
    static final CFunction GET_DST_PORT = function("rdma_get_dst_port");
    static final CFunction GET_DEVICES = function("rdma_get_devices");
    static final CFunction FREE_DEVICES = function("rdma_free_devices");
    static final CFunction CREATE_QP = function("rdma_create_qp");
    static final CFunction CREATE_QP_EX = function("rdma_create_qp_ex");
    static final CFunction DESTROY_QP = function("rdma_destroy_qp");
    static final CFunction CREATE_SRQ = function("rdma_create_srq");
    static final CFunction CREATE_SRQ_EX = function("rdma_create_srq_ex");
    static final CFunction DESTROY_SRQ = function("rdma_destroy_srq");
    static final CFunction INIT_QP_ATTR = function("rdma_init_qp_attr");
    static final CFunction SET_LOCAL_ECE = function("rdma_set_local_ece");
    static final CFunction GET_REMOTE_ECE = function("rdma_get_remote_ece");
    static final CFunction JOIN_MULTICAST = function("rdma_join_multicast");
    static final CFunction JOIN_MULTICAST_EX = function("rdma_join_multicast_ex");
    static final CFunction LEAVE_MULTICAST = function("rdma_leave_multicast");
    static final CFunction GETADDRINFO = function("rdma_getaddrinfo");
    static final CFunction FREEADDRINFO = function("rdma_freeaddrinfo");
    static final CFunction RESOLVE_ADDRINFO = function("rdma_resolve_addrinfo", 60);
    static final CFunction QUERY_ADDRINFO = function("rdma_query_addrinfo", 60);
    static final CFunction WRITE_CM_EVENT = function("rdma_write_cm_event", 60);

    private RdmaCm() {}

    private static CFunction function(String name) {
        return new CFunction(NativeLibraries.CM, name);
    }

    private static CFunction function(String name, int since) {
        return new CFunction(NativeLibraries.CM, name, since);
    }
}
