package dev.verbena.cm;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.rdma_conn_param;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
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

    private static final Keys<ConnectionParameters> KEYS = new Keys<>();
    private static final Key<ConnectionParameters, PrivateData> PRIVATE_DATA =
            KEYS.key("private data", PrivateData.NONE);
    private static final Key<ConnectionParameters, Integer> RESPONDER_RESOURCES = KEYS.key("responder resources", MAX);
    private static final Key<ConnectionParameters, Integer> INITIATOR_DEPTH = KEYS.key("initiator depth", MAX);
    private static final Key<ConnectionParameters, Boolean> FLOW_CONTROL = KEYS.key("flow control", false);
    private static final Key<ConnectionParameters, Integer> RETRY_COUNT = KEYS.key("retries", 6);
    private static final Key<ConnectionParameters, Integer> RNR_RETRY_COUNT = KEYS.key("RNR retries", 7);
    private static final Key<ConnectionParameters, Boolean> SHARED_RECEIVES = KEYS.key("shared receives", false);
    private static final Key<ConnectionParameters, Integer> QUEUE_PAIR_NUMBER = KEYS.key("QP", 0);
    private static final ConnectionParameters DEFAULTS = new ConnectionParameters();

    private ConnectionParameters() {
        super(KEYS);
    }

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
        return PRIVATE_DATA.of(this);
    }

    /**
     * Returns a copy with other bytes for the peer ({@code private_data}).
     *
     * @param data the bytes
     * @return a changed copy
     */
    public ConnectionParameters privateData(PrivateData data) {
        return with(PRIVATE_DATA, Objects.requireNonNull(data, "privateData"));
    }

    /**
     * Returns the limit of the peer's reads and atomics under way here ({@code responder_resources}).
     *
     * @return 0 to 255; {@link #MAX} for as many as the device allows
     */
    public int responderResources() {
        return RESPONDER_RESOURCES.of(this);
    }

    /**
     * Returns a copy with another limit of the peer's reads and atomics under way here ({@code responder_resources}).
     *
     * @param count 0 to 255; {@link #MAX} by default, for as many as the device allows
     * @return a changed copy
     * @throws IllegalArgumentException if the number does not fit
     */
    public ConnectionParameters responderResources(int count) {
        return with(RESPONDER_RESOURCES, Checks.checkRange("number of responder resources", count, MAX));
    }

    /**
     * Returns the limit of reads and atomics under way to the peer ({@code initiator_depth}).
     *
     * @return 0 to 255; {@link #MAX} for as many as the device allows
     */
    public int initiatorDepth() {
        return INITIATOR_DEPTH.of(this);
    }

    /**
     * Returns a copy with another limit of reads and atomics under way to the peer ({@code initiator_depth}).
     *
     * @param count 0 to 255; {@link #MAX} by default, for as many as the device allows
     * @return a changed copy
     * @throws IllegalArgumentException if the number does not fit
     */
    public ConnectionParameters initiatorDepth(int count) {
        return with(INITIATOR_DEPTH, Checks.checkRange("initiator depth", count, MAX));
    }

    /**
     * Returns true if the hardware has flow control ({@code flow_control}).
     *
     * @return true with flow control
     */
    public boolean flowControl() {
        return FLOW_CONTROL.of(this);
    }

    /**
     * Returns a copy with or without flow control by the hardware ({@code flow_control}).
     *
     * @param value true with flow control; false by default
     * @return a changed copy
     */
    public ConnectionParameters flowControl(boolean value) {
        return with(FLOW_CONTROL, value);
    }

    /**
     * Returns the number of times that a message without an answer is sent again ({@code retry_count}).
     *
     * @return 0 to 7
     */
    public int retryCount() {
        return RETRY_COUNT.of(this);
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
        return with(RETRY_COUNT, Checks.checkRange("retry count", count, 7));
    }

    /**
     * Returns the number of times that a message is sent again when the peer has no receive ({@code rnr_retry_count}).
     *
     * @return 0 to 7; 7 is without limit
     */
    public int rnrRetryCount() {
        return RNR_RETRY_COUNT.of(this);
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
        return with(RNR_RETRY_COUNT, Checks.checkRange("RNR retry count", count, 7));
    }

    /**
     * Returns true if the peer takes receives from a shared queue ({@code srq}). The library fills this in for the own
     * side.
     *
     * @return true with a shared receive queue
     */
    public boolean sharedReceives() {
        return SHARED_RECEIVES.of(this);
    }

    /**
     * Returns the number of the peer's queue pair ({@code qp_num}). The library fills this in for the own side.
     *
     * @return 24 bits
     */
    public int queuePairNumber() {
        return QUEUE_PAIR_NUMBER.of(this);
    }

    /**
     * Returns a copy for a queue pair that was not made on the id ({@code qp_num}, {@code srq}). The program then brings it
     * to its states: see {@link ConnectionId#beginConnect}.
     *
     * @param number the number of this side's queue pair, 24 bits
     * @param shared true if it takes receives from a shared queue
     * @return a changed copy
     */
    public ConnectionParameters queuePair(int number, boolean shared) {
        return with(QUEUE_PAIR_NUMBER, Checks.checkRange("queue pair number", number, 0xffffff))
                .with(SHARED_RECEIVES, shared);
    }

    MemorySegment write(Arena scratch) {
        MemorySegment to = rdma_conn_param.allocate(scratch);
        rdma_conn_param.private_data(to, write(privateData(), scratch));
        rdma_conn_param.private_data_len(to, (byte) privateData().size());
        rdma_conn_param.responder_resources(to, (byte) responderResources());
        rdma_conn_param.initiator_depth(to, (byte) initiatorDepth());
        rdma_conn_param.flow_control(to, (byte) (flowControl() ? 1 : 0));
        rdma_conn_param.retry_count(to, (byte) retryCount());
        rdma_conn_param.rnr_retry_count(to, (byte) rnrRetryCount());
        rdma_conn_param.srq(to, (byte) (sharedReceives() ? 1 : 0));
        rdma_conn_param.qp_num(to, queuePairNumber());
        return to;
    }

    static MemorySegment write(PrivateData data, Arena scratch) {
        return data.size() == 0 ? MemorySegment.NULL : scratch.allocateFrom(ValueLayout.JAVA_BYTE, data.toBytes());
    }

    static ConnectionParameters read(MemorySegment from) {
        return DEFAULTS.privateData(data(
                        Memory.getLong(from.address() + rdma_conn_param.private_data$offset()),
                        Byte.toUnsignedInt(rdma_conn_param.private_data_len(from))))
                .responderResources(Byte.toUnsignedInt(rdma_conn_param.responder_resources(from)))
                .initiatorDepth(Byte.toUnsignedInt(rdma_conn_param.initiator_depth(from)))
                .flowControl(rdma_conn_param.flow_control(from) != 0)
                .retryCount(rdma_conn_param.retry_count(from) & 7)
                .rnrRetryCount(rdma_conn_param.rnr_retry_count(from) & 7)
                .queuePair(rdma_conn_param.qp_num(from) & 0xffffff, rdma_conn_param.srq(from) != 0);
    }

    static PrivateData data(long address, int length) {
        return address == 0 || length == 0
                ? PrivateData.NONE
                : PrivateData.of(Memory.struct(address, length).toArray(ValueLayout.JAVA_BYTE));
    }
}
