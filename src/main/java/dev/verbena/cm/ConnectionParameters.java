package dev.verbena.cm;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Memory;
import dev.verbena.internal.raw.rdma_conn_param;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The parameters that one side of a connection offers or asks for ({@code struct rdma_conn_param}). Begin with
 * {@link #defaults}. Each option has a method that returns a changed copy, and a method of the same name that reads it.
 * Parameters never change, so all threads can use them.
 *
 * {@snippet file="ConnectionSnippets.java" region="parameters"}
 */
public final class ConnectionParameters {
    /**
     * The value of {@link #responderResources} and {@link #initiatorDepth} that asks for as many reads and atomics as
     * the device allows ({@code RDMA_MAX_RESP_RES}, {@code RDMA_MAX_INIT_DEPTH}).
     */
    public static final int MAX = 255;

    private final PrivateData privateData;
    private final int responderResources;
    private final int initiatorDepth;
    private final boolean flowControl;
    private final int retryCount;
    private final int rnrRetryCount;
    private final boolean sharedReceives;
    private final int queuePairNumber;

    private ConnectionParameters(
            PrivateData privateData,
            int responderResources,
            int initiatorDepth,
            boolean flowControl,
            int retryCount,
            int rnrRetryCount,
            boolean sharedReceives,
            int queuePairNumber) {
        Checks.checkRange("number of responder resources", responderResources, MAX);
        Checks.checkRange("initiator depth", initiatorDepth, MAX);
        Checks.checkRange("retry count", retryCount, 7);
        Checks.checkRange("RNR retry count", rnrRetryCount, 7);
        Checks.checkRange("queue pair number", queuePairNumber, 0xffffff);
        this.privateData = Objects.requireNonNull(privateData, "privateData");
        this.responderResources = responderResources;
        this.initiatorDepth = initiatorDepth;
        this.flowControl = flowControl;
        this.retryCount = retryCount;
        this.rnrRetryCount = rnrRetryCount;
        this.sharedReceives = sharedReceives;
        this.queuePairNumber = queuePairNumber;
    }

    /**
     * Returns the defaults: as many reads and atomics as the device allows, 6 retries without an answer, no limit of
     * retries without a receive, no private data.
     *
     * @return the defaults
     */
    public static ConnectionParameters defaults() {
        return new ConnectionParameters(PrivateData.NONE, MAX, MAX, false, 6, 7, false, 0);
    }

    /**
     * Returns the bytes for the peer ({@code private_data}).
     *
     * @return the bytes; {@link PrivateData#NONE} by default
     */
    public PrivateData privateData() {
        return privateData;
    }

    /**
     * Returns a copy with other bytes for the peer ({@code private_data}).
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
     * Returns the limit of the peer's reads and atomics under way here ({@code responder_resources}).
     *
     * @return 0 to 255; {@link #MAX} for as many as the device allows
     */
    public int responderResources() {
        return responderResources;
    }

    /**
     * Returns a copy with another limit of the peer's reads and atomics under way here ({@code responder_resources}).
     *
     * @param count 0 to 255; {@link #MAX} by default, for as many as the device allows
     * @return a changed copy
     * @throws IllegalArgumentException if the number does not fit
     */
    public ConnectionParameters responderResources(int count) {
        return new ConnectionParameters(
                privateData,
                count,
                initiatorDepth,
                flowControl,
                retryCount,
                rnrRetryCount,
                sharedReceives,
                queuePairNumber);
    }

    /**
     * Returns the limit of reads and atomics under way to the peer ({@code initiator_depth}).
     *
     * @return 0 to 255; {@link #MAX} for as many as the device allows
     */
    public int initiatorDepth() {
        return initiatorDepth;
    }

    /**
     * Returns a copy with another limit of reads and atomics under way to the peer ({@code initiator_depth}).
     *
     * @param count 0 to 255; {@link #MAX} by default, for as many as the device allows
     * @return a changed copy
     * @throws IllegalArgumentException if the number does not fit
     */
    public ConnectionParameters initiatorDepth(int count) {
        return new ConnectionParameters(
                privateData,
                responderResources,
                count,
                flowControl,
                retryCount,
                rnrRetryCount,
                sharedReceives,
                queuePairNumber);
    }

    /**
     * Returns true if the hardware has flow control ({@code flow_control}).
     *
     * @return true with flow control
     */
    public boolean flowControl() {
        return flowControl;
    }

    /**
     * Returns a copy with or without flow control by the hardware ({@code flow_control}).
     *
     * @param value true with flow control; false by default
     * @return a changed copy
     */
    public ConnectionParameters flowControl(boolean value) {
        return new ConnectionParameters(
                privateData,
                responderResources,
                initiatorDepth,
                value,
                retryCount,
                rnrRetryCount,
                sharedReceives,
                queuePairNumber);
    }

    /**
     * Returns the number of times that a message without an answer is sent again ({@code retry_count}).
     *
     * @return 0 to 7
     */
    public int retryCount() {
        return retryCount;
    }

    /**
     * Returns a copy with another number of times that a message without an answer is sent again ({@code retry_count}).
     * The side that accepts does not use this number.
     *
     * @param count 0 to 7; 6 by default
     * @return a changed copy
     * @throws IllegalArgumentException if the number does not fit
     */
    public ConnectionParameters retryCount(int count) {
        return new ConnectionParameters(
                privateData,
                responderResources,
                initiatorDepth,
                flowControl,
                count,
                rnrRetryCount,
                sharedReceives,
                queuePairNumber);
    }

    /**
     * Returns the number of times that a message is sent again when the peer has no receive ({@code rnr_retry_count}).
     *
     * @return 0 to 7; 7 is without limit
     */
    public int rnrRetryCount() {
        return rnrRetryCount;
    }

    /**
     * Returns a copy with another number of times that a message is sent again when the peer has no receive
     * ({@code rnr_retry_count}).
     *
     * @param count 0 to 7; 7 by default, which is without limit
     * @return a changed copy
     * @throws IllegalArgumentException if the number does not fit
     */
    public ConnectionParameters rnrRetryCount(int count) {
        return new ConnectionParameters(
                privateData,
                responderResources,
                initiatorDepth,
                flowControl,
                retryCount,
                count,
                sharedReceives,
                queuePairNumber);
    }

    /**
     * Returns true if the peer takes receives from a shared queue ({@code srq}). The library fills this in for the own
     * side.
     *
     * @return true with a shared receive queue
     */
    public boolean sharedReceives() {
        return sharedReceives;
    }

    /**
     * Returns the number of the peer's queue pair ({@code qp_num}). The library fills this in for the own side.
     *
     * @return 24 bits
     */
    public int queuePairNumber() {
        return queuePairNumber;
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
        MemorySegment to = rdma_conn_param.allocate(scratch);
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
                data(
                        Memory.getLong(from.address() + rdma_conn_param.private_data$offset()),
                        Byte.toUnsignedInt(rdma_conn_param.private_data_len(from))),
                Byte.toUnsignedInt(rdma_conn_param.responder_resources(from)),
                Byte.toUnsignedInt(rdma_conn_param.initiator_depth(from)),
                rdma_conn_param.flow_control(from) != 0,
                rdma_conn_param.retry_count(from) & 7,
                rdma_conn_param.rnr_retry_count(from) & 7,
                rdma_conn_param.srq(from) != 0,
                rdma_conn_param.qp_num(from) & 0xffffff);
    }

    static PrivateData data(long address, int length) {
        return address == 0 || length == 0
                ? PrivateData.NONE
                : PrivateData.of(Memory.struct(address, length).toArray(ValueLayout.JAVA_BYTE));
    }

    private List<Object> all() {
        return List.of(
                privateData,
                responderResources,
                initiatorDepth,
                flowControl,
                retryCount,
                rnrRetryCount,
                sharedReceives,
                queuePairNumber);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ConnectionParameters parameters && all().equals(parameters.all());
    }

    @Override
    public int hashCode() {
        return all().hashCode();
    }

    /**
     * Returns the parameters, for example {@code 5 bytes, reads and atomics 16 in and 16 out, 6 retries, 7 RNR
     * retries}.
     */
    @Override
    public String toString() {
        return privateData.size() + " bytes, reads and atomics " + responderResources + " in and " + initiatorDepth
                + " out, " + retryCount + " retries, " + rnrRetryCount + " RNR retries"
                + (flowControl ? ", flow control" : "")
                + (sharedReceives ? ", shared receives" : "")
                + (queuePairNumber == 0 ? "" : ", QP " + queuePairNumber);
    }
}
