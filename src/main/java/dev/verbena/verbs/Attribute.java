package dev.verbena.verbs;

import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Collection;

/** An attribute of a queue pair that can be modified or queried ({@code enum ibv_qp_attr_mask}). */
public enum Attribute {
    /** The new state ({@code IBV_QP_STATE}). */
    STATE(rdma_h.IBV_QP_STATE, ibv_qp_attr.qp_state$offset(), Integer.BYTES),
    /** The state that the program expects the queue pair to be in ({@code IBV_QP_CUR_STATE}). */
    CURRENT_STATE(rdma_h.IBV_QP_CUR_STATE, ibv_qp_attr.cur_qp_state$offset(), Integer.BYTES),
    /** The switch for an event that reports a drained send queue ({@code IBV_QP_EN_SQD_ASYNC_NOTIFY}). */
    EN_SQD_ASYNC_NOTIFY(rdma_h.IBV_QP_EN_SQD_ASYNC_NOTIFY, ibv_qp_attr.en_sqd_async_notify$offset(), Byte.BYTES),
    /** The rights of peers ({@code IBV_QP_ACCESS_FLAGS}). */
    ACCESS_FLAGS(rdma_h.IBV_QP_ACCESS_FLAGS, ibv_qp_attr.qp_access_flags$offset(), Integer.BYTES),
    /** The index of the partition key ({@code IBV_QP_PKEY_INDEX}). */
    PKEY_INDEX(rdma_h.IBV_QP_PKEY_INDEX, ibv_qp_attr.pkey_index$offset(), Short.BYTES),
    /** The port of the device ({@code IBV_QP_PORT}). */
    PORT(rdma_h.IBV_QP_PORT, ibv_qp_attr.port_num$offset(), Byte.BYTES),
    /** The key that datagrams must carry ({@code IBV_QP_QKEY}). */
    QKEY(rdma_h.IBV_QP_QKEY, ibv_qp_attr.qkey$offset(), Integer.BYTES),
    /** The path to the peer ({@code IBV_QP_AV}). */
    ADDRESS_VECTOR(rdma_h.IBV_QP_AV),
    /** The largest packet on the path ({@code IBV_QP_PATH_MTU}). */
    PATH_MTU(rdma_h.IBV_QP_PATH_MTU, ibv_qp_attr.path_mtu$offset(), Integer.BYTES),
    /** The time to wait for an acknowledgement ({@code IBV_QP_TIMEOUT}). */
    TIMEOUT(rdma_h.IBV_QP_TIMEOUT, ibv_qp_attr.timeout$offset(), Byte.BYTES),
    /** The number of retries without an acknowledgement ({@code IBV_QP_RETRY_CNT}). */
    RETRY_COUNT(rdma_h.IBV_QP_RETRY_CNT, ibv_qp_attr.retry_cnt$offset(), Byte.BYTES),
    /** The number of retries while the peer has no receive posted ({@code IBV_QP_RNR_RETRY}). */
    RNR_RETRY(rdma_h.IBV_QP_RNR_RETRY, ibv_qp_attr.rnr_retry$offset(), Byte.BYTES),
    /** The peer's first packet sequence number ({@code IBV_QP_RQ_PSN}). */
    RQ_PSN(rdma_h.IBV_QP_RQ_PSN, ibv_qp_attr.rq_psn$offset(), Integer.BYTES),
    /** The maximum number of reads and atomics under way to the peer ({@code IBV_QP_MAX_QP_RD_ATOMIC}). */
    MAX_READ_ATOMIC(rdma_h.IBV_QP_MAX_QP_RD_ATOMIC, ibv_qp_attr.max_rd_atomic$offset(), Byte.BYTES),
    /** The alternate path to the peer ({@code IBV_QP_ALT_PATH}). */
    ALTERNATE_PATH(rdma_h.IBV_QP_ALT_PATH),
    /** The time that the peer waits when no receive is posted here ({@code IBV_QP_MIN_RNR_TIMER}). */
    MIN_RNR_TIMER(rdma_h.IBV_QP_MIN_RNR_TIMER, ibv_qp_attr.min_rnr_timer$offset(), Byte.BYTES),
    /** The first packet sequence number to send ({@code IBV_QP_SQ_PSN}). */
    SQ_PSN(rdma_h.IBV_QP_SQ_PSN, ibv_qp_attr.sq_psn$offset(), Integer.BYTES),
    /** The maximum number of the peer's reads and atomics under way here ({@code IBV_QP_MAX_DEST_RD_ATOMIC}). */
    MAX_DEST_READ_ATOMIC(rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC, ibv_qp_attr.max_dest_rd_atomic$offset(), Byte.BYTES),
    /** The state of path migration ({@code IBV_QP_PATH_MIG_STATE}). */
    PATH_MIGRATION_STATE(rdma_h.IBV_QP_PATH_MIG_STATE, ibv_qp_attr.path_mig_state$offset(), Integer.BYTES),
    /** The sizes of the queues ({@code IBV_QP_CAP}). */
    CAPABILITIES(rdma_h.IBV_QP_CAP),
    /** The peer's queue pair number ({@code IBV_QP_DEST_QPN}). */
    DESTINATION_QP(rdma_h.IBV_QP_DEST_QPN, ibv_qp_attr.dest_qp_num$offset(), Integer.BYTES),
    /** The maximum rate of sends ({@code IBV_QP_RATE_LIMIT}). */
    RATE_LIMIT(rdma_h.IBV_QP_RATE_LIMIT, ibv_qp_attr.rate_limit$offset(), Integer.BYTES);

    final int bit;

    /** The place of the number in the struct, and its size: 0 for a struct within the struct. */
    private final long offset;

    private final int size;

    Attribute(int bit, long offset, int size) {
        this.bit = bit;
        this.offset = offset;
        this.size = size;
    }

    Attribute(int bit) {
        this(bit, 0, 0);
    }

    /** Returns false for a struct within the struct. */
    boolean isNumber() {
        return size != 0;
    }

    /** Reads the number, unsigned if it has less than four bytes, from a {@code struct ibv_qp_attr}. */
    int read(MemorySegment struct) {
        return switch (size) {
            case Byte.BYTES -> Byte.toUnsignedInt(struct.get(ValueLayout.JAVA_BYTE, offset));
            case Short.BYTES -> Short.toUnsignedInt(struct.get(ValueLayout.JAVA_SHORT, offset));
            default -> struct.get(ValueLayout.JAVA_INT, offset);
        };
    }

    /** Writes the number to a {@code struct ibv_qp_attr}. */
    void write(MemorySegment struct, int value) {
        switch (size) {
            case Byte.BYTES -> struct.set(ValueLayout.JAVA_BYTE, offset, (byte) value);
            case Short.BYTES -> struct.set(ValueLayout.JAVA_SHORT, offset, (short) value);
            default -> struct.set(ValueLayout.JAVA_INT, offset, value);
        }
    }

    static int bits(Collection<Attribute> attributes) {
        int bits = 0;
        for (Attribute attribute : attributes) {
            bits |= attribute.bit;
        }
        return bits;
    }
}
