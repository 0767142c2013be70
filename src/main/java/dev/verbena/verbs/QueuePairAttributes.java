package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import dev.verbena.NativeValue;
import dev.verbena.internal.Checks;
import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.device.Mtu;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.EnumSet;
import java.util.Set;

/**
 * Attributes of a queue pair ({@code struct ibv_qp_attr}): what {@link QueuePair#modify} is to change, or what
 * {@link QueuePair#query} found. Setting one also names it in the mask that the call gives to C.
 *
 * <pre>{@code
 * qp.modify(QueuePairAttributes.to(QueuePairState.INIT).pkeyIndex(0).port(1).access(Set.of()));
 * }</pre>
 */
public final class QueuePairAttributes {
    private final MemorySegment attributes;
    private final Set<Attribute> set = EnumSet.noneOf(Attribute.class);

    QueuePairAttributes() {
        this.attributes = Arena.ofAuto().allocate(ibv_qp_attr.layout());
    }

    /**
     * Attributes for going to a state. Nothing else is set yet.
     *
     * @param state the state to go to
     * @return new attributes
     */
    public static QueuePairAttributes to(QueuePairState state) {
        QueuePairAttributes attributes = new QueuePairAttributes();
        ibv_qp_attr.qp_state(attributes.attributes, known(state));
        return attributes.with(Attribute.STATE);
    }

    /**
     * Attributes that leave the state as it is. Nothing is set yet.
     *
     * @return new attributes
     */
    public static QueuePairAttributes unchangedState() {
        return new QueuePairAttributes();
    }

    private static int known(NativeValue value) {
        if (value.cName().isEmpty()) {
            throw new IllegalArgumentException(value + " can be read, not set");
        }
        return value.code();
    }

    private QueuePairAttributes with(Attribute attribute) {
        set.add(attribute);
        return this;
    }

    MemorySegment memory() {
        return attributes;
    }

    /** What C filled in for a query. */
    void filled(Collection<Attribute> known) {
        set.addAll(known);
    }

    /**
     * Which attributes are set.
     *
     * @return the mask, as a set
     */
    public Set<Attribute> mask() {
        return Set.copyOf(set);
    }

    boolean has(Attribute attribute) {
        return set.contains(attribute);
    }

    /**
     * The state: the one to go to, or the one that was found ({@code qp_state}).
     *
     * @return the state
     */
    public QueuePairState state() {
        return QueuePairState.of(ibv_qp_attr.qp_state(attributes));
    }

    /**
     * Sets what peers may do through the queue pair ({@code qp_access_flags}).
     *
     * @param flags any of {@code REMOTE_WRITE}, {@code REMOTE_READ}, {@code REMOTE_ATOMIC}, {@code LOCAL_WRITE} and the flushes
     * @return this
     */
    public QueuePairAttributes access(Collection<AccessFlag> flags) {
        ibv_qp_attr.qp_access_flags(attributes, NativeFlag.bits(flags));
        return with(Attribute.ACCESS_FLAGS);
    }

    /**
     * What peers may do through the queue pair ({@code qp_access_flags}).
     *
     * @return the flags
     */
    public Set<AccessFlag> access() {
        return NativeFlag.of(AccessFlag.class, ibv_qp_attr.qp_access_flags(attributes));
    }

    /**
     * Sets the sizes of the queues, where a device can change them ({@code cap}).
     *
     * @param sizes the new sizes
     * @return this
     */
    public QueuePairAttributes capabilities(QueueCapabilities sizes) {
        sizes.write(ibv_qp_attr.cap(attributes));
        return with(Attribute.CAPABILITIES);
    }

    /**
     * The sizes of the queues ({@code cap}).
     *
     * @return the sizes
     */
    public QueueCapabilities capabilities() {
        return QueueCapabilities.read(ibv_qp_attr.cap(attributes));
    }

    /**
     * Sets another path to the peer, for path migration ({@code alt_ah_attr} and its port, partition key and timeout).
     *
     * @param path the path, whose port is the own port
     * @param pkeyIndex the index of the partition key on that port
     * @param timeout how long to wait for an acknowledgement on it, as in {@link #timeout(int)}
     * @return this
     */
    public QueuePairAttributes alternatePath(AddressVector path, int pkeyIndex, int timeout) {
        Checks.checkRange("partition key index", pkeyIndex, 0xffff);
        Checks.checkRange("timeout", timeout, 31);
        AddressCodec.writePath(path, ibv_qp_attr.alt_ah_attr(attributes));
        ibv_qp_attr.alt_port_num(attributes, (byte) path.port());
        ibv_qp_attr.alt_pkey_index(attributes, (short) pkeyIndex);
        ibv_qp_attr.alt_timeout(attributes, (byte) timeout);
        return with(Attribute.ALTERNATE_PATH);
    }

    /**
     * The other path to the peer ({@code alt_ah_attr}).
     *
     * @return the path
     */
    public AddressVector alternatePath() {
        return AddressCodec.readPath(ibv_qp_attr.alt_ah_attr(attributes));
    }

    /**
     * Whether the send queue is being drained ({@code sq_draining}): only a query tells.
     *
     * @return true on the way to {@link QueuePairState#SQD}
     */
    public boolean isDraining() {
        return ibv_qp_attr.sq_draining(attributes) != 0;
    }

    /**
     * Sets the state that the queue pair is believed to be in ({@code cur_qp_state}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes currentState(QueuePairState value) {
        ibv_qp_attr.cur_qp_state(attributes, known(value));
        return with(Attribute.CURRENT_STATE);
    }

    /**
     * The state that the queue pair is believed to be in ({@code cur_qp_state}).
     *
     * @return the value
     */
    public QueuePairState currentState() {
        return QueuePairState.of(ibv_qp_attr.cur_qp_state(attributes));
    }

    /**
     * Sets whether an event tells that the send queue is drained ({@code en_sqd_async_notify}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes sqdNotification(boolean value) {
        ibv_qp_attr.en_sqd_async_notify(attributes, (byte) (value ? 1 : 0));
        return with(Attribute.EN_SQD_ASYNC_NOTIFY);
    }

    /**
     * Whether an event tells that the send queue is drained ({@code en_sqd_async_notify}).
     *
     * @return the value
     */
    public boolean sqdNotification() {
        return ibv_qp_attr.en_sqd_async_notify(attributes) != 0;
    }

    /**
     * Sets the index of the partition key ({@code pkey_index}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes pkeyIndex(int value) {
        Checks.checkRange("pkeyIndex", value, 0xffff);
        ibv_qp_attr.pkey_index(attributes, (short) value);
        return with(Attribute.PKEY_INDEX);
    }

    /**
     * The index of the partition key ({@code pkey_index}).
     *
     * @return the value
     */
    public int pkeyIndex() {
        return Short.toUnsignedInt(ibv_qp_attr.pkey_index(attributes));
    }

    /**
     * Sets the port of the device, from 1 ({@code port_num}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes port(int value) {
        Checks.checkRange("port", value, 255);
        ibv_qp_attr.port_num(attributes, (byte) value);
        return with(Attribute.PORT);
    }

    /**
     * The port of the device, from 1 ({@code port_num}).
     *
     * @return the value
     */
    public int port() {
        return Byte.toUnsignedInt(ibv_qp_attr.port_num(attributes));
    }

    /**
     * Sets the key that datagrams must carry ({@code qkey}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes qkey(int value) {
        ibv_qp_attr.qkey(attributes, value);
        return with(Attribute.QKEY);
    }

    /**
     * The key that datagrams must carry ({@code qkey}).
     *
     * @return the value
     */
    public int qkey() {
        return ibv_qp_attr.qkey(attributes);
    }

    /**
     * Sets the path to the peer ({@code ah_attr}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes addressVector(AddressVector value) {
        AddressCodec.writePath(value, ibv_qp_attr.ah_attr(attributes));
        return with(Attribute.ADDRESS_VECTOR);
    }

    /**
     * The path to the peer ({@code ah_attr}).
     *
     * @return the value
     */
    public AddressVector addressVector() {
        return AddressCodec.readPath(ibv_qp_attr.ah_attr(attributes));
    }

    /**
     * Sets the largest packet on the path ({@code path_mtu}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes pathMtu(Mtu value) {
        ibv_qp_attr.path_mtu(attributes, known(value));
        return with(Attribute.PATH_MTU);
    }

    /**
     * The largest packet on the path ({@code path_mtu}).
     *
     * @return the value
     */
    public Mtu pathMtu() {
        return Mtu.of(ibv_qp_attr.path_mtu(attributes));
    }

    /**
     * Sets how long to wait for an acknowledgement: 4.096 us times two to this power, 0 for ever ({@code timeout}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes timeout(int value) {
        Checks.checkRange("timeout", value, 31);
        ibv_qp_attr.timeout(attributes, (byte) value);
        return with(Attribute.TIMEOUT);
    }

    /**
     * How long to wait for an acknowledgement: 4.096 us times two to this power, 0 for ever ({@code timeout}).
     *
     * @return the value
     */
    public int timeout() {
        return Byte.toUnsignedInt(ibv_qp_attr.timeout(attributes));
    }

    /**
     * Sets how often to retry without an answer ({@code retry_cnt}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes retryCount(int value) {
        Checks.checkRange("retryCount", value, 7);
        ibv_qp_attr.retry_cnt(attributes, (byte) value);
        return with(Attribute.RETRY_COUNT);
    }

    /**
     * How often to retry without an answer ({@code retry_cnt}).
     *
     * @return the value
     */
    public int retryCount() {
        return Byte.toUnsignedInt(ibv_qp_attr.retry_cnt(attributes));
    }

    /**
     * Sets how often to retry when the peer has no receive posted; 7 for ever ({@code rnr_retry}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes rnrRetry(int value) {
        Checks.checkRange("rnrRetry", value, 7);
        ibv_qp_attr.rnr_retry(attributes, (byte) value);
        return with(Attribute.RNR_RETRY);
    }

    /**
     * How often to retry when the peer has no receive posted; 7 for ever ({@code rnr_retry}).
     *
     * @return the value
     */
    public int rnrRetry() {
        return Byte.toUnsignedInt(ibv_qp_attr.rnr_retry(attributes));
    }

    /**
     * Sets the peer's first packet sequence number ({@code rq_psn}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes receivePsn(int value) {
        Checks.checkRange("receivePsn", value, 0xffffff);
        ibv_qp_attr.rq_psn(attributes, value);
        return with(Attribute.RQ_PSN);
    }

    /**
     * The peer's first packet sequence number ({@code rq_psn}).
     *
     * @return the value
     */
    public int receivePsn() {
        return ibv_qp_attr.rq_psn(attributes);
    }

    /**
     * Sets the first packet sequence number to send ({@code sq_psn}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes sendPsn(int value) {
        Checks.checkRange("sendPsn", value, 0xffffff);
        ibv_qp_attr.sq_psn(attributes, value);
        return with(Attribute.SQ_PSN);
    }

    /**
     * The first packet sequence number to send ({@code sq_psn}).
     *
     * @return the value
     */
    public int sendPsn() {
        return ibv_qp_attr.sq_psn(attributes);
    }

    /**
     * Sets how many reads and atomics may be under way to the peer ({@code max_rd_atomic}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes maxReadAtomic(int value) {
        Checks.checkRange("maxReadAtomic", value, 255);
        ibv_qp_attr.max_rd_atomic(attributes, (byte) value);
        return with(Attribute.MAX_READ_ATOMIC);
    }

    /**
     * How many reads and atomics may be under way to the peer ({@code max_rd_atomic}).
     *
     * @return the value
     */
    public int maxReadAtomic() {
        return Byte.toUnsignedInt(ibv_qp_attr.max_rd_atomic(attributes));
    }

    /**
     * Sets how many reads and atomics of the peer may be under way here ({@code max_dest_rd_atomic}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes maxDestinationReadAtomic(int value) {
        Checks.checkRange("maxDestinationReadAtomic", value, 255);
        ibv_qp_attr.max_dest_rd_atomic(attributes, (byte) value);
        return with(Attribute.MAX_DEST_READ_ATOMIC);
    }

    /**
     * How many reads and atomics of the peer may be under way here ({@code max_dest_rd_atomic}).
     *
     * @return the value
     */
    public int maxDestinationReadAtomic() {
        return Byte.toUnsignedInt(ibv_qp_attr.max_dest_rd_atomic(attributes));
    }

    /**
     * Sets the code for how long a peer waits when no receive is posted here: 1 is 10 us, 12 is 0.64 ms, 0 is 655 ms ({@code min_rnr_timer}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes minRnrTimer(int value) {
        Checks.checkRange("minRnrTimer", value, 31);
        ibv_qp_attr.min_rnr_timer(attributes, (byte) value);
        return with(Attribute.MIN_RNR_TIMER);
    }

    /**
     * The code for how long a peer waits when no receive is posted here: 1 is 10 us, 12 is 0.64 ms, 0 is 655 ms ({@code min_rnr_timer}).
     *
     * @return the value
     */
    public int minRnrTimer() {
        return Byte.toUnsignedInt(ibv_qp_attr.min_rnr_timer(attributes));
    }

    /**
     * Sets the state of path migration ({@code path_mig_state}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes pathMigrationState(MigrationState value) {
        ibv_qp_attr.path_mig_state(attributes, known(value));
        return with(Attribute.PATH_MIGRATION_STATE);
    }

    /**
     * The state of path migration ({@code path_mig_state}).
     *
     * @return the value
     */
    public MigrationState pathMigrationState() {
        return MigrationState.of(ibv_qp_attr.path_mig_state(attributes));
    }

    /**
     * Sets the peer's queue pair number ({@code dest_qp_num}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes destinationQueuePair(int value) {
        Checks.checkRange("destinationQueuePair", value, 0xffffff);
        ibv_qp_attr.dest_qp_num(attributes, value);
        return with(Attribute.DESTINATION_QP);
    }

    /**
     * The peer's queue pair number ({@code dest_qp_num}).
     *
     * @return the value
     */
    public int destinationQueuePair() {
        return ibv_qp_attr.dest_qp_num(attributes);
    }

    /**
     * Sets how fast to send at most, in kbit/s ({@code rate_limit}).
     *
     * @param value the new value
     * @return this
     */
    public QueuePairAttributes rateLimit(int value) {
        ibv_qp_attr.rate_limit(attributes, value);
        return with(Attribute.RATE_LIMIT);
    }

    /**
     * How fast to send at most, in kbit/s ({@code rate_limit}).
     *
     * @return the value
     */
    public int rateLimit() {
        return ibv_qp_attr.rate_limit(attributes);
    }

    /** The attributes that are set, with their values. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (Attribute attribute : set) {
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
            case TIMEOUT -> timeout();
            case RETRY_COUNT -> retryCount();
            case RNR_RETRY -> rnrRetry();
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
}
