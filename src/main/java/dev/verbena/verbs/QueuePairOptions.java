package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.verbs.device.QueuePairType;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Options of a queue pair ({@code struct ibv_qp_init_attr} and {@code struct ibv_qp_init_attr_ex}). Begin with
 * {@link QueuePair#rc} or the method for another transport. Each option has a method that returns a changed copy, and a
 * method of the same name that reads it. Options never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="queue-pair"}
 */
public final class QueuePairOptions {
    /** The value of {@link #gidIndex} that leaves the choice to {@link Context#bestGid}. */
    public static final int BEST_GID = -1;

    private static final QueueCapabilities DEFAULT = QueueCapabilities.of(64, 64);

    /** All options. Nothing writes to them once they belong to a QueuePairOptions. */
    private static final class Values implements Cloneable {
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

        private Values(QueuePairType type, @Nullable CompletionQueue sends, @Nullable CompletionQueue receives) {
            this.type = type;
            this.sendQueue = sends;
            this.receiveQueue = receives;
        }

        private Values copy() {
            try {
                return (Values) clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }

        private List<@Nullable Object> all() {
            return Arrays.asList(
                    type,
                    sendQueue,
                    receiveQueue,
                    capabilities,
                    port,
                    gidIndex,
                    tsoHeader,
                    operations,
                    flags,
                    sourceNumber,
                    sharedReceiveQueue,
                    xrcDomain,
                    receiveHash);
        }
    }

    private final Values values;

    private QueuePairOptions(Values values) {
        this.values = values;
    }

    private QueuePairOptions with(Consumer<Values> change) {
        Values copy = values.copy();
        change.accept(copy);
        return new QueuePairOptions(copy);
    }

    static QueuePairOptions of(
            QueuePairType type, @Nullable CompletionQueue sends, @Nullable CompletionQueue receives) {
        return new QueuePairOptions(new Values(type, sends, receives));
    }

    static QueuePairOptions xrcReceive(XrcDomain domain) {
        return of(QueuePairType.XRC_RECV, null, null).with(values -> {
            values.capabilities = QueueCapabilities.none();
            values.xrcDomain = domain;
        });
    }

    static QueuePairOptions hashed(ReceiveHash hash) {
        return of(QueuePairType.RAW_PACKET, null, null).with(values -> {
            values.capabilities = QueueCapabilities.none();
            values.receiveHash = hash;
        });
    }

    /**
     * Returns the transport ({@code qp_type}).
     *
     * @return for example {@link QueuePairType#RC}
     */
    public QueuePairType type() {
        return values.type;
    }

    /**
     * Returns the completion queue for sends ({@code send_cq}).
     *
     * @return the completion queue; null for a queue pair that sends nothing
     */
    public @Nullable CompletionQueue sendQueue() {
        return values.sendQueue;
    }

    /**
     * Returns the completion queue for receives ({@code recv_cq}).
     *
     * @return the completion queue; null for a queue pair that receives nothing
     */
    public @Nullable CompletionQueue receiveQueue() {
        return values.receiveQueue;
    }

    /**
     * Returns the sizes of the queues ({@code cap}).
     *
     * @return the sizes asked for
     */
    public QueueCapabilities capabilities() {
        return values.capabilities;
    }

    /**
     * Returns a copy with other sizes of the queues ({@code cap}).
     *
     * @param sizes the sizes that the queue pair must have at least
     * @return a changed copy
     */
    public QueuePairOptions capabilities(QueueCapabilities sizes) {
        return with(values -> values.capabilities = sizes);
    }

    /**
     * Returns the number of work requests that the send queue must hold at least ({@code max_send_wr}).
     *
     * @return the depth
     */
    public int sendDepth() {
        return values.capabilities.sendDepth();
    }

    /**
     * Returns a copy with another number of work requests that the send queue must hold at least ({@code max_send_wr}).
     *
     * @param depth the depth; 64 by default
     * @return a changed copy
     */
    public QueuePairOptions sendDepth(int depth) {
        return capabilities(values.capabilities.sendDepth(depth));
    }

    /**
     * Returns the number of work requests that the receive queue must hold at least ({@code max_recv_wr}).
     *
     * @return the depth
     */
    public int receiveDepth() {
        return values.capabilities.receiveDepth();
    }

    /**
     * Returns a copy with another number of work requests that the receive queue must hold at least
     * ({@code max_recv_wr}).
     *
     * @param depth the depth; 64 by default
     * @return a changed copy
     */
    public QueuePairOptions receiveDepth(int depth) {
        return capabilities(values.capabilities.receiveDepth(depth));
    }

    /**
     * Returns the number of pieces of memory that a send must be able to name ({@code max_send_sge}).
     *
     * @return the number of pieces
     */
    public int sendSge() {
        return values.capabilities.sendSge();
    }

    /**
     * Returns a copy with another number of pieces of memory that a send must be able to name ({@code max_send_sge}).
     *
     * @param pieces the number of pieces; 1 by default
     * @return a changed copy
     */
    public QueuePairOptions sendSge(int pieces) {
        return capabilities(values.capabilities.sendSge(pieces));
    }

    /**
     * Returns the number of pieces of memory that a receive must be able to name ({@code max_recv_sge}).
     *
     * @return the number of pieces
     */
    public int receiveSge() {
        return values.capabilities.receiveSge();
    }

    /**
     * Returns a copy with another number of pieces of memory that a receive must be able to name
     * ({@code max_recv_sge}).
     *
     * @param pieces the number of pieces; 1 by default
     * @return a changed copy
     */
    public QueuePairOptions receiveSge(int pieces) {
        return capabilities(values.capabilities.receiveSge(pieces));
    }

    /**
     * Returns the number of bytes that a send must be able to carry inline ({@code max_inline_data}).
     *
     * @return the number of bytes
     */
    public int inlineSize() {
        return values.capabilities.inlineSize();
    }

    /**
     * Returns a copy with another number of bytes that a send must be able to carry inline ({@code max_inline_data}).
     *
     * @param bytes the number of bytes; 0 by default
     * @return a changed copy
     */
    public QueuePairOptions inlineSize(int bytes) {
        return capabilities(values.capabilities.inlineSize(bytes));
    }

    /**
     * Returns the port of the device.
     *
     * @return the number, from 1
     */
    public int port() {
        return values.port;
    }

    /**
     * Returns a copy for another port of the device.
     *
     * @param number the port, from 1; 1 by default
     * @return a changed copy
     */
    public QueuePairOptions port(int number) {
        Checks.checkRange("port", number, 1, 0xff);
        return with(values -> values.port = number);
    }

    /**
     * Returns the index of the GID by which peers reach the queue pair.
     *
     * @return the index in the port's table, or {@link #BEST_GID}
     */
    public int gidIndex() {
        return values.gidIndex;
    }

    /**
     * Returns a copy with another index of the GID by which peers reach the queue pair.
     *
     * @param index the index in the port's table; {@link #BEST_GID} by default
     * @return a changed copy
     */
    public QueuePairOptions gidIndex(int index) {
        Checks.checkRange("GID index", index, BEST_GID, 0xff);
        return with(values -> values.gidIndex = index);
    }

    /**
     * Returns the length of the longest header of a segmented send ({@code max_tso_header}).
     *
     * @return the number of bytes; 0 without segmented sends
     */
    public int tsoHeader() {
        return values.tsoHeader;
    }

    /**
     * Returns a copy that allows {@linkplain SendBatch#segmented segmented sends} with headers of a length
     * ({@code max_tso_header}).
     *
     * @param bytes the length of the longest header; 0 by default, without segmented sends
     * @return a changed copy
     */
    public QueuePairOptions tsoHeader(int bytes) {
        Checks.checkRange("length of a header", bytes, 0xffff);
        return with(values -> values.tsoHeader = bytes);
    }

    /**
     * Returns the operations of an extended queue pair ({@code send_ops_flags}).
     *
     * @return the operations, unmodifiable; none for a queue pair that posts by {@code ibv_post_send}
     */
    public Set<SendOperation> operations() {
        return values.operations;
    }

    /**
     * Returns a copy for an extended queue pair, which offers these operations and no others ({@code send_ops_flags}).
     * Such a queue pair posts by {@code ibv_wr_start} and {@code ibv_wr_complete} and is used as any other. The newest
     * operations, such as {@link SendOperation#ATOMIC_WRITE}, need one.
     *
     * @param operations the operations; {@link SendOperation#usual} names those of all devices
     * @return a changed copy
     */
    public QueuePairOptions operations(Collection<SendOperation> operations) {
        EnumSet<SendOperation> copy = EnumSet.noneOf(SendOperation.class);
        copy.addAll(operations);
        return with(values -> values.operations = Collections.unmodifiableSet(copy));
    }

    /**
     * Returns a copy for an extended queue pair with these operations: see {@link #operations(Collection)}.
     *
     * @param first an operation
     * @param more further operations
     * @return a changed copy
     */
    public QueuePairOptions operations(SendOperation first, SendOperation... more) {
        return operations(EnumSet.of(first, more));
    }

    /**
     * Returns the flags ({@code create_flags}).
     *
     * @return the flags, unmodifiable
     */
    public Set<QueuePairCreateFlag> flags() {
        return values.flags;
    }

    /**
     * Returns a copy with these flags in addition ({@code create_flags}).
     *
     * @param first a flag
     * @param more further flags
     * @return a changed copy
     */
    public QueuePairOptions flags(QueuePairCreateFlag first, QueuePairCreateFlag... more) {
        EnumSet<QueuePairCreateFlag> all = EnumSet.of(first, more);
        all.addAll(values.flags);
        return with(values -> values.flags = Collections.unmodifiableSet(all));
    }

    /**
     * Returns the number that datagrams carry instead of the queue pair's own ({@code source_qpn}).
     *
     * @return the number; 0 for the own number
     */
    public int sourceNumber() {
        return values.sourceNumber;
    }

    /**
     * Returns a copy whose datagrams carry another number than the queue pair's own ({@code source_qpn}). Adds
     * {@link QueuePairCreateFlag#SOURCE_QPN}.
     *
     * @param number the number of another queue pair
     * @return a changed copy
     */
    public QueuePairOptions sourceNumber(int number) {
        Checks.checkRange("queue pair number", number, QueuePair.MULTICAST);
        return flags(QueuePairCreateFlag.SOURCE_QPN).with(values -> values.sourceNumber = number);
    }

    /**
     * Returns the shared receive queue that receives are taken from ({@code srq}).
     *
     * @return the shared receive queue; null for a queue pair with a receive queue of its own
     */
    public @Nullable SharedReceiveQueue sharedReceiveQueue() {
        return values.sharedReceiveQueue;
    }

    /**
     * Returns a copy that takes receives from a shared receive queue, instead of a queue of its own ({@code srq}).
     *
     * @param queue the shared receive queue
     * @return a changed copy
     */
    public QueuePairOptions sharedReceiveQueue(SharedReceiveQueue queue) {
        return with(values -> {
            values.capabilities = values.capabilities.receiveDepth(0).receiveSge(0);
            values.sharedReceiveQueue = queue;
        });
    }

    @Nullable
    ReceiveHash receiveHash() {
        return values.receiveHash;
    }

    @Nullable
    XrcDomain xrcDomain() {
        return values.xrcDomain;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof QueuePairOptions options && values.all().equals(options.values.all());
    }

    @Override
    public int hashCode() {
        return values.all().hashCode();
    }

    /** Returns the options, for example {@code UD, send 64x1, receive 64x1, inline 0}. */
    @Override
    public String toString() {
        return values.type + ", " + values.capabilities
                + (values.tsoHeader == 0 ? "" : ", TSO header " + values.tsoHeader)
                + (values.operations.isEmpty() ? "" : ", operations " + values.operations)
                + (values.flags.isEmpty() ? "" : ", flags " + values.flags)
                + (values.receiveHash == null ? "" : ", " + values.receiveHash);
    }
}
