package dev.verbena.tools.device;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;

/**
 * A kind of trouble that counters report, the worst first. Each driver has its own names for the same trouble. The names are
 * those in the kernel's sources of bnxt_re, efa, erdma, irdma, mana, mlx5 and rxe, and those of InfiniBand.
 */
enum Trouble {
    LINK(
            "the link went down",
            "check the cable and the switch's port; the kernel's log has the times: dmesg",
            "link_downed",
            "link_error_recovery"),
    CABLE(
            "bits were damaged on the link",
            "clean or replace the cable or its transceivers",
            "CRC_errors",
            "excessive_buffer_overrun_errors",
            "local_link_integrity_errors",
            "port_rcv_errors",
            "port_rcv_remote_physical_errors",
            "rx_icrc_encapsulated",
            "rx_roce_errors",
            "symbol_error"),
    BROKEN(
            "connections broke: the peer did not answer",
            "is the peer alive, and its port up? A longer timeout or more retries outlast a short loss",
            "max_retry_exceeded",
            "req_transport_retries_exceeded",
            "requester_retries_exceeded",
            "retry_exceeded_err",
            "unresponsive_remote_events"),
    ACCESS_HERE(
            "this side refused accesses of a peer",
            "does the peer use a key of memory that was deregistered, or more than its range and rights?",
            "res_rx_domain_err",
            "res_rx_invalid_rkey",
            "res_rx_no_perm",
            "res_rx_range_err",
            "res_tx_domain_err",
            "res_tx_invalid_rkey",
            "res_tx_no_perm",
            "res_tx_range_err",
            "resp_remote_access_errors",
            "responder_rem_access_error"),
    ACCESS_THERE(
            "the peer refused accesses of this side",
            "does this side use a key of memory that was deregistered, or more than its range and rights?",
            "nak_access_error",
            "remote_access_err",
            "req_remote_access_errors"),
    NO_RECEIVE_HERE(
            "this side had no receive for a message",
            "post more receives here, or handle messages faster",
            "RNR sent",
            "out_of_buffer",
            "responder_rnr_nak",
            "rx_out_of_buffer",
            "send_rnr_err"),
    NO_RECEIVE_THERE(
            "the peer had no receive for a message",
            "post more receives at the peer, or let it handle messages faster",
            "RNR received",
            "req_rnr_retries_exceeded",
            "requester_rnr_nak",
            "requester_rnr_nak_retries_exceeded",
            "retry_rnr_exceeded_err",
            "rcvd_rnr_err",
            "rnr_nak_retry_err",
            "rnr_naks_rcvd"),
    LOST_TO_PEER(
            "packets to the peer, or its answers, were lost or late",
            "look for drops in the switch, in the network device (ip -s link) and at the peer",
            "Nak Sequence Error",
            "RetransSegs",
            "completer_retry_err",
            "impaired_remote_conn_events",
            "implied_nak_seq_err",
            "local_ack_timeout_err",
            "missing_resp",
            "packet_seq_err",
            "rcvd_seq_err",
            "requester_implicit_nak",
            "requester_oos_nak",
            "requester_readresp_psn_mismatch",
            "requester_timeout",
            "retrans_pkts",
            "retrans_timeout_events",
            "roce_adp_retrans",
            "roce_adp_retrans_to",
            "send_err",
            "seq_err_naks_rcvd",
            "tcpRetransSegs",
            "to_retransmits"),
    LOST_FROM_PEER(
            "packets from a peer were lost, or came twice",
            "look for drops in the switch, and in the network device of this side (ip -s link)",
            "dup_req",
            "dup_rx_requests",
            "duplicate_request",
            "ip4InDiscards",
            "ip6InDiscards",
            "oos_drop_count",
            "out_of_seq_request",
            "out_of_sequence",
            "responder_dup_request",
            "responder_oos",
            "rx_drops",
            "rx_roce_discards"),
    CONGESTION_OUT(
            "this side sends faster than the network carries",
            "normal in bursts; else check ECN and PFC in the switch, or spread the load",
            "cnpHandled",
            "port_xmit_discards",
            "port_xmit_wait",
            "qp_congested_events",
            "received_cnp_count",
            "received_cnps",
            "roce_slow_restart",
            "roce_slow_restart_cnps",
            "roce_slow_restart_trans",
            "rp_cnp_handled",
            "tx_bps_limit_drop_cnt",
            "tx_pps_limit_drop_cnt"),
    CONGESTION_IN(
            "peers send faster than the network carries to this side",
            "normal in bursts; else check ECN and PFC in the switch, or spread the load",
            "RxECNMrkd",
            "cnpSent",
            "np_cnp_sent",
            "np_ecn_marked_roce_packets",
            "received_ecns",
            "rx_bps_limit_drop_cnt",
            "rx_pps_limit_drop_cnt",
            "sent_cnps"),
    REQUESTS(
            "requests failed",
            "the program's completions have the status; -XX:StartFlightRecording records dev.verbena.WorkFailure",
            "local_protection_err",
            "local_qp_op_err",
            "rdma_read_wr_err",
            "rdma_write_wr_err",
            "remote_invalid_req_err",
            "remote_op_err",
            "req_cqe_error",
            "req_remote_invalid_request",
            "resp_cqe_error",
            "resp_local_length_error",
            "responder_local_len_error",
            "requestor_local_prot_error");

    private final String meaning;
    private final String remedy;
    private final Set<String> counters;

    Trouble(String meaning, String remedy, String... counters) {
        this.meaning = meaning;
        this.remedy = remedy;
        this.counters = Set.of(counters);
    }

    /** Returns what has happened, and on which side. */
    String meaning() {
        return meaning;
    }

    /** Returns what to do. */
    String remedy() {
        return remedy;
    }

    /** Returns the names of its counters. */
    Set<String> counters() {
        return counters;
    }

    /** Returns the trouble that a counter reports; empty for other counters. */
    static Optional<Trouble> of(String counter) {
        String name = counter.substring(counter.lastIndexOf('/') + 1); // see PortCounters
        String common = name.startsWith("vport_") ? name.substring("vport_".length()) : name; // a virtual port of mlx5
        return Arrays.stream(values())
                .filter(trouble -> trouble.counters.contains(common))
                .findFirst();
    }

    /** Returns the counters of trouble whose values are positive, by the trouble that they report. */
    static Map<Trouble, Map<String, Long>> in(SortedMap<String, Long> values) {
        Map<Trouble, Map<String, Long>> troubles = new EnumMap<>(Trouble.class);
        values.forEach((counter, value) -> {
            if (value > 0) { // a value that fell was reset
                of(counter)
                        .ifPresent(trouble -> troubles.computeIfAbsent(trouble, key -> new LinkedHashMap<>())
                                .put(counter, value));
            }
        });
        return troubles;
    }
}
