package dev.verbena.verbs;

import dev.verbena.NativeFlag;

/** An attribute of a queue pair that can be modified or queried ({@code enum ibv_qp_attr_mask}). */
public enum Attribute implements NativeFlag {
    /** The new state ({@code IBV_QP_STATE}). */
    STATE(1, "IBV_QP_STATE"),
    /** The state that the program expects the queue pair to be in ({@code IBV_QP_CUR_STATE}). */
    CURRENT_STATE(1 << 1, "IBV_QP_CUR_STATE"),
    /** The switch for an event that reports a drained send queue ({@code IBV_QP_EN_SQD_ASYNC_NOTIFY}). */
    EN_SQD_ASYNC_NOTIFY(1 << 2, "IBV_QP_EN_SQD_ASYNC_NOTIFY"),
    /** The rights of peers ({@code IBV_QP_ACCESS_FLAGS}). */
    ACCESS_FLAGS(1 << 3, "IBV_QP_ACCESS_FLAGS"),
    /** The index of the partition key ({@code IBV_QP_PKEY_INDEX}). */
    PKEY_INDEX(1 << 4, "IBV_QP_PKEY_INDEX"),
    /** The port of the device ({@code IBV_QP_PORT}). */
    PORT(1 << 5, "IBV_QP_PORT"),
    /** The key that datagrams must carry ({@code IBV_QP_QKEY}). */
    QKEY(1 << 6, "IBV_QP_QKEY"),
    /** The path to the peer ({@code IBV_QP_AV}). */
    ADDRESS_VECTOR(1 << 7, "IBV_QP_AV"),
    /** The largest packet on the path ({@code IBV_QP_PATH_MTU}). */
    PATH_MTU(1 << 8, "IBV_QP_PATH_MTU"),
    /** The time to wait for an acknowledgement ({@code IBV_QP_TIMEOUT}). */
    TIMEOUT(1 << 9, "IBV_QP_TIMEOUT"),
    /** The number of retries without an acknowledgement ({@code IBV_QP_RETRY_CNT}). */
    RETRY_COUNT(1 << 10, "IBV_QP_RETRY_CNT"),
    /** The number of retries while the peer has no receive posted ({@code IBV_QP_RNR_RETRY}). */
    RNR_RETRY(1 << 11, "IBV_QP_RNR_RETRY"),
    /** The peer's first packet sequence number ({@code IBV_QP_RQ_PSN}). */
    RQ_PSN(1 << 12, "IBV_QP_RQ_PSN"),
    /** The maximum number of reads and atomics under way to the peer ({@code IBV_QP_MAX_QP_RD_ATOMIC}). */
    MAX_READ_ATOMIC(1 << 13, "IBV_QP_MAX_QP_RD_ATOMIC"),
    /** The alternate path to the peer ({@code IBV_QP_ALT_PATH}). */
    ALTERNATE_PATH(1 << 14, "IBV_QP_ALT_PATH"),
    /** The time that the peer waits when no receive is posted here ({@code IBV_QP_MIN_RNR_TIMER}). */
    MIN_RNR_TIMER(1 << 15, "IBV_QP_MIN_RNR_TIMER"),
    /** The first packet sequence number to send ({@code IBV_QP_SQ_PSN}). */
    SQ_PSN(1 << 16, "IBV_QP_SQ_PSN"),
    /** The maximum number of the peer's reads and atomics under way here ({@code IBV_QP_MAX_DEST_RD_ATOMIC}). */
    MAX_DEST_READ_ATOMIC(1 << 17, "IBV_QP_MAX_DEST_RD_ATOMIC"),
    /** The state of path migration ({@code IBV_QP_PATH_MIG_STATE}). */
    PATH_MIGRATION_STATE(1 << 18, "IBV_QP_PATH_MIG_STATE"),
    /** The sizes of the queues ({@code IBV_QP_CAP}). */
    CAPABILITIES(1 << 19, "IBV_QP_CAP"),
    /** The peer's queue pair number ({@code IBV_QP_DEST_QPN}). */
    DESTINATION_QP(1 << 20, "IBV_QP_DEST_QPN"),
    /** The maximum rate of sends ({@code IBV_QP_RATE_LIMIT}). */
    RATE_LIMIT(1 << 25, "IBV_QP_RATE_LIMIT");

    private final int bit;
    private final String cName;

    Attribute(int bit, String cName) {
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
}
