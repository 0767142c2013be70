package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.CAPABILITIES;
import static dev.verbena.verbs.QueuePairOptions.FLAGS;
import static dev.verbena.verbs.QueuePairOptions.LOCKS;
import static dev.verbena.verbs.QueuePairOptions.OPERATIONS;
import static dev.verbena.verbs.QueuePairOptions.PORT;
import static dev.verbena.verbs.QueuePairOptions.RECEIVE_HASH;
import static dev.verbena.verbs.QueuePairOptions.RECEIVE_QUEUE;
import static dev.verbena.verbs.QueuePairOptions.SEND_QUEUE;
import static dev.verbena.verbs.QueuePairOptions.SHARED_RECEIVE_QUEUE;
import static dev.verbena.verbs.QueuePairOptions.SOURCE_NUMBER;
import static dev.verbena.verbs.QueuePairOptions.TSO_HEADER;
import static dev.verbena.verbs.QueuePairOptions.TYPE;
import static dev.verbena.verbs.QueuePairOptions.XRC_DOMAIN;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.Checks;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_qp_init_attr_ex;
import dev.verbena.internal.raw.ibv_qp_open_attr;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.access.VerbsAccess.QueueMaker;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Makes queue pairs: checks the options, fills the structs, calls C, and wraps the results. */
final class QueuePairCreation {
    /** The user of queues, in words: see {@link ContextObject#checkIn}. */
    static final String DOMAIN = "the protection domain";

    private final ProtectionDomain domain;
    private final Context context;
    private final QueuePairOptions options;
    private final @Nullable QueueMaker maker;
    private final @Nullable LongConsumer destroyer;

    /** Returns the hint for an error number of C. */
    private final IntFunction<String> hints;

    /** Keeps what the maker needs: the JDK has not archived the form of a lambda expression with so many variables. */
    private QueuePairCreation(
            ProtectionDomain domain,
            QueuePairOptions options,
            @Nullable QueueMaker maker,
            @Nullable LongConsumer destroyer) {
        this.domain = domain;
        this.context = domain.context;
        this.options = options;
        this.maker = maker;
        this.destroyer = destroyer;
        this.hints = this::hint;
    }

    /** Makes a queue pair of a protection domain. */
    static QueuePair create(ProtectionDomain domain, QueuePairOptions options, VerbsArena arena) {
        checkThreads(SEND_QUEUE.of(options), arena);
        checkThreads(RECEIVE_QUEUE.of(options), arena);
        checkRelease(options);
        return new QueuePairCreation(domain, options, null, null).create(arena, List.of());
    }

    /**
     * Wraps a queue pair that another library makes and destroys.
     *
     * @param maker gets the {@code struct ibv_qp_init_attr} and returns the {@code struct ibv_qp}, or throws
     * @param destroyer gets the {@code struct ibv_qp}
     * @param owner the object that the queue pair is made on
     */
    static QueuePair adopt(
            ProtectionDomain domain,
            QueuePairOptions options,
            VerbsArena arena,
            QueueMaker maker,
            LongConsumer destroyer,
            VerbsObject owner) {
        return new QueuePairCreation(domain, options, maker, destroyer).create(arena, List.of(owner));
    }

    private QueuePair create(VerbsArena arena, List<VerbsObject> owners) {
        ReceiveHash hash = RECEIVE_HASH.of(options);
        List<ContextObject> used = ContextObject.present(
                SEND_QUEUE.of(options),
                RECEIVE_QUEUE.of(options),
                SHARED_RECEIVE_QUEUE.of(options),
                XRC_DOMAIN.of(options),
                hash == null ? null : hash.table());
        List<VerbsObject> parents = new ArrayList<>(List.of(domain));
        parents.addAll(used);
        parents.addAll(owners);
        return ObjectLifetime.create(arena, parents, (lifetime, scratch) -> {
            ContextObject.checkIn(context, DOMAIN, used);
            long longest = context.queries().longestMessage(TYPE.of(options), PORT.of(options));
            MemorySegment init = ibv_qp_init_attr_ex.allocate(scratch);
            long pd = domain.address();
            if (maker == null && !LOCKS.of(options)) {
                pd = domain.addressForQueues(lifetime.isConfined());
            }
            long mask = fill(init, pd);
            long qp = maker == null ? callCreate(init.address(), mask, pd) : maker.make(init.address(), hints);
            QueueCapabilities granted = withoutIgnored(QueueCapabilities.read(ibv_qp_init_attr_ex.cap(init)));
            QueuePair made = new QueuePair(lifetime, domain, options, granted, context, longest, qp, destroyer);
            made.states.known(QueuePairState.RESET);
            return made;
        });
    }

    /** Returns sizes without inline data if the driver would ignore the flag and read memory that is not registered. */
    private QueueCapabilities withoutIgnored(QueueCapabilities sizes) {
        return context.provider().ignoresInline() ? sizes.inlineSize(0) : sizes;
    }

    /** Opens the receiving half of an extended reliable connection that another process made. */
    static QueuePair open(XrcDomain xrcDomain, int number, VerbsArena arena) {
        Checks.checkRange("queue pair number", number, QueuePair.MULTICAST);
        Context context = xrcDomain.context;
        return ObjectLifetime.create(arena, List.of(xrcDomain), (lifetime, scratch) -> {
            QueuePairOptions options = QueuePairOptions.xrcReceive(xrcDomain);
            long longest = context.queries().longestMessage(TYPE.of(options), 1);
            MemorySegment attributes = ibv_qp_open_attr.allocate(scratch);
            ibv_qp_open_attr.comp_mask(
                    attributes,
                    rdma_h.IBV_QP_OPEN_ATTR_NUM | rdma_h.IBV_QP_OPEN_ATTR_XRCD | rdma_h.IBV_QP_OPEN_ATTR_TYPE);
            ibv_qp_open_attr.qp_num(attributes, number);
            ibv_qp_open_attr.xrcd(attributes, MemorySegment.ofAddress(xrcDomain.address()));
            ibv_qp_open_attr.qp_type(attributes, QueuePairType.XRC_RECV.code());
            long qp = callOpen(context, attributes, number);
            QueuePair opened =
                    new QueuePair(lifetime, null, options, CAPABILITIES.of(options), context, longest, qp, null);
            opened.states.unknown();
            return opened;
        });
    }

    /** Checks that a completion queue for one thread is used by one thread. */
    static void checkThreads(@Nullable CompletionQueue queue, VerbsArena arena) {
        if (queue != null
                && queue.isSingleThreaded()
                && !ArenaLifetime.of(arena).isConfined()) {
            throw new IllegalArgumentException("A queue that completes in the single-threaded " + queue
                    + " needs an arena for one thread, VerbsArena.ofConfined()");
        }
    }

    /** Checks that the struct of the installed rdma-core has the pointer to {@code wr_flush}. */
    private static void checkRelease(QueuePairOptions options) {
        if (OPERATIONS.of(options).contains(QueuePairOptions.OfferedOperation.FLUSH)) {
            Failures.require(RdmaCoreVersion.V49, Operation.FLUSH.builder(), options.toString());
        }
    }

    private long callCreate(long init, long mask, long pd) {
        boolean plain = mask == rdma_h.IBV_QP_INIT_ATTR_PD;
        return Calls.pointer(
                plain ? Ibv.CREATE_QP : context.function(ContextVerb.CREATE_QP_EX),
                Calls.words(context.name(), options),
                hints,
                plain ? pd : context.address(),
                init);
    }

    /** Fills the struct, and returns the mask of its optional fields that are set. */
    private int fill(MemorySegment init, long pd) {
        withoutIgnored(CAPABILITIES.of(options)).write(ibv_qp_init_attr_ex.cap(init));
        ibv_qp_init_attr_ex.qp_type(init, TYPE.of(options).code());
        InitAttributes attributes = new InitAttributes(init)
                .pointer(ibv_qp_init_attr_ex.send_cq$offset(), SEND_QUEUE.of(options))
                .pointer(ibv_qp_init_attr_ex.recv_cq$offset(), RECEIVE_QUEUE.of(options))
                .pointer(ibv_qp_init_attr_ex.srq$offset(), SHARED_RECEIVE_QUEUE.of(options))
                .optional(rdma_h.IBV_QP_INIT_ATTR_XRCD, ibv_qp_init_attr_ex.xrcd$offset(), XRC_DOMAIN.of(options));
        if (XRC_DOMAIN.of(options) == null) {
            attributes.pointer(ibv_qp_init_attr_ex.pd$offset(), pd).has(rdma_h.IBV_QP_INIT_ATTR_PD);
        }
        if (TSO_HEADER.of(options) > 0) {
            ibv_qp_init_attr_ex.max_tso_header(init, TSO_HEADER.of(options).shortValue());
            attributes.has(rdma_h.IBV_QP_INIT_ATTR_MAX_TSO_HEADER);
        }
        ReceiveHash hash = RECEIVE_HASH.of(options);
        if (hash != null) {
            hash.write(ibv_qp_init_attr_ex.rx_hash_conf(init));
            attributes
                    .pointer(ibv_qp_init_attr_ex.rwq_ind_tbl$offset(), hash.table())
                    .has(rdma_h.IBV_QP_INIT_ATTR_IND_TABLE | rdma_h.IBV_QP_INIT_ATTR_RX_HASH);
        }
        if (!FLAGS.of(options).isEmpty()) { // most programs start without the lambda expression
            ibv_qp_init_attr_ex.create_flags(init, EnumCodec.bits(FLAGS.of(options), flag -> flag.bit));
            ibv_qp_init_attr_ex.source_qpn(init, SOURCE_NUMBER.of(options));
            attributes.has(rdma_h.IBV_QP_INIT_ATTR_CREATE_FLAGS);
        }
        if (!OPERATIONS.of(options).isEmpty()) {
            ibv_qp_init_attr_ex.send_ops_flags(
                    init, EnumCodec.bits(OPERATIONS.of(options), QueuePairOptions.OfferedOperation::bit));
            attributes.has(rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
        }
        ibv_qp_init_attr_ex.comp_mask(init, attributes.mask());
        return attributes.mask();
    }

    private static long callOpen(Context context, MemorySegment attributes, int number) {
        return Calls.pointer(
                context.function(ContextVerb.OPEN_QP),
                context.name() + ", queue pair " + number,
                errno -> errno == Errno.EOPNOTSUPP ? "This device or its driver has no queue pairs to share" : "",
                context.address(),
                attributes.address());
    }

    /** Returns the hint for a queue pair that C did not make, also if another library called C. */
    private String hint(int errno) {
        return switch (errno) {
            case Errno.EINVAL -> {
                DeviceAttributes device = context.queries().attributes();
                String inline = CAPABILITIES.of(options).inlineSize() > 0
                        ? context.limits().reason(DriverLimits.Part.INLINE)
                        : "";
                yield "This device has at most " + device.maxWorkRequests() + " work requests a queue, "
                        + device.maxSge() + " pieces of memory a request"
                        + (inline.isEmpty() ? "" : "; " + inline);
            }
            case Errno.EPERM -> "Queue pairs for Ethernet frames need CAP_NET_RAW";
            case Errno.EOPNOTSUPP ->
                context.limits()
                        .hint(
                                OPERATIONS.of(options).isEmpty()
                                        ? DriverLimits.Part.QUEUE_PAIRS
                                        : DriverLimits.Part.EXTENDED_SENDS,
                                errno,
                                "This device or its driver has no queue pair of this kind");
            default -> context.queries().crowded(context.provider().software());
        };
    }
}
