package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.device.QueuePairType;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Options of a queue pair ({@code struct ibv_qp_init_attr} and {@code struct ibv_qp_init_attr_ex}). Begin with
 * {@link QueuePair#rc} or the method for another transport. Each option has a method that returns a changed copy.
 * Options never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="queue-pair"}
 */
public final class QueuePairOptions extends Options<QueuePairOptions> {
    /** The value of {@link #gidIndex} that leaves the choice to {@link Context#bestGid}. */
    public static final int BEST_GID = -1;

    private static final QueueCapabilities DEFAULT = QueueCapabilities.of(64, 64);

    private final QueuePairType type;
    private final @Nullable CompletionQueue sendQueue;
    private final @Nullable CompletionQueue receiveQueue;
    private QueueCapabilities capabilities = DEFAULT;
    private int port = 1;
    private int gidIndex = BEST_GID;
    private int tsoHeader;
    private Set<OfferedOperation> operations = Set.of();
    private Set<Flag> flags = Set.of();
    private int sourceNumber;
    private boolean locks;
    private @Nullable SharedReceiveQueue sharedReceiveQueue;
    private @Nullable XrcDomain xrcDomain;
    private @Nullable ReceiveHash receiveHash;

    private QueuePairOptions(QueuePairType type, @Nullable CompletionQueue sends, @Nullable CompletionQueue receives) {
        this.type = type;
        this.sendQueue = sends;
        this.receiveQueue = receives;
    }

    static QueuePairOptions of(
            QueuePairType type, @Nullable CompletionQueue sends, @Nullable CompletionQueue receives) {
        return new QueuePairOptions(type, sends, receives).frozen();
    }

    static QueuePairOptions xrcReceive(XrcDomain domain) {
        QueuePairOptions options = new QueuePairOptions(QueuePairType.XRC_RECV, null, null);
        options.capabilities = QueueCapabilities.none();
        options.xrcDomain = domain;
        return options.frozen();
    }

    static QueuePairOptions hashed(ReceiveHash hash) {
        QueuePairOptions options = new QueuePairOptions(QueuePairType.RAW_PACKET, null, null);
        options.capabilities = QueueCapabilities.none();
        options.receiveHash = hash;
        return options.frozen();
    }

    QueuePairType type() {
        return type;
    }

    @Nullable
    CompletionQueue sendQueue() {
        return sendQueue;
    }

    @Nullable
    CompletionQueue receiveQueue() {
        return receiveQueue;
    }

    /** Returns a completion queue of a queue pair, or throws if there is none. */
    static CompletionQueue require(@Nullable CompletionQueue queue, QueuePair of, String what) {
        if (queue == null) {
            throw new IllegalStateException(of + " has no " + what);
        }
        return queue;
    }

    QueueCapabilities capabilities() {
        return capabilities;
    }

    /**
     * Returns a copy with other sizes of the queues ({@code cap}).
     *
     * @param sizes the sizes that the queue pair must have at least
     * @return a changed copy
     */
    public QueuePairOptions capabilities(QueueCapabilities sizes) {
        return with(copy -> copy.capabilities = Objects.requireNonNull(sizes, "capabilities"));
    }

    /**
     * Returns a copy with another number of work requests that the send queue must hold at least ({@code max_send_wr}).
     *
     * @param depth the depth; 64 by default
     * @return a changed copy
     */
    public QueuePairOptions sendDepth(int depth) {
        return capabilities(capabilities.sendDepth(depth));
    }

    /**
     * Returns a copy with another number of work requests that the receive queue must hold at least
     * ({@code max_recv_wr}).
     *
     * @param depth the depth; 64 by default
     * @return a changed copy
     */
    public QueuePairOptions receiveDepth(int depth) {
        return capabilities(capabilities.receiveDepth(depth));
    }

    /**
     * Returns a copy with another number of pieces of memory that a send must be able to name ({@code max_send_sge}).
     *
     * @param pieces the number of pieces; 1 by default
     * @return a changed copy
     */
    public QueuePairOptions sendSge(int pieces) {
        return capabilities(capabilities.sendSge(pieces));
    }

    /**
     * Returns a copy with another number of pieces of memory that a receive must be able to name
     * ({@code max_recv_sge}).
     *
     * @param pieces the number of pieces; 1 by default
     * @return a changed copy
     */
    public QueuePairOptions receiveSge(int pieces) {
        return capabilities(capabilities.receiveSge(pieces));
    }

    /**
     * Returns a copy with another number of bytes that a send must be able to carry inline ({@code max_inline_data}).
     *
     * @param bytes the number of bytes; 0 by default
     * @return a changed copy
     */
    public QueuePairOptions inlineSize(int bytes) {
        return capabilities(capabilities.inlineSize(bytes));
    }

    int port() {
        return port;
    }

    /**
     * Returns a copy for another port of the device.
     *
     * @param number the port, from 1; 1 by default
     * @return a changed copy
     */
    public QueuePairOptions port(int number) {
        return with(copy -> copy.port = Checks.checkRange("port", number, 1, 0xff));
    }

    int gidIndex() {
        return gidIndex;
    }

    /**
     * Returns a copy with another index of the GID by which peers reach the queue pair.
     *
     * @param index the index in the port's table; {@link #BEST_GID} by default
     * @return a changed copy
     */
    public QueuePairOptions gidIndex(int index) {
        return with(copy -> copy.gidIndex = Checks.checkRange("GID index", index, BEST_GID, 0xff));
    }

    int tsoHeader() {
        return tsoHeader;
    }

    /**
     * Returns a copy that allows {@linkplain SendBatch#segmented segmented sends} with headers of a length
     * ({@code max_tso_header}).
     *
     * @param bytes the length of the longest header; 0 by default, without segmented sends
     * @return a changed copy
     */
    public QueuePairOptions tsoHeader(int bytes) {
        return with(copy -> copy.tsoHeader = Checks.checkRange("length of a header", bytes, 0xffff));
    }

    Set<OfferedOperation> operations() {
        return operations;
    }

    /**
     * Returns a copy for an extended queue pair, which offers these operations and no others ({@code send_ops_flags}).
     * Such a queue pair posts by {@code ibv_wr_start} and {@code ibv_wr_complete} and is used as any other. The newest
     * operations, such as {@link OfferedOperation#ATOMIC_WRITE}, need one.
     *
     * @param operations the operations; {@link OfferedOperation#usual} names those of all devices
     * @return a changed copy
     */
    public QueuePairOptions operations(Collection<OfferedOperation> operations) {
        return with(copy -> copy.operations = set(OfferedOperation.class, operations));
    }

    /**
     * Returns a copy for an extended queue pair with these operations: see {@link #operations(Collection)}.
     *
     * @param first an operation
     * @param more further operations
     * @return a changed copy
     */
    public QueuePairOptions operations(OfferedOperation first, OfferedOperation... more) {
        return operations(EnumSet.of(first, more));
    }

    Set<Flag> flags() {
        return flags;
    }

    /**
     * Returns a copy with these flags in addition ({@code create_flags}).
     *
     * @param first a flag
     * @param more further flags
     * @return a changed copy
     */
    public QueuePairOptions flags(Flag first, Flag... more) {
        EnumSet<Flag> all = EnumSet.of(first, more);
        all.addAll(flags);
        return with(copy -> copy.flags = set(Flag.class, all));
    }

    int sourceNumber() {
        return sourceNumber;
    }

    /**
     * Returns a copy whose datagrams carry another number than the queue pair's own ({@code source_qpn}). Adds
     * {@link Flag#SOURCE_QPN}.
     *
     * @param number the number of another queue pair
     * @return a changed copy
     */
    public QueuePairOptions sourceNumber(int number) {
        return flags(Flag.SOURCE_QPN)
                .with(copy -> copy.sourceNumber = Checks.checkRange("queue pair number", number, QueuePair.MULTICAST));
    }

    boolean locks() {
        return locks;
    }

    /**
     * Returns a copy with or without the driver's locks, where one thread alone can use the queue pair. By default, a queue
     * pair of a confined arena and of a confined protection domain has none, if the device has thread domains
     * ({@code ibv_alloc_td}). Ask for the locks if C code uses the queue pair in other threads.
     *
     * @param keep true to keep the locks
     * @return a changed copy
     */
    public QueuePairOptions locks(boolean keep) {
        return with(copy -> copy.locks = keep);
    }

    @Nullable
    SharedReceiveQueue sharedReceiveQueue() {
        return sharedReceiveQueue;
    }

    /**
     * Returns a copy that takes receives from a shared receive queue, instead of a queue of its own ({@code srq}).
     *
     * @param queue the shared receive queue
     * @return a changed copy
     */
    public QueuePairOptions sharedReceiveQueue(SharedReceiveQueue queue) {
        return with(copy -> {
            copy.capabilities = capabilities.receiveDepth(0).receiveSge(0);
            copy.sharedReceiveQueue = queue;
        });
    }

    @Nullable
    ReceiveHash receiveHash() {
        return receiveHash;
    }

    @Nullable
    XrcDomain xrcDomain() {
        return xrcDomain;
    }

    @Override
    protected List<Option> options() {
        return List.of(
                option("type", type, null),
                option("sends to", sendQueue, null),
                option("receives to", receiveQueue, null),
                option("capabilities", capabilities, DEFAULT),
                option("port", port, 1),
                option("GID index", gidIndex, BEST_GID),
                option("TSO header", tsoHeader, 0),
                option("operations", operations, Set.of()),
                option("flags", flags, Set.of()),
                option("source number", sourceNumber, 0),
                option("locks", locks, false),
                option("shared receive queue", sharedReceiveQueue, null),
                option("XRC domain", xrcDomain, null),
                option("receive hash", receiveHash, null));
    }

    /** A property of a queue pair ({@code enum ibv_qp_create_flags}). */
    public enum Flag {
        /** It does not receive the multicast messages it sends ({@code IBV_QP_CREATE_BLOCK_SELF_MCAST_LB}). */
        BLOCK_SELF_MULTICAST(rdma_h.IBV_QP_CREATE_BLOCK_SELF_MCAST_LB),
        /** Raw packets arrive with their frame check sequence ({@code IBV_QP_CREATE_SCATTER_FCS}). */
        SCATTER_FCS(rdma_h.IBV_QP_CREATE_SCATTER_FCS),
        /** Raw packets arrive without their VLAN tag ({@code IBV_QP_CREATE_CVLAN_STRIPPING}). */
        CVLAN_STRIPPING(rdma_h.IBV_QP_CREATE_CVLAN_STRIPPING),
        /**
         * Its datagrams carry another queue pair's number ({@code IBV_QP_CREATE_SOURCE_QPN}):
         * {@link QueuePairOptions#sourceNumber} sets it.
         */
        SOURCE_QPN(rdma_h.IBV_QP_CREATE_SOURCE_QPN),
        /** Writes to memory are padded to whole cache lines ({@code IBV_QP_CREATE_PCI_WRITE_END_PADDING}). */
        PCI_WRITE_END_PADDING(rdma_h.IBV_QP_CREATE_PCI_WRITE_END_PADDING);

        final int bit;

        Flag(int bit) {
            this.bit = bit;
        }
    }

    /**
     * An operation that an extended queue pair offers ({@code enum ibv_qp_create_send_ops_flags}): see {@link #operations}.
     */
    public enum OfferedOperation {
        /** An RDMA write ({@code IBV_QP_EX_WITH_RDMA_WRITE}). */
        RDMA_WRITE(Operation.RDMA_WRITE),
        /** An RDMA write with immediate data ({@code IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM}). */
        RDMA_WRITE_WITH_IMMEDIATE(Operation.RDMA_WRITE_WITH_IMMEDIATE),
        /** A send ({@code IBV_QP_EX_WITH_SEND}). */
        SEND(Operation.SEND),
        /** A send with immediate data ({@code IBV_QP_EX_WITH_SEND_WITH_IMM}). */
        SEND_WITH_IMMEDIATE(Operation.SEND_WITH_IMMEDIATE),
        /** An RDMA read ({@code IBV_QP_EX_WITH_RDMA_READ}). */
        RDMA_READ(Operation.RDMA_READ),
        /** A compare-and-swap ({@code IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP}). */
        COMPARE_AND_SWAP(Operation.COMPARE_AND_SWAP),
        /** A fetch-and-add ({@code IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD}). */
        FETCH_AND_ADD(Operation.FETCH_AND_ADD),
        /** The invalidation of a local key ({@code IBV_QP_EX_WITH_LOCAL_INV}). */
        LOCAL_INVALIDATE(Operation.LOCAL_INVALIDATE),
        /** The binding of a memory window ({@code IBV_QP_EX_WITH_BIND_MW}). */
        BIND_MW(Operation.BIND_MW),
        /** A send that invalidates a key of the receiver ({@code IBV_QP_EX_WITH_SEND_WITH_INV}). */
        SEND_WITH_INVALIDATE(Operation.SEND_WITH_INVALIDATE),
        /** A segmented TCP send ({@code IBV_QP_EX_WITH_TSO}). */
        TSO(Operation.TSO),
        /** A flush ({@code IBV_QP_EX_WITH_FLUSH}). */
        FLUSH(Operation.FLUSH),
        /** An atomic write ({@code IBV_QP_EX_WITH_ATOMIC_WRITE}). */
        ATOMIC_WRITE(Operation.ATOMIC_WRITE);

        private static final Set<OfferedOperation> DATAGRAMS =
                Collections.unmodifiableSet(EnumSet.of(SEND, SEND_WITH_IMMEDIATE));
        private static final Set<OfferedOperation> UNRELIABLE = Collections.unmodifiableSet(
                EnumSet.of(SEND, SEND_WITH_IMMEDIATE, RDMA_WRITE, RDMA_WRITE_WITH_IMMEDIATE));
        private static final Set<OfferedOperation> RELIABLE = Collections.unmodifiableSet(EnumSet.of(
                SEND,
                SEND_WITH_IMMEDIATE,
                RDMA_WRITE,
                RDMA_WRITE_WITH_IMMEDIATE,
                RDMA_READ,
                COMPARE_AND_SWAP,
                FETCH_AND_ADD));

        private final Operation operation;

        OfferedOperation(Operation operation) {
            this.operation = operation;
        }

        int bit() {
            return operation.flag();
        }

        /**
         * Returns the operation of a work request.
         *
         * @return the constant of the same name
         */
        public Operation operation() {
            return operation;
        }

        /**
         * Returns the operations that all devices have for a transport.
         *
         * @param type the transport
         * @return sends and, where the transport has them, writes, reads and atomics
         */
        public static Set<OfferedOperation> usual(QueuePairType type) {
            return switch (type) {
                case UD, RAW_PACKET -> DATAGRAMS;
                case UC -> UNRELIABLE;
                default -> RELIABLE;
            };
        }
    }
}
