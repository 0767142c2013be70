package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.access.ArenaLifetime;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.raw.ibv_qp_init_attr_ex;
import dev.verbena.internal.raw.ibv_rx_hash_conf;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.device.DeviceAttributes;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** How C is asked for a queue pair, and what must be right before. */
final class QueuePairCreation {
    private QueuePairCreation() {}

    static void checkThreads(@Nullable CompletionQueue queue, VerbsArena arena) {
        if (queue != null
                && queue.isSingleThreaded()
                && !ArenaLifetime.of(arena).isConfined()) {
            throw new IllegalArgumentException("What reports to the single-threaded " + queue
                    + " needs an arena for one thread, VerbsArena.ofConfined()");
        }
    }

    /** The pointer to {@code wr_flush} lies behind the end of older structs, where anything may be. */
    static void checkRelease(QueuePairOptions options) {
        if (options.operations().contains(SendOperation.FLUSH)) {
            Failures.require(RdmaCoreVersion.V49, "ibv_wr_flush", options.toString());
        }
    }

    static void checkExtended(Context context, QueuePairOptions options, long qp) {
        if (!options.operations().isEmpty() && Ibv.QP_TO_QP_EX.call(qp) == 0) {
            Ibv.DESTROY_QP.call(qp);
            throw new UnsupportedVerbException(
                    Ibv.QP_TO_QP_EX.name(),
                    context.name() + ", " + options,
                    0,
                    "This device's driver has no extended queue pairs");
        }
    }

    static VerbsObject[] parents(ProtectionDomain domain, QueuePairOptions options) {
        List<VerbsObject> parents = new ArrayList<>(List.of(domain));
        if (options.sendQueue() != null) {
            parents.add(options.sendQueue());
        }
        if (options.receiveQueue() != null) {
            parents.add(options.receiveQueue());
        }
        if (options.sharedReceiveQueue() != null) {
            parents.add(options.sharedReceiveQueue());
        }
        if (options.xrcDomain() != null) {
            parents.add(options.xrcDomain());
        }
        if (options.receiveHash() != null) {
            parents.add(options.receiveHash().table());
        }
        return parents.toArray(VerbsObject[]::new);
    }

    static long callCreate(ProtectionDomain domain, QueuePairOptions options, MemorySegment init) {
        Context context = domain.contextEvenIfClosed();
        int mask = initial(domain, options, init);
        String verb = Ibv.CREATE_QP.name();
        long qp;
        if (mask == rdma_h.IBV_QP_INIT_ATTR_PD()) {
            qp = Ibv.CREATE_QP.call(domain.address(), init.address());
        } else {
            verb = ContextVerb.CREATE_QP_EX.verb();
            MemorySegment create = ContextVerb.CREATE_QP_EX
                    .in(context.address())
                    .orElseThrow(
                            () -> failedToMake(ContextVerb.CREATE_QP_EX.verb(), context, options, Errno.EOPNOTSUPP));
            qp = CFunction.callAt(create, context.address(), init.address());
        }
        if (qp == 0) {
            throw failedToMake(verb, context, options, CFunction.errno());
        }
        return qp;
    }

    /** Fills the struct, and answers which of its later parts are meant. */
    static int initial(ProtectionDomain domain, QueuePairOptions options, MemorySegment init) {
        if (options.sendQueue() != null) {
            ibv_qp_init_attr_ex.send_cq(
                    init, MemorySegment.ofAddress(options.sendQueue().address()));
        }
        if (options.receiveQueue() != null) {
            ibv_qp_init_attr_ex.recv_cq(
                    init, MemorySegment.ofAddress(options.receiveQueue().address()));
        }
        options.capabilities().write(ibv_qp_init_attr_ex.cap(init));
        ibv_qp_init_attr_ex.qp_type(init, options.type().code());
        if (options.sharedReceiveQueue() != null) {
            ibv_qp_init_attr_ex.srq(
                    init, MemorySegment.ofAddress(options.sharedReceiveQueue().address()));
        }
        int mask = 0;
        if (options.xrcDomain() == null) {
            ibv_qp_init_attr_ex.pd(init, MemorySegment.ofAddress(domain.address()));
            mask |= rdma_h.IBV_QP_INIT_ATTR_PD();
        } else {
            ibv_qp_init_attr_ex.xrcd(
                    init, MemorySegment.ofAddress(options.xrcDomain().address()));
            mask |= rdma_h.IBV_QP_INIT_ATTR_XRCD();
        }
        if (options.tsoHeader() > 0) {
            ibv_qp_init_attr_ex.max_tso_header(init, (short) options.tsoHeader());
            mask |= rdma_h.IBV_QP_INIT_ATTR_MAX_TSO_HEADER();
        }
        ReceiveHash hash = options.receiveHash();
        if (hash != null) {
            fill(hash, init);
            mask |= rdma_h.IBV_QP_INIT_ATTR_IND_TABLE() | rdma_h.IBV_QP_INIT_ATTR_RX_HASH();
        }
        if (!options.flags().isEmpty()) {
            ibv_qp_init_attr_ex.create_flags(init, NativeFlag.bits(options.flags()));
            ibv_qp_init_attr_ex.source_qpn(init, options.sourceNumber());
            mask |= rdma_h.IBV_QP_INIT_ATTR_CREATE_FLAGS();
        }
        if (!options.operations().isEmpty()) {
            ibv_qp_init_attr_ex.send_ops_flags(init, NativeFlag.bits(options.operations()));
            mask |= rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS();
        }
        ibv_qp_init_attr_ex.comp_mask(init, mask);
        return mask;
    }

    private static void fill(ReceiveHash hash, MemorySegment init) {
        ibv_qp_init_attr_ex.rwq_ind_tbl(
                init, MemorySegment.ofAddress(hash.table().address()));
        MemorySegment how = ibv_qp_init_attr_ex.rx_hash_conf(init);
        ibv_rx_hash_conf.rx_hash_function(how, (byte) rdma_h.IBV_RX_HASH_FUNC_TOEPLITZ());
        ibv_rx_hash_conf.rx_hash_key_len(how, (byte) hash.key().byteSize());
        ibv_rx_hash_conf.rx_hash_key(how, hash.key());
        ibv_rx_hash_conf.rx_hash_fields_mask(how, Integer.toUnsignedLong(NativeFlag.bits(hash.fields())));
    }

    static long callOpen(Context context, MemorySegment attributes, int number) {
        String verb = ContextVerb.OPEN_QP.verb();
        String arguments = context.name() + ", queue pair " + number;
        String hint = "This device or its driver has no queue pairs to share";
        MemorySegment open = ContextVerb.OPEN_QP
                .in(context.address())
                .orElseThrow(() -> VerbFailures.failure(verb, Errno.EOPNOTSUPP, arguments, hint));
        long qp = CFunction.callAt(open, context.address(), attributes.address());
        if (qp == 0) {
            int errno = CFunction.errno();
            throw VerbFailures.failure(verb, errno, arguments, errno == Errno.EOPNOTSUPP ? hint : "");
        }
        return qp;
    }

    private static VerbsException failedToMake(String verb, Context context, QueuePairOptions options, int errno) {
        String hint = switch (errno) {
            case Errno.EINVAL -> {
                DeviceAttributes device = context.attributes();
                yield "This device has at most " + device.maxWorkRequests() + " work requests a queue, "
                        + device.maxSge() + " pieces of memory a request";
            }
            case Errno.EPERM -> "Whole frames need CAP_NET_RAW";
            case Errno.EOPNOTSUPP -> "This device or its driver has no queue pair of this kind";
            default -> VerbFailures.crowded(context);
        };
        return VerbFailures.failure(verb, errno, context.name() + ", " + options, hint);
    }

    static int allowed(QueuePairOptions options) {
        Set<Operation> operations = switch (options.type()) {
            case UC ->
                EnumSet.of(
                        Operation.SEND,
                        Operation.SEND_WITH_IMMEDIATE,
                        Operation.SEND_WITH_INVALIDATE,
                        Operation.RDMA_WRITE,
                        Operation.RDMA_WRITE_WITH_IMMEDIATE,
                        Operation.BIND_MW,
                        Operation.LOCAL_INVALIDATE);
            case UD, RAW_PACKET -> EnumSet.of(Operation.SEND, Operation.SEND_WITH_IMMEDIATE);
            case XRC_RECV -> EnumSet.noneOf(Operation.class);
            default ->
                EnumSet.of(
                        Operation.SEND,
                        Operation.SEND_WITH_IMMEDIATE,
                        Operation.SEND_WITH_INVALIDATE,
                        Operation.RDMA_WRITE,
                        Operation.RDMA_WRITE_WITH_IMMEDIATE,
                        Operation.RDMA_READ,
                        Operation.COMPARE_AND_SWAP,
                        Operation.FETCH_AND_ADD,
                        Operation.BIND_MW,
                        Operation.LOCAL_INVALIDATE);
        };
        if (!options.operations().isEmpty()) {
            operations = asked(options.operations());
        }
        if (options.tsoHeader() > 0) {
            operations.add(Operation.TSO);
        }
        int bits = 0;
        for (Operation operation : operations) {
            bits |= 1 << operation.code();
        }
        return bits;
    }

    /** A request begins without what immediate data or a key makes of it later; {@link ExtendedSends} has the last word. */
    private static Set<Operation> asked(Set<SendOperation> asked) {
        EnumSet<Operation> operations = EnumSet.noneOf(Operation.class);
        for (SendOperation one : asked) {
            operations.add(one.operation());
        }
        if (operations.contains(Operation.SEND_WITH_IMMEDIATE) || operations.contains(Operation.SEND_WITH_INVALIDATE)) {
            operations.add(Operation.SEND);
        }
        if (operations.contains(Operation.RDMA_WRITE_WITH_IMMEDIATE)) {
            operations.add(Operation.RDMA_WRITE);
        }
        return operations;
    }
}
