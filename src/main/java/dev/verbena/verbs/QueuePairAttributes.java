package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.WireTime;
import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.device.Mtu;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Attributes of a queue pair ({@code struct ibv_qp_attr}): the changes for {@link QueuePair#modify}, or the result of
 * {@link QueuePair#query}. Each attribute has a method that returns a changed copy, which also names the attribute in
 * the mask for C. A method of the same name reads the attribute. Attributes never change, so all threads can use them.
 *
 * {@snippet file="MessageSnippets.java" region="modify"}
 *
 * {@snippet file="ObjectSnippets.java" region="connect"}
 */
public final class QueuePairAttributes {
    /** The struct, in heap memory. Only the method that makes an instance writes to it, before it returns the instance. */
    private final MemorySegment values;

    private final Set<Attribute> mask;

    private QueuePairAttributes(MemorySegment values, Collection<Attribute> mask) {
        this.values = values;
        EnumSet<Attribute> copy = EnumSet.noneOf(Attribute.class);
        copy.addAll(mask);
        this.mask = Collections.unmodifiableSet(copy);
    }

    private static MemorySegment blank() {
        long words = (ibv_qp_attr.sizeof() + Long.BYTES - 1) / Long.BYTES;
        return MemorySegment.ofArray(new long[(int) words]);
    }

    /**
     * Returns attributes for going to a state. Nothing else is set yet.
     *
     * @param state the state to go to
     * @return attributes with this state
     * @throws IllegalArgumentException if the state is {@link QueuePairState#UNKNOWN}
     */
    public static QueuePairAttributes to(QueuePairState state) {
        return none().with(Attribute.STATE, settable(state, state.code()));
    }

    /**
     * Returns attributes of which none is set yet: for a change that leaves the state as it is, or for
     * {@link QueuePair#connect(dev.verbena.verbs.address.Endpoint, QueuePairAttributes)}.
     *
     * @return attributes with an empty mask
     */
    public static QueuePairAttributes none() {
        return new QueuePairAttributes(blank(), Set.of());
    }

    /** Copies a struct that C has filled. */
    static QueuePairAttributes read(MemorySegment struct, Collection<Attribute> filled) {
        return new QueuePairAttributes(blank().copyFrom(struct.asSlice(0, ibv_qp_attr.sizeof())), filled);
    }

    /** Writes the struct for C. */
    MemorySegment write(Arena scratch) {
        return ibv_qp_attr.allocate(scratch).copyFrom(values.asSlice(0, ibv_qp_attr.sizeof()));
    }

    private static int settable(Enum<?> value, int code) {
        if (value.name().equals("UNKNOWN")) {
            throw new IllegalArgumentException(value + " can be read, not set");
        }
        return code;
    }

    /** Returns a copy with one more attribute in the mask. The caller sets the value before anybody else sees the copy. */
    private QueuePairAttributes with(Attribute attribute) {
        EnumSet<Attribute> more = EnumSet.of(attribute);
        more.addAll(mask);
        return new QueuePairAttributes(blank().copyFrom(values), more);
    }

    private QueuePairAttributes with(Attribute attribute, int value) {
        QueuePairAttributes copy = with(attribute);
        attribute.write(copy.values, value);
        return copy;
    }

    /** Returns a copy with the numbers of another instance where both set an attribute. */
    QueuePairAttributes overriddenBy(QueuePairAttributes other) {
        QueuePairAttributes copy = new QueuePairAttributes(blank().copyFrom(values), mask);
        for (Attribute attribute : mask) {
            if (attribute.isNumber() && other.has(attribute)) {
                attribute.write(copy.values, attribute.read(other.values));
            }
        }
        return copy;
    }

    /**
     * Returns the attributes that are set.
     *
     * @return the mask as an unmodifiable set
     */
    public Set<Attribute> mask() {
        return mask;
    }

    boolean has(Attribute attribute) {
        return mask.contains(attribute);
    }

    /**
     * Returns the state: the state to go to, or the state that a query found ({@code qp_state}).
     *
     * @return the state
     */
    public QueuePairState state() {
        return QueuePairState.of(Attribute.STATE.read(values));
    }

    /**
     * Returns a copy with other rights of peers ({@code qp_access_flags}).
     *
     * @param flags any of {@code REMOTE_WRITE}, {@code REMOTE_READ}, {@code REMOTE_ATOMIC}, {@code LOCAL_WRITE} and the
     *     flushes
     * @return a changed copy
     */
    public QueuePairAttributes access(Collection<AccessFlag> flags) {
        return with(Attribute.ACCESS_FLAGS, AccessFlag.bits(flags));
    }

    /**
     * Returns the rights of peers ({@code qp_access_flags}).
     *
     * @return the flags
     */
    public Set<AccessFlag> access() {
        return EnumCodec.flags(AccessFlag.class, flag -> flag.bit, Attribute.ACCESS_FLAGS.read(values));
    }

    /**
     * Returns a copy with other sizes of the queues, for devices that can change them ({@code cap}).
     *
     * @param sizes the new sizes
     * @return a changed copy
     */
    public QueuePairAttributes capabilities(QueueCapabilities sizes) {
        QueuePairAttributes copy = with(Attribute.CAPABILITIES);
        sizes.write(ibv_qp_attr.cap(copy.values));
        return copy;
    }

    /**
     * Returns the sizes of the queues ({@code cap}).
     *
     * @return the sizes
     */
    public QueueCapabilities capabilities() {
        return QueueCapabilities.read(ibv_qp_attr.cap(values));
    }

    /**
     * Returns a copy with another alternate path, for path migration ({@code alt_ah_attr}, {@code alt_port_num},
     * {@code alt_pkey_index} and {@code alt_timeout}).
     *
     * @param path the path; its port is also the alternate port
     * @param pkeyIndex the index of the partition key on that port
     * @param timeout the wait for an acknowledgement on this path, rounded as in {@link #timeout(Duration)}
     * @return a changed copy
     */
    public QueuePairAttributes alternatePath(AddressVector path, int pkeyIndex, Duration timeout) {
        int code = WireTime.acknowledgementCode(timeout);
        Checks.checkRange("partition key index", pkeyIndex, 0xffff);
        QueuePairAttributes copy = with(Attribute.ALTERNATE_PATH);
        AddressCodec.writePath(path, ibv_qp_attr.alt_ah_attr(copy.values));
        ibv_qp_attr.alt_port_num(copy.values, (byte) path.port());
        ibv_qp_attr.alt_pkey_index(copy.values, (short) pkeyIndex);
        ibv_qp_attr.alt_timeout(copy.values, (byte) code);
        return copy;
    }

    /**
     * Returns the alternate path ({@code alt_ah_attr}).
     *
     * @return the path
     */
    public AddressVector alternatePath() {
        return AddressCodec.readPath(ibv_qp_attr.alt_ah_attr(values));
    }

    /**
     * Returns the index of the partition key of the alternate path ({@code alt_pkey_index}).
     *
     * @return the index
     */
    public int alternatePkeyIndex() {
        return Short.toUnsignedInt(ibv_qp_attr.alt_pkey_index(values));
    }

    /**
     * Returns the wait for an acknowledgement on the alternate path ({@code alt_timeout}).
     *
     * @return the duration, read as in {@link #timeout()}
     */
    public Duration alternateTimeout() {
        return WireTime.acknowledgement(alternateTimeoutCode());
    }

    /**
     * Returns a copy with another wait for an acknowledgement on the alternate path, by its code ({@code alt_timeout}).
     *
     * @param code the code, 0 to 31: see {@link #timeoutCode(int)}
     * @return a changed copy
     */
    public QueuePairAttributes alternateTimeoutCode(int code) {
        WireTime.checkCode("alternate timeout code", code);
        QueuePairAttributes copy = with(Attribute.ALTERNATE_PATH);
        ibv_qp_attr.alt_timeout(copy.values, (byte) code);
        return copy;
    }

    /**
     * Returns the code of the wait for an acknowledgement on the alternate path ({@code alt_timeout}).
     *
     * @return the code, 0 to 31
     */
    public int alternateTimeoutCode() {
        return ibv_qp_attr.alt_timeout(values) & 31;
    }

    /**
     * Returns true if the send queue is being drained ({@code sq_draining}). Only a query fills this in.
     *
     * @return true on the way to {@link QueuePairState#SQD}
     */
    public boolean isDraining() {
        return ibv_qp_attr.sq_draining(values) != 0;
    }

    /**
     * Returns a copy with another current state for C to assume ({@code cur_qp_state}).
     *
     * @param value the state that the queue pair is in
     * @return a changed copy
     */
    public QueuePairAttributes currentState(QueuePairState value) {
        return with(Attribute.CURRENT_STATE, settable(value, value.code()));
    }

    /**
     * Returns the current state that C assumes ({@code cur_qp_state}).
     *
     * @return the state
     */
    public QueuePairState currentState() {
        return QueuePairState.of(Attribute.CURRENT_STATE.read(values));
    }

    /**
     * Returns a copy that asks for an event once the send queue is drained, or for none ({@code en_sqd_async_notify}).
     *
     * @param value true for an event
     * @return a changed copy
     */
    public QueuePairAttributes sqdNotification(boolean value) {
        return with(Attribute.EN_SQD_ASYNC_NOTIFY, value ? 1 : 0);
    }

    /**
     * Returns true if an event is asked for once the send queue is drained ({@code en_sqd_async_notify}).
     *
     * @return true for an event
     */
    public boolean sqdNotification() {
        return Attribute.EN_SQD_ASYNC_NOTIFY.read(values) != 0;
    }

    /**
     * Returns a copy with another index of the partition key ({@code pkey_index}).
     *
     * @param value the index in the port's table
     * @return a changed copy
     */
    public QueuePairAttributes pkeyIndex(int value) {
        return with(Attribute.PKEY_INDEX, Checks.checkRange("partition key index", value, 0xffff));
    }

    /**
     * Returns the index of the partition key ({@code pkey_index}).
     *
     * @return the index in the port's table
     */
    public int pkeyIndex() {
        return Attribute.PKEY_INDEX.read(values);
    }

    /**
     * Returns a copy with another port of the device ({@code port_num}).
     *
     * @param value the port, from 1
     * @return a changed copy
     */
    public QueuePairAttributes port(int value) {
        return with(Attribute.PORT, Checks.checkRange("port", value, 0xff));
    }

    /**
     * Returns the port of the device ({@code port_num}).
     *
     * @return the port, from 1
     */
    public int port() {
        return Attribute.PORT.read(values);
    }

    /**
     * Returns a copy with another key for datagrams to this queue pair ({@code qkey}).
     *
     * @param value the key
     * @return a changed copy
     */
    public QueuePairAttributes qkey(int value) {
        return with(Attribute.QKEY, value);
    }

    /**
     * Returns the key that datagrams to this queue pair must carry ({@code qkey}).
     *
     * @return the key
     */
    public int qkey() {
        return Attribute.QKEY.read(values);
    }

    /**
     * Returns a copy with another path to the peer ({@code ah_attr}).
     *
     * @param value the path
     * @return a changed copy
     */
    public QueuePairAttributes addressVector(AddressVector value) {
        QueuePairAttributes copy = with(Attribute.ADDRESS_VECTOR);
        AddressCodec.writePath(value, ibv_qp_attr.ah_attr(copy.values));
        return copy;
    }

    /**
     * Returns the path to the peer ({@code ah_attr}).
     *
     * @return the path
     */
    public AddressVector addressVector() {
        return AddressCodec.readPath(ibv_qp_attr.ah_attr(values));
    }

    /**
     * Returns a copy with another largest packet on the path ({@code path_mtu}).
     *
     * @param value the size of the packet
     * @return a changed copy
     */
    public QueuePairAttributes pathMtu(Mtu value) {
        return with(Attribute.PATH_MTU, settable(value, value.code()));
    }

    /**
     * Returns the largest packet on the path ({@code path_mtu}).
     *
     * @return the size of the packet
     */
    public Mtu pathMtu() {
        return Mtu.of(Attribute.PATH_MTU.read(values));
    }

    /**
     * Returns a copy with another wait for an acknowledgement ({@code timeout}). The wire knows 31 durations, 4.096 us
     * times a power of two: the duration is rounded up to the next.
     *
     * @param value more than 0 and at most 8796 s, or {@code ChronoUnit.FOREVER.getDuration()} for no limit
     * @return a changed copy
     * @throws IllegalArgumentException if the duration is not positive or too long
     */
    public QueuePairAttributes timeout(Duration value) {
        return timeoutCode(WireTime.acknowledgementCode(value));
    }

    /**
     * Returns the wait for an acknowledgement ({@code timeout}).
     *
     * @return the duration; {@code ChronoUnit.FOREVER.getDuration()} for no limit
     */
    public Duration timeout() {
        return WireTime.acknowledgement(timeoutCode());
    }

    /**
     * Returns a copy with another wait for an acknowledgement, by its code ({@code timeout}).
     *
     * @param value the code, 0 to 31: code c is 4.096 us times 2 to the power of c, and code 0 is no limit
     * @return a changed copy
     */
    public QueuePairAttributes timeoutCode(int value) {
        return with(Attribute.TIMEOUT, WireTime.checkCode("timeout code", value));
    }

    /**
     * Returns the code of the wait for an acknowledgement ({@code timeout}).
     *
     * @return the code, 0 to 31
     */
    public int timeoutCode() {
        return Attribute.TIMEOUT.read(values) & 31;
    }

    /**
     * Returns a copy with another number of retries without an answer ({@code retry_cnt}).
     *
     * @param value 0 to 7
     * @return a changed copy
     */
    public QueuePairAttributes retryCount(int value) {
        return with(Attribute.RETRY_COUNT, Checks.checkRange("retry count", value, 7));
    }

    /**
     * Returns the number of retries without an answer ({@code retry_cnt}).
     *
     * @return 0 to 7
     */
    public int retryCount() {
        return Attribute.RETRY_COUNT.read(values);
    }

    /**
     * Returns a copy with another number of retries without a receive at the peer ({@code rnr_retry}).
     *
     * @param value 0 to 7; 7 is without limit
     * @return a changed copy
     */
    public QueuePairAttributes rnrRetryCount(int value) {
        return with(Attribute.RNR_RETRY, Checks.checkRange("RNR retry count", value, 7));
    }

    /**
     * Returns the number of retries without a receive at the peer ({@code rnr_retry}).
     *
     * @return 0 to 7; 7 is without limit
     */
    public int rnrRetryCount() {
        return Attribute.RNR_RETRY.read(values);
    }

    /**
     * Returns a copy with another first packet sequence number of the peer ({@code rq_psn}).
     *
     * @param value 24 bits
     * @return a changed copy
     */
    public QueuePairAttributes receivePsn(int value) {
        return with(Attribute.RQ_PSN, Checks.checkRange("receive packet sequence number", value, 0xffffff));
    }

    /**
     * Returns the first packet sequence number of the peer ({@code rq_psn}).
     *
     * @return 24 bits
     */
    public int receivePsn() {
        return Attribute.RQ_PSN.read(values);
    }

    /**
     * Returns a copy with another first packet sequence number to send ({@code sq_psn}).
     *
     * @param value 24 bits
     * @return a changed copy
     */
    public QueuePairAttributes sendPsn(int value) {
        return with(Attribute.SQ_PSN, Checks.checkRange("send packet sequence number", value, 0xffffff));
    }

    /**
     * Returns the first packet sequence number to send ({@code sq_psn}).
     *
     * @return 24 bits
     */
    public int sendPsn() {
        return Attribute.SQ_PSN.read(values);
    }

    /**
     * Returns a copy with another limit of reads and atomics under way to the peer ({@code max_rd_atomic}).
     *
     * @param value 0 to 255
     * @return a changed copy
     */
    public QueuePairAttributes maxReadAtomic(int value) {
        return with(Attribute.MAX_READ_ATOMIC, Checks.checkRange("limit of reads and atomics", value, 0xff));
    }

    /**
     * Returns the limit of reads and atomics under way to the peer ({@code max_rd_atomic}).
     *
     * @return 0 to 255
     */
    public int maxReadAtomic() {
        return Attribute.MAX_READ_ATOMIC.read(values);
    }

    /**
     * Returns a copy with another limit of the peer's reads and atomics under way here ({@code max_dest_rd_atomic}).
     *
     * @param value 0 to 255
     * @return a changed copy
     */
    public QueuePairAttributes maxDestinationReadAtomic(int value) {
        return with(
                Attribute.MAX_DEST_READ_ATOMIC,
                Checks.checkRange("limit of the peer's reads and atomics", value, 0xff));
    }

    /**
     * Returns the limit of the peer's reads and atomics under way here ({@code max_dest_rd_atomic}).
     *
     * @return 0 to 255
     */
    public int maxDestinationReadAtomic() {
        return Attribute.MAX_DEST_READ_ATOMIC.read(values);
    }

    /**
     * Returns a copy with another minimal RNR timer: the wait of a peer that found no receive here
     * ({@code min_rnr_timer}). The wire knows 32 durations: the duration is rounded up to the next.
     *
     * @param value 0 to 655.36 ms
     * @return a changed copy
     * @throws IllegalArgumentException if the duration is negative or too long
     */
    public QueuePairAttributes minRnrTimer(Duration value) {
        return minRnrTimerCode(RnrTimer.code(value));
    }

    /**
     * Returns the minimal RNR timer: the wait of a peer that found no receive here ({@code min_rnr_timer}).
     *
     * @return the duration, 0.01 to 655.36 ms
     */
    public Duration minRnrTimer() {
        return RnrTimer.of(minRnrTimerCode());
    }

    /**
     * Returns a copy with another minimal RNR timer, by its code ({@code min_rnr_timer}).
     *
     * @param value the code, 0 to 31: 1 is 0.01 ms, 12 is 0.64 ms, 31 is 491.52 ms, and 0 is 655.36 ms
     * @return a changed copy
     */
    public QueuePairAttributes minRnrTimerCode(int value) {
        return with(Attribute.MIN_RNR_TIMER, WireTime.checkCode("minimal RNR timer code", value));
    }

    /**
     * Returns the code of the minimal RNR timer ({@code min_rnr_timer}).
     *
     * @return the code, 0 to 31
     */
    public int minRnrTimerCode() {
        return Attribute.MIN_RNR_TIMER.read(values) & 31;
    }

    /**
     * Returns a copy with another state of path migration ({@code path_mig_state}).
     *
     * @param value the state
     * @return a changed copy
     */
    public QueuePairAttributes pathMigrationState(MigrationState value) {
        return with(Attribute.PATH_MIGRATION_STATE, settable(value, value.code));
    }

    /**
     * Returns the state of path migration ({@code path_mig_state}).
     *
     * @return the state
     */
    public MigrationState pathMigrationState() {
        return MigrationState.of(Attribute.PATH_MIGRATION_STATE.read(values));
    }

    /**
     * Returns a copy with another number of the peer's queue pair ({@code dest_qp_num}).
     *
     * @param value 24 bits
     * @return a changed copy
     */
    public QueuePairAttributes destinationQueuePair(int value) {
        return with(Attribute.DESTINATION_QP, Checks.checkRange("destination queue pair", value, 0xffffff));
    }

    /**
     * Returns the number of the peer's queue pair ({@code dest_qp_num}).
     *
     * @return 24 bits
     */
    public int destinationQueuePair() {
        return Attribute.DESTINATION_QP.read(values);
    }

    /**
     * Returns a copy with another limit of the send rate ({@code rate_limit}).
     *
     * @param value kbit/s
     * @return a changed copy
     */
    public QueuePairAttributes rateLimit(int value) {
        return with(Attribute.RATE_LIMIT, value);
    }

    /**
     * Returns the limit of the send rate ({@code rate_limit}).
     *
     * @return kbit/s
     */
    public int rateLimit() {
        return Attribute.RATE_LIMIT.read(values);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof QueuePairAttributes attributes
                && mask.equals(attributes.mask)
                && values.mismatch(attributes.values) == -1;
    }

    @Override
    public int hashCode() {
        return Objects.hash(mask, toString());
    }

    /** Returns the attributes that are set, with their values. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (Attribute attribute : mask) {
            text.append(text.isEmpty() ? "" : ", ")
                    .append(attribute)
                    .append(' ')
                    .append(value(attribute));
        }
        return text.toString();
    }

    private Object value(Attribute attribute) {
        return switch (attribute) {
            case STATE -> state();
            case ACCESS_FLAGS -> access();
            case CAPABILITIES -> capabilities();
            case ALTERNATE_PATH -> alternatePath();
            case CURRENT_STATE -> currentState();
            case EN_SQD_ASYNC_NOTIFY -> sqdNotification();
            case PKEY_INDEX -> pkeyIndex();
            case PORT -> port();
            case QKEY -> qkey();
            case ADDRESS_VECTOR -> addressVector();
            case PATH_MTU -> pathMtu();
            case TIMEOUT -> timeoutCode() == 0 ? "without limit" : timeout();
            case RETRY_COUNT -> retryCount();
            case RNR_RETRY -> rnrRetryCount();
            case RQ_PSN -> receivePsn();
            case SQ_PSN -> sendPsn();
            case MAX_READ_ATOMIC -> maxReadAtomic();
            case MAX_DEST_READ_ATOMIC -> maxDestinationReadAtomic();
            case MIN_RNR_TIMER -> minRnrTimer();
            case PATH_MIGRATION_STATE -> pathMigrationState();
            case DESTINATION_QP -> destinationQueuePair();
            case RATE_LIMIT -> rateLimit();
        };
    }

    /** The state of automatic path migration ({@code enum ibv_mig_state}). */
    public enum MigrationState {
        /** The queue pair uses the primary path, and no alternate path is armed ({@code IBV_MIG_MIGRATED}). */
        MIGRATED(rdma_h.IBV_MIG_MIGRATED),
        /** The alternate path is about to be armed ({@code IBV_MIG_REARM}). */
        REARM(rdma_h.IBV_MIG_REARM),
        /** The alternate path is ready ({@code IBV_MIG_ARMED}). */
        ARMED(rdma_h.IBV_MIG_ARMED),
        /** A number that this release does not know. */
        UNKNOWN(-1);

        final int code;

        MigrationState(int code) {
            this.code = code;
        }

        static MigrationState of(int code) {
            return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
        }
    }
}
