package dev.verbena.cm;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.rdma_conn_param;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Objects;

/**
 * The parameters that one side of a connection offers to the other, or asks for ({@code struct rdma_conn_param}). The queues
 * of the own side are {@link ConnectionResources}. Begin with
 * {@link #defaults}. Each option has a method that returns a changed copy, and a method of the same name that reads it: an event
 * has the parameters of the peer. Parameters never change, so all threads can use them.
 *
 * {@snippet file="ConnectionSnippets.java" region="parameters"}
 */
public final class ConnectionParameters extends Options<ConnectionParameters> {
    /**
     * The value of {@link #responderResources} and {@link #initiatorDepth} that asks for as many reads and atomics as
     * the device allows ({@code RDMA_MAX_RESP_RES}, {@code RDMA_MAX_INIT_DEPTH}).
     */
    public static final int MAX = 255;

    private static final ConnectionParameters DEFAULTS = new ConnectionParameters();

    private PrivateData privateData = PrivateData.NONE;
    private int responderResources = MAX;
    private int initiatorDepth = MAX;
    private boolean flowControl;
    private int retryCount = 6;
    private int rnrRetryCount = 7;
    private boolean sharedReceives;
    private int queuePairNumber;

    private ConnectionParameters() {}

    /**
     * Returns the defaults: as many reads and atomics as the device allows, 6 retries without an answer, no limit of
     * retries without a receive, no private data.
     *
     * @return the defaults
     */
    public static ConnectionParameters defaults() {
        return DEFAULTS;
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
        return with(copy -> copy.privateData = Objects.requireNonNull(data, "privateData"));
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
        return with(copy -> copy.responderResources = Checks.checkRange("number of responder resources", count, MAX));
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
        return with(copy -> copy.initiatorDepth = Checks.checkRange("initiator depth", count, MAX));
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
        return with(copy -> copy.flowControl = value);
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
        return with(copy -> copy.retryCount = Checks.checkRange("retry count", count, 7));
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
        return with(copy -> copy.rnrRetryCount = Checks.checkRange("RNR retry count", count, 7));
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
        return with(copy -> {
            copy.queuePairNumber = Checks.checkRange("queue pair number", number, 0xffffff);
            copy.sharedReceives = shared;
        });
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
        ConnectionParameters read = new ConnectionParameters();
        read.privateData = data(
                Memory.getLong(from.address() + rdma_conn_param.private_data$offset()),
                Byte.toUnsignedInt(rdma_conn_param.private_data_len(from)));
        read.responderResources = Byte.toUnsignedInt(rdma_conn_param.responder_resources(from));
        read.initiatorDepth = Byte.toUnsignedInt(rdma_conn_param.initiator_depth(from));
        read.flowControl = rdma_conn_param.flow_control(from) != 0;
        read.retryCount = rdma_conn_param.retry_count(from) & 7;
        read.rnrRetryCount = rdma_conn_param.rnr_retry_count(from) & 7;
        read.sharedReceives = rdma_conn_param.srq(from) != 0;
        read.queuePairNumber = rdma_conn_param.qp_num(from) & 0xffffff;
        return read.frozen();
    }

    static PrivateData data(long address, int length) {
        return address == 0 || length == 0
                ? PrivateData.NONE
                : PrivateData.of(Memory.struct(address, length).toArray(ValueLayout.JAVA_BYTE));
    }

    @Override
    protected List<Option> options() {
        return List.of(
                option("private data", privateData, DEFAULTS.privateData),
                option("responder resources", responderResources, DEFAULTS.responderResources),
                option("initiator depth", initiatorDepth, DEFAULTS.initiatorDepth),
                option("flow control", flowControl, DEFAULTS.flowControl),
                option("retries", retryCount, DEFAULTS.retryCount),
                option("RNR retries", rnrRetryCount, DEFAULTS.rnrRetryCount),
                option("shared receives", sharedReceives, DEFAULTS.sharedReceives),
                option("QP", queuePairNumber, DEFAULTS.queuePairNumber));
    }
}
