package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.internal.raw.rdma_h;

/** The status of a completed work request ({@code enum ibv_wc_status}). */
public enum WorkStatus {
    /** The work request succeeded ({@code IBV_WC_SUCCESS}). */
    SUCCESS(rdma_h.IBV_WC_SUCCESS, "done", ""),
    /** A local length was wrong ({@code IBV_WC_LOC_LEN_ERR}). */
    LOCAL_LENGTH_ERROR(
            rdma_h.IBV_WC_LOC_LEN_ERR,
            "a local length was wrong",
            "the message is longer than the posted receive, or than the path allows"),
    /** The queue pair could not carry out the request ({@code IBV_WC_LOC_QP_OP_ERR}). */
    LOCAL_QP_OPERATION_ERROR(
            rdma_h.IBV_WC_LOC_QP_OP_ERR,
            "the queue pair could not carry out the request",
            "check the local key and range, the receive's size and the operations of this device; soft-RoCE reports most local errors with this status"),
    /** An end-to-end context could not carry out the request ({@code IBV_WC_LOC_EEC_OP_ERR}). */
    LOCAL_EEC_OPERATION_ERROR(
            rdma_h.IBV_WC_LOC_EEC_OP_ERR, "an end-to-end context could not carry out the request", ""),
    /** The local key does not allow the access ({@code IBV_WC_LOC_PROT_ERR}). */
    LOCAL_PROTECTION_ERROR(
            rdma_h.IBV_WC_LOC_PROT_ERR,
            "the local key does not allow the access",
            "the local memory must be registered in the queue pair's protection domain, with LOCAL_WRITE where the adapter writes"),
    /** The request was not carried out: the queue pair had failed before ({@code IBV_WC_WR_FLUSH_ERR}). */
    WORK_REQUEST_FLUSHED(
            rdma_h.IBV_WC_WR_FLUSH_ERR,
            "not carried out: the queue pair had failed before",
            "look for the first error of this queue pair, or for the call that failed or disconnected it"),
    /** A memory window could not be bound ({@code IBV_WC_MW_BIND_ERR}). */
    MW_BIND_ERROR(
            rdma_h.IBV_WC_MW_BIND_ERR,
            "a memory window could not be bound",
            "the region needs MW_BIND, and the window no rights that the region lacks"),
    /** The peer answered something unexpected ({@code IBV_WC_BAD_RESP_ERR}). */
    BAD_RESPONSE_ERROR(rdma_h.IBV_WC_BAD_RESP_ERR, "the peer answered something unexpected", ""),
    /** Incoming data could not be written ({@code IBV_WC_LOC_ACCESS_ERR}). */
    LOCAL_ACCESS_ERROR(
            rdma_h.IBV_WC_LOC_ACCESS_ERR, "incoming data could not be written", "the local memory needs LOCAL_WRITE"),
    /** The peer found the request invalid ({@code IBV_WC_REM_INV_REQ_ERR}). */
    REMOTE_INVALID_REQUEST_ERROR(
            rdma_h.IBV_WC_REM_INV_REQ_ERR,
            "the peer found the request invalid",
            "the peer's queue pair must allow the operation: give it REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC, FLUSH_GLOBAL or FLUSH_PERSISTENT, and a receive that is large enough"),
    /** The peer's memory does not allow the access ({@code IBV_WC_REM_ACCESS_ERR}). */
    REMOTE_ACCESS_ERROR(
            rdma_h.IBV_WC_REM_ACCESS_ERR,
            "the peer's memory does not allow the access",
            "check the remote key, which may be unknown or revoked; the range, which may be outside the region; the access flags of the peer's region and queue pair, such as REMOTE_READ, or FLUSH_GLOBAL for a flush; and that both are in the same protection domain"),
    /** The peer could not carry out the request ({@code IBV_WC_REM_OP_ERR}). */
    REMOTE_OPERATION_ERROR(
            rdma_h.IBV_WC_REM_OP_ERR,
            "the peer could not carry out the request",
            "the peer's receive was too short, or its queue pair failed: look at its completions"),
    /** The peer did not answer, even after retries ({@code IBV_WC_RETRY_EXC_ERR}). */
    RETRY_EXCEEDED(
            rdma_h.IBV_WC_RETRY_EXC_ERR,
            "the peer did not answer, even after retries",
            "has the peer posted a receive for the send? Soft-RoCE ends a send without one with this status too, because its timer for answers runs on while the peer says that it is not ready. Otherwise the peer's queue pair is gone, in error or not ready to receive, or the path is wrong: check its GID index, address, queue pair number and that the network lets UDP port 4791 pass"),
    /** The peer had no receive posted, even after retries ({@code IBV_WC_RNR_RETRY_EXC_ERR}). */
    RNR_RETRY_EXCEEDED(
            rdma_h.IBV_WC_RNR_RETRY_EXC_ERR,
            "the peer had no receive posted, even after retries",
            "post receives before the peer sends, or raise rnrRetryCount (7 means for ever)"),
    /** A reliable datagram domain was violated ({@code IBV_WC_LOC_RDD_VIOL_ERR}). */
    LOCAL_RDD_VIOLATION(rdma_h.IBV_WC_LOC_RDD_VIOL_ERR, "a reliable datagram domain was violated", ""),
    /** The peer found the reliable datagram invalid ({@code IBV_WC_REM_INV_RD_REQ_ERR}). */
    REMOTE_INVALID_RD_REQUEST(rdma_h.IBV_WC_REM_INV_RD_REQ_ERR, "the peer found the reliable datagram invalid", ""),
    /** The peer aborted the request ({@code IBV_WC_REM_ABORT_ERR}). */
    REMOTE_ABORTED(rdma_h.IBV_WC_REM_ABORT_ERR, "the peer aborted the request", ""),
    /** An end-to-end context number was invalid ({@code IBV_WC_INV_EECN_ERR}). */
    INVALID_EEC_NUMBER(rdma_h.IBV_WC_INV_EECN_ERR, "an end-to-end context number was invalid", ""),
    /** An end-to-end context was in the wrong state ({@code IBV_WC_INV_EEC_STATE_ERR}). */
    INVALID_EEC_STATE(rdma_h.IBV_WC_INV_EEC_STATE_ERR, "an end-to-end context was in the wrong state", ""),
    /** The adapter failed ({@code IBV_WC_FATAL_ERR}). */
    FATAL_ERROR(rdma_h.IBV_WC_FATAL_ERR, "the adapter failed", "the device may have to be reset"),
    /** No response came in time ({@code IBV_WC_RESP_TIMEOUT_ERR}). */
    RESPONSE_TIMEOUT(rdma_h.IBV_WC_RESP_TIMEOUT_ERR, "no response came in time", ""),
    /** Another error occurred ({@code IBV_WC_GENERAL_ERR}). */
    GENERAL_ERROR(
            rdma_h.IBV_WC_GENERAL_ERR,
            "another error occurred",
            "the documentation of the device may explain the vendor error"),
    /** Tag matching failed ({@code IBV_WC_TM_ERR}). */
    TM_ERROR(rdma_h.IBV_WC_TM_ERR, "tag matching failed", ""),
    /** Software must complete a rendezvous ({@code IBV_WC_TM_RNDV_INCOMPLETE}). */
    TM_RENDEZVOUS_INCOMPLETE(rdma_h.IBV_WC_TM_RNDV_INCOMPLETE, "software must complete a rendezvous", ""),
    /** A number that this release does not know. */
    UNKNOWN(-1, "a status that this release does not know", "");

    private static final WorkStatus[] VALUES = values();

    private final int code;
    private final String meaning;
    private final String hint;

    WorkStatus(int code, String meaning, String hint) {
        this.code = code;
        this.meaning = meaning;
        this.hint = hint;
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
     * Returns the meaning in words.
     *
     * @return a sentence without its full stop
     */
    @CName("ibv_wc_status_str")
    public String meaning() {
        return meaning;
    }

    /**
     * Returns the usual cause, or what to try.
     *
     * @return a sentence without its full stop; empty if there is no hint
     */
    public String hint() {
        return hint;
    }

    /**
     * Returns the constant for a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static WorkStatus of(int code) {
        return code >= 0 && code < VALUES.length - 1 ? VALUES[code] : UNKNOWN;
    }
}
