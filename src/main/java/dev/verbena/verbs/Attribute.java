package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;
import java.util.Collection;

/** An attribute of a queue pair that can be modified or queried ({@code enum ibv_qp_attr_mask}). */
public enum Attribute {
    /** The new state ({@code IBV_QP_STATE}). */
    STATE(rdma_h.IBV_QP_STATE),
    /** The state that the program expects the queue pair to be in ({@code IBV_QP_CUR_STATE}). */
    CURRENT_STATE(rdma_h.IBV_QP_CUR_STATE),
    /** The switch for an event that reports a drained send queue ({@code IBV_QP_EN_SQD_ASYNC_NOTIFY}). */
    EN_SQD_ASYNC_NOTIFY(rdma_h.IBV_QP_EN_SQD_ASYNC_NOTIFY),
    /** The rights of peers ({@code IBV_QP_ACCESS_FLAGS}). */
    ACCESS_FLAGS(rdma_h.IBV_QP_ACCESS_FLAGS),
    /** The index of the partition key ({@code IBV_QP_PKEY_INDEX}). */
    PKEY_INDEX(rdma_h.IBV_QP_PKEY_INDEX),
    /** The port of the device ({@code IBV_QP_PORT}). */
    PORT(rdma_h.IBV_QP_PORT),
    /** The key that datagrams must carry ({@code IBV_QP_QKEY}). */
    QKEY(rdma_h.IBV_QP_QKEY),
    /** The path to the peer ({@code IBV_QP_AV}). */
    ADDRESS_VECTOR(rdma_h.IBV_QP_AV),
    /** The largest packet on the path ({@code IBV_QP_PATH_MTU}). */
    PATH_MTU(rdma_h.IBV_QP_PATH_MTU),
    /** The time to wait for an acknowledgement ({@code IBV_QP_TIMEOUT}). */
    TIMEOUT(rdma_h.IBV_QP_TIMEOUT),
    /** The number of retries without an acknowledgement ({@code IBV_QP_RETRY_CNT}). */
    RETRY_COUNT(rdma_h.IBV_QP_RETRY_CNT),
    /** The number of retries while the peer has no receive posted ({@code IBV_QP_RNR_RETRY}). */
    RNR_RETRY(rdma_h.IBV_QP_RNR_RETRY),
    /** The peer's first packet sequence number ({@code IBV_QP_RQ_PSN}). */
    RQ_PSN(rdma_h.IBV_QP_RQ_PSN),
    /** The maximum number of reads and atomics under way to the peer ({@code IBV_QP_MAX_QP_RD_ATOMIC}). */
    MAX_READ_ATOMIC(rdma_h.IBV_QP_MAX_QP_RD_ATOMIC),
    /** The alternate path to the peer ({@code IBV_QP_ALT_PATH}). */
    ALTERNATE_PATH(rdma_h.IBV_QP_ALT_PATH),
    /** The time that the peer waits when no receive is posted here ({@code IBV_QP_MIN_RNR_TIMER}). */
    MIN_RNR_TIMER(rdma_h.IBV_QP_MIN_RNR_TIMER),
    /** The first packet sequence number to send ({@code IBV_QP_SQ_PSN}). */
    SQ_PSN(rdma_h.IBV_QP_SQ_PSN),
    /** The maximum number of the peer's reads and atomics under way here ({@code IBV_QP_MAX_DEST_RD_ATOMIC}). */
    MAX_DEST_READ_ATOMIC(rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC),
    /** The state of path migration ({@code IBV_QP_PATH_MIG_STATE}). */
    PATH_MIGRATION_STATE(rdma_h.IBV_QP_PATH_MIG_STATE),
    /** The sizes of the queues ({@code IBV_QP_CAP}). */
    CAPABILITIES(rdma_h.IBV_QP_CAP),
    /** The peer's queue pair number ({@code IBV_QP_DEST_QPN}). */
    DESTINATION_QP(rdma_h.IBV_QP_DEST_QPN),
    /** The maximum rate of sends ({@code IBV_QP_RATE_LIMIT}). */
    RATE_LIMIT(rdma_h.IBV_QP_RATE_LIMIT);

    final int bit;

    Attribute(int bit) {
        this.bit = bit;
    }

    static int bits(Collection<Attribute> attributes) {
        int bits = 0;
        for (Attribute attribute : attributes) {
            bits |= attribute.bit;
        }
        return bits;
    }
}
