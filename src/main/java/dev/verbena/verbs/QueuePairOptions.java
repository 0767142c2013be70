package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.device.QueuePairType;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
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

    private static final Keys<QueuePairOptions> KEYS = new Keys<>();
    static final Key<QueuePairOptions, QueuePairType> TYPE = KEYS.always("type", QueuePairType.RC);
    static final Key<QueuePairOptions, @Nullable CompletionQueue> SEND_QUEUE = KEYS.key("sends to", null);
    static final Key<QueuePairOptions, @Nullable CompletionQueue> RECEIVE_QUEUE = KEYS.key("receives to", null);
    static final Key<QueuePairOptions, QueueCapabilities> CAPABILITIES =
            KEYS.key("capabilities", QueueCapabilities.of(64, 64));
    static final Key<QueuePairOptions, Integer> PORT = KEYS.key("port", 1);
    static final Key<QueuePairOptions, Integer> GID_INDEX = KEYS.key("GID index", BEST_GID);
    static final Key<QueuePairOptions, Integer> TSO_HEADER = KEYS.key("TSO header", 0);
    static final Key<QueuePairOptions, Set<OfferedOperation>> OPERATIONS = KEYS.key("operations", Set.of());
    static final Key<QueuePairOptions, Set<Flag>> FLAGS = KEYS.key("flags", Set.of());
    static final Key<QueuePairOptions, Integer> SOURCE_NUMBER = KEYS.key("source number", 0);
    static final Key<QueuePairOptions, Boolean> LOCKS = KEYS.key("locks", false);
    static final Key<QueuePairOptions, @Nullable SharedReceiveQueue> SHARED_RECEIVE_QUEUE =
            KEYS.key("shared receive queue", null);
    static final Key<QueuePairOptions, @Nullable XrcDomain> XRC_DOMAIN = KEYS.key("XRC domain", null);
    static final Key<QueuePairOptions, @Nullable ReceiveHash> RECEIVE_HASH = KEYS.key("receive hash", null);

    private QueuePairOptions() {
        super(KEYS);
    }

    static QueuePairOptions of(
            QueuePairType type, @Nullable CompletionQueue sends, @Nullable CompletionQueue receives) {
        return new QueuePairOptions().with(TYPE, type).with(SEND_QUEUE, sends).with(RECEIVE_QUEUE, receives);
    }

    static QueuePairOptions xrcReceive(XrcDomain domain) {
        return withoutQueues(QueuePairType.XRC_RECV).with(XRC_DOMAIN, domain);
    }

    static QueuePairOptions hashed(ReceiveHash hash) {
        return withoutQueues(QueuePairType.RAW_PACKET).with(RECEIVE_HASH, hash);
    }

    private static QueuePairOptions withoutQueues(QueuePairType type) {
        return of(type, null, null).with(CAPABILITIES, QueueCapabilities.none());
    }

    /** Returns a completion queue of a queue pair, or throws if there is none. */
    static CompletionQueue require(@Nullable CompletionQueue queue, QueuePair of, String what) {
        if (queue == null) {
            throw new IllegalStateException(of + " has no " + what);
        }
        return queue;
    }

    /**
     * Returns a copy with other sizes of the queues ({@code cap}).
     *
     * @param sizes the sizes that the queue pair must have at least
     * @return a changed copy
     */
    public QueuePairOptions capabilities(QueueCapabilities sizes) {
        return with(CAPABILITIES, Objects.requireNonNull(sizes, "capabilities"));
    }

    /**
     * Returns a copy with another number of work requests that the send queue must hold at least ({@code max_send_wr}).
     *
     * @param depth the depth; 64 by default
     * @return a changed copy
     */
    public QueuePairOptions sendDepth(int depth) {
        return capabilities(CAPABILITIES.of(this).sendDepth(depth));
    }

    /**
     * Returns a copy with another number of work requests that the receive queue must hold at least
     * ({@code max_recv_wr}).
     *
     * @param depth the depth; 64 by default
     * @return a changed copy
     */
    public QueuePairOptions receiveDepth(int depth) {
        return capabilities(CAPABILITIES.of(this).receiveDepth(depth));
    }

    /**
     * Returns a copy with another number of pieces of memory that a send must be able to name ({@code max_send_sge}).
     *
     * @param pieces the number of pieces; 1 by default
     * @return a changed copy
     */
    public QueuePairOptions sendSge(int pieces) {
        return capabilities(CAPABILITIES.of(this).sendSge(pieces));
    }

    /**
     * Returns a copy with another number of pieces of memory that a receive must be able to name
     * ({@code max_recv_sge}).
     *
     * @param pieces the number of pieces; 1 by default
     * @return a changed copy
     */
    public QueuePairOptions receiveSge(int pieces) {
        return capabilities(CAPABILITIES.of(this).receiveSge(pieces));
    }

    /**
     * Returns a copy with another number of bytes that a send must be able to carry inline ({@code max_inline_data}).
     *
     * @param bytes the number of bytes; 0 by default
     * @return a changed copy
     */
    public QueuePairOptions inlineSize(int bytes) {
        return capabilities(CAPABILITIES.of(this).inlineSize(bytes));
    }

    /**
     * Returns a copy for another port of the device.
     *
     * @param number the port, from 1; 1 by default
     * @return a changed copy
     */
    public QueuePairOptions port(int number) {
        return with(PORT, Checks.checkRange("port", number, 1, 0xff));
    }

    /**
     * Returns a copy with another index of the GID by which peers reach the queue pair.
     *
     * @param index the index in the port's table; {@link #BEST_GID} by default
     * @return a changed copy
     */
    public QueuePairOptions gidIndex(int index) {
        return with(GID_INDEX, Checks.checkRange("GID index", index, BEST_GID, 0xff));
    }

    /**
     * Returns a copy that allows {@linkplain SendBatch#segmented segmented sends} with headers of a length
     * ({@code max_tso_header}).
     *
     * @param bytes the length of the longest header; 0 by default, without segmented sends
     * @return a changed copy
     */
    public QueuePairOptions tsoHeader(int bytes) {
        return with(TSO_HEADER, Checks.checkRange("length of a header", bytes, 0xffff));
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
        return with(OPERATIONS, EnumCodec.copy(OfferedOperation.class, operations));
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

    /**
     * Returns a copy with these flags in addition ({@code create_flags}).
     *
     * @param first a flag
     * @param more further flags
     * @return a changed copy
     */
    public QueuePairOptions flags(Flag first, Flag... more) {
        EnumSet<Flag> all = EnumSet.of(first, more);
        all.addAll(FLAGS.of(this));
        return with(FLAGS, EnumCodec.copy(Flag.class, all));
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
                .with(SOURCE_NUMBER, Checks.checkRange("queue pair number", number, QueuePair.MULTICAST));
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
        return with(LOCKS, keep);
    }

    /**
     * Returns a copy that takes receives from a shared receive queue, instead of a queue of its own ({@code srq}).
     *
     * @param queue the shared receive queue
     * @return a changed copy
     */
    public QueuePairOptions sharedReceiveQueue(SharedReceiveQueue queue) {
        return receiveDepth(0).receiveSge(0).with(SHARED_RECEIVE_QUEUE, queue);
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
