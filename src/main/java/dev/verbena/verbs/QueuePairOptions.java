package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.verbs.device.QueuePairType;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a queue pair is to be like ({@code struct ibv_qp_init_attr} and {@code struct ibv_qp_init_attr_ex}): begin with
 * {@link QueuePair#rc} or one of its sisters and change what is to differ. Each method answers a changed copy.
 */
public final class QueuePairOptions {
    /** The value of {@link #gidIndex} that leaves the choice to {@link Context#bestGid}. */
    public static final int BEST_GID = -1;

    private static final QueueCapabilities DEFAULT = new QueueCapabilities(64, 64, 1, 1, 0);

    private final QueuePairType type;
    private final @Nullable CompletionQueue sendQueue;
    private final @Nullable CompletionQueue receiveQueue;
    private QueueCapabilities capabilities = DEFAULT;
    private int port = 1;
    private int gidIndex = BEST_GID;
    private int tsoHeader;
    private Set<SendOperation> operations = Set.of();
    private Set<QueuePairCreateFlag> flags = Set.of();
    private int sourceNumber;
    private @Nullable SharedReceiveQueue sharedReceiveQueue;
    private @Nullable XrcDomain xrcDomain;
    private @Nullable ReceiveHash receiveHash;

    private QueuePairOptions(
            QueuePairType type, @Nullable CompletionQueue sendQueue, @Nullable CompletionQueue receiveQueue) {
        this.type = type;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
    }

    private QueuePairOptions(QueuePairOptions from) {
        this(from.type, from.sendQueue, from.receiveQueue);
        capabilities = from.capabilities;
        port = from.port;
        gidIndex = from.gidIndex;
        tsoHeader = from.tsoHeader;
        operations = from.operations;
        flags = from.flags;
        sourceNumber = from.sourceNumber;
        sharedReceiveQueue = from.sharedReceiveQueue;
        xrcDomain = from.xrcDomain;
        receiveHash = from.receiveHash;
    }

    static QueuePairOptions of(
            QueuePairType type, @Nullable CompletionQueue sends, @Nullable CompletionQueue receives) {
        return new QueuePairOptions(type, sends, receives);
    }

    static QueuePairOptions xrcReceive(XrcDomain domain) {
        QueuePairOptions options = of(QueuePairType.XRC_RECV, null, null).sized(0, 0, 0, 0, 0);
        options.xrcDomain = domain;
        return options;
    }

    static QueuePairOptions hashed(ReceiveHash hash) {
        QueuePairOptions options = of(QueuePairType.RAW_PACKET, null, null).sized(0, 0, 0, 0, 0);
        options.receiveHash = hash;
        return options;
    }

    /**
     * The transport.
     *
     * @return for example {@link QueuePairType#RC}
     */
    public QueuePairType type() {
        return type;
    }

    /** Where the ends of sends are reported; null where nothing is sent. */
    @Nullable
    CompletionQueue sendQueue() {
        return sendQueue;
    }

    /** Where the ends of receives are reported; null where nothing is received. */
    @Nullable
    CompletionQueue receiveQueue() {
        return receiveQueue;
    }

    /**
     * The sizes asked for.
     *
     * @return the sizes
     */
    public QueueCapabilities capabilities() {
        return capabilities;
    }

    /**
     * The port of the device.
     *
     * @return the number, from 1
     */
    public int port() {
        return port;
    }

    /**
     * The index of the GID that peers reach the queue pair by.
     *
     * @return the index, or {@link #BEST_GID}
     */
    public int gidIndex() {
        return gidIndex;
    }

    /**
     * The longest header of a segmented send.
     *
     * @return bytes; 0 when there are no segmented sends
     */
    public int tsoHeader() {
        return tsoHeader;
    }

    /**
     * The operations of an extended queue pair.
     *
     * @return the operations, unmodifiable; none for a queue pair that posts by {@code ibv_post_send}
     */
    public Set<SendOperation> operations() {
        return operations;
    }

    /**
     * What is special about it.
     *
     * @return the flags, unmodifiable
     */
    public Set<QueuePairCreateFlag> flags() {
        return flags;
    }

    /**
     * The number that its datagrams carry instead of its own.
     *
     * @return the number; 0 for its own
     */
    public int sourceNumber() {
        return sourceNumber;
    }

    private QueuePairOptions sized(int sendDepth, int receiveDepth, int sendSge, int receiveSge, int inlineSize) {
        if (sendDepth < 0 || receiveDepth < 0 || sendSge < 0 || receiveSge < 0 || inlineSize < 0) {
            throw new IllegalArgumentException("The sizes of a queue pair can't be negative");
        }
        QueuePairOptions changed = new QueuePairOptions(this);
        changed.capabilities = new QueueCapabilities(sendDepth, receiveDepth, sendSge, receiveSge, inlineSize);
        return changed;
    }

    /**
     * How many work requests the send queue must hold; 64 if not said.
     *
     * @param depth the least
     * @return a changed copy
     */
    public QueuePairOptions sendDepth(int depth) {
        return sized(
                depth,
                capabilities.receiveDepth(),
                capabilities.sendSge(),
                capabilities.receiveSge(),
                capabilities.inlineSize());
    }

    /**
     * How many work requests the receive queue must hold; 64 if not said.
     *
     * @param depth the least
     * @return a changed copy
     */
    public QueuePairOptions receiveDepth(int depth) {
        return sized(
                capabilities.sendDepth(),
                depth,
                capabilities.sendSge(),
                capabilities.receiveSge(),
                capabilities.inlineSize());
    }

    /**
     * How many pieces of memory a send must be able to name; 1 if not said.
     *
     * @param pieces the least
     * @return a changed copy
     */
    public QueuePairOptions sendSge(int pieces) {
        return sized(
                capabilities.sendDepth(),
                capabilities.receiveDepth(),
                pieces,
                capabilities.receiveSge(),
                capabilities.inlineSize());
    }

    /**
     * How many pieces of memory a receive must be able to name; 1 if not said.
     *
     * @param pieces the least
     * @return a changed copy
     */
    public QueuePairOptions receiveSge(int pieces) {
        return sized(
                capabilities.sendDepth(),
                capabilities.receiveDepth(),
                capabilities.sendSge(),
                pieces,
                capabilities.inlineSize());
    }

    /**
     * How many bytes a send must be able to carry inline; none if not said.
     *
     * @param bytes the least
     * @return a changed copy
     */
    public QueuePairOptions inlineSize(int bytes) {
        return sized(
                capabilities.sendDepth(),
                capabilities.receiveDepth(),
                capabilities.sendSge(),
                capabilities.receiveSge(),
                bytes);
    }

    /**
     * Which port of the device to use; 1 if not said.
     *
     * @param number the port
     * @return a changed copy
     */
    public QueuePairOptions port(int number) {
        if (number < 1 || number > 255) {
            throw new IllegalArgumentException("Ports are numbered from 1: " + number);
        }
        QueuePairOptions changed = new QueuePairOptions(this);
        changed.port = number;
        return changed;
    }

    /**
     * Which entry of the port's GID table peers reach the queue pair by; the best one if not said.
     *
     * @param index the index, or {@link #BEST_GID}
     * @return a changed copy
     */
    public QueuePairOptions gidIndex(int index) {
        if (index < BEST_GID || index > 255) {
            throw new IllegalArgumentException("A GID index is from 0 to 255: " + index);
        }
        QueuePairOptions changed = new QueuePairOptions(this);
        changed.gidIndex = index;
        return changed;
    }

    /**
     * How long the header of a segmented send may be ({@code max_tso_header}): asks for
     * {@link SendBatch#segmented segmented sends}.
     *
     * @param bytes the longest; 0 if not said
     * @return a changed copy
     */
    public QueuePairOptions tsoHeader(int bytes) {
        Checks.checkRange("length of a header", bytes, 0xffff);
        QueuePairOptions changed = new QueuePairOptions(this);
        changed.tsoHeader = bytes;
        return changed;
    }

    /**
     * Makes the queue pair an extended one, which posts through {@code ibv_wr_start}, {@code ibv_wr_complete} and what lies
     * between, and offers these operations only: the newest, such as {@link SendOperation#ATOMIC_WRITE}, are not to be had
     * otherwise. It is used as any other.
     *
     * @param operations what it must offer; {@link SendOperation#usual} is what all devices can
     * @return a changed copy
     */
    public QueuePairOptions operations(Collection<SendOperation> operations) {
        QueuePairOptions changed = new QueuePairOptions(this);
        EnumSet<SendOperation> copy = EnumSet.noneOf(SendOperation.class);
        copy.addAll(operations);
        changed.operations = Collections.unmodifiableSet(copy);
        return changed;
    }

    /**
     * As {@link #operations(Collection)}.
     *
     * @param first what it must offer
     * @param more what else
     * @return a changed copy
     */
    public QueuePairOptions operations(SendOperation first, SendOperation... more) {
        return operations(EnumSet.of(first, more));
    }

    /**
     * Asks for something special ({@code create_flags}).
     *
     * @param first what
     * @param more what else
     * @return a changed copy
     */
    public QueuePairOptions flags(QueuePairCreateFlag first, QueuePairCreateFlag... more) {
        QueuePairOptions changed = new QueuePairOptions(this);
        EnumSet<QueuePairCreateFlag> all = EnumSet.of(first, more);
        all.addAll(flags);
        changed.flags = Collections.unmodifiableSet(all);
        return changed;
    }

    /**
     * The number that its datagrams carry instead of its own ({@code source_qpn}); asks for
     * {@link QueuePairCreateFlag#SOURCE_QPN}.
     *
     * @param number the number of another queue pair
     * @return a changed copy
     */
    public QueuePairOptions sourceNumber(int number) {
        Checks.checkRange("queue pair number", number, QueuePair.MULTICAST);
        QueuePairOptions changed = flags(QueuePairCreateFlag.SOURCE_QPN);
        changed.sourceNumber = number;
        return changed;
    }

    /**
     * Where receives are taken from, instead of a queue of its own ({@code srq}).
     *
     * @param queue the shared receive queue
     * @return a changed copy
     */
    public QueuePairOptions sharedReceiveQueue(SharedReceiveQueue queue) {
        QueuePairOptions changed =
                sized(capabilities.sendDepth(), 0, capabilities.sendSge(), 0, capabilities.inlineSize());
        changed.sharedReceiveQueue = queue;
        return changed;
    }

    @Nullable
    SharedReceiveQueue sharedReceiveQueue() {
        return sharedReceiveQueue;
    }

    @Nullable
    ReceiveHash receiveHash() {
        return receiveHash;
    }

    @Nullable
    XrcDomain xrcDomain() {
        return xrcDomain;
    }

    /** For example {@code UD, send 64x1, receive 64x1, inline 0}. */
    @Override
    public String toString() {
        return type + ", " + capabilities + (tsoHeader == 0 ? "" : ", TSO header " + tsoHeader)
                + (operations.isEmpty() ? "" : ", operations " + operations)
                + (flags.isEmpty() ? "" : ", flags " + flags)
                + (receiveHash == null ? "" : ", " + receiveHash);
    }
}
