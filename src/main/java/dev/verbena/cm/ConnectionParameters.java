package dev.verbena.cm;

import dev.verbena.internal.raw.rdma_conn_param;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * What one side of a connection offers or wants ({@code struct rdma_conn_param}). Begin with {@link #defaults} and change
 * what is to differ.
 *
 * @param privateData bytes for the other side
 * @param responderResources how many reads and atomics of the peer may be under way here; {@link #MAX} for as many as the
 *     device can
 * @param initiatorDepth how many reads and atomics may be under way to the peer; {@link #MAX} for as many as the device can
 * @param flowControl whether the hardware has flow control
 * @param retryCount how often a message is sent again when there is no answer, 0 to 7; not used by who accepts
 * @param rnrRetryCount how often a message is sent again when no receive is posted at the peer, 0 to 7; 7 is for ever
 * @param sharedReceives whether receives come from a shared queue; C ignores this where the queue pair is the id's
 * @param queuePairNumber the number of one's own queue pair; C ignores this where the queue pair is the id's
 */
public record ConnectionParameters(
        PrivateData privateData,
        int responderResources,
        int initiatorDepth,
        boolean flowControl,
        int retryCount,
        int rnrRetryCount,
        boolean sharedReceives,
        int queuePairNumber) {
    /** As many reads and atomics as the device can ({@code RDMA_MAX_RESP_RES}, {@code RDMA_MAX_INIT_DEPTH}). */
    public static final int MAX = 255;

    /**
     * Makes parameters.
     *
     * @throws IllegalArgumentException if a number does not fit into its field
     */
    public ConnectionParameters {
        check("responder resources", responderResources, 255);
        check("initiator depth", initiatorDepth, 255);
        check("retry count", retryCount, 7);
        check("RNR retry count", rnrRetryCount, 7);
        check("queue pair number", queuePairNumber, 0xffffff);
    }

    private static void check(String what, int value, int most) {
        if (value < 0 || value > most) {
            throw new IllegalArgumentException("The " + what + " is from 0 to " + most + ", not " + value);
        }
    }

    /**
     * What most want: as many reads and atomics as the device can, 6 retries without an answer, and no end of waiting for
     * a receive.
     *
     * @return parameters
     */
    public static ConnectionParameters defaults() {
        return new ConnectionParameters(PrivateData.NONE, MAX, MAX, false, 6, 7, false, 0);
    }

    /**
     * With other bytes for the peer.
     *
     * @param data the bytes
     * @return a changed copy
     */
    public ConnectionParameters privateData(PrivateData data) {
        return new ConnectionParameters(
                data,
                responderResources,
                initiatorDepth,
                flowControl,
                retryCount,
                rnrRetryCount,
                sharedReceives,
                queuePairNumber);
    }

    /**
     * With other numbers of reads and atomics under way.
     *
     * @param responder how many of the peer's
     * @param initiator how many of one's own
     * @return a changed copy
     */
    public ConnectionParameters reads(int responder, int initiator) {
        return new ConnectionParameters(
                privateData,
                responder,
                initiator,
                flowControl,
                retryCount,
                rnrRetryCount,
                sharedReceives,
                queuePairNumber);
    }

    /**
     * With other numbers of retries.
     *
     * @param withoutAnswer when there is no answer
     * @param withoutReceive when no receive is posted at the peer
     * @return a changed copy
     */
    public ConnectionParameters retries(int withoutAnswer, int withoutReceive) {
        return new ConnectionParameters(
                privateData,
                responderResources,
                initiatorDepth,
                flowControl,
                withoutAnswer,
                withoutReceive,
                sharedReceives,
                queuePairNumber);
    }

    ConnectionParameters queuePair(int number, boolean shared) {
        return new ConnectionParameters(
                privateData,
                responderResources,
                initiatorDepth,
                flowControl,
                retryCount,
                rnrRetryCount,
                shared,
                number);
    }

    MemorySegment write(Arena scratch) {
        MemorySegment to = scratch.allocate(rdma_conn_param.layout());
        rdma_conn_param.private_data(to, write(privateData, scratch));
        rdma_conn_param.private_data_len(to, (byte) privateData.size());
        rdma_conn_param.responder_resources(to, (byte) responderResources);
        rdma_conn_param.initiator_depth(to, (byte) initiatorDepth);
        rdma_conn_param.flow_control(to, (byte) (flowControl ? 1 : 0));
        rdma_conn_param.retry_count(to, (byte) retryCount);
        rdma_conn_param.rnr_retry_count(to, (byte) rnrRetryCount);
        rdma_conn_param.srq(to, (byte) (sharedReceives ? 1 : 0));
        rdma_conn_param.qp_num(to, queuePairNumber);
        return to;
    }

    static MemorySegment write(PrivateData data, Arena scratch) {
        return data.size() == 0 ? MemorySegment.NULL : scratch.allocateFrom(ValueLayout.JAVA_BYTE, data.toArray());
    }

    static ConnectionParameters read(MemorySegment from) {
        return new ConnectionParameters(
                data(rdma_conn_param.private_data(from), Byte.toUnsignedInt(rdma_conn_param.private_data_len(from))),
                Byte.toUnsignedInt(rdma_conn_param.responder_resources(from)),
                Byte.toUnsignedInt(rdma_conn_param.initiator_depth(from)),
                rdma_conn_param.flow_control(from) != 0,
                rdma_conn_param.retry_count(from) & 7,
                rdma_conn_param.rnr_retry_count(from) & 7,
                rdma_conn_param.srq(from) != 0,
                rdma_conn_param.qp_num(from) & 0xffffff);
    }

    static PrivateData data(MemorySegment pointer, int length) {
        return pointer.address() == 0 || length == 0
                ? PrivateData.NONE
                : PrivateData.of(pointer.reinterpret(length).toArray(ValueLayout.JAVA_BYTE));
    }
}
