package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionCounter;
import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.DeviceMemory;
import dev.verbena.verbs.DmaHandle;
import dev.verbena.verbs.DmaHints;
import dev.verbena.verbs.DriverBuffer;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ParentDomainOptions;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions.OfferedOperation;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.ThreadDomain;
import dev.verbena.verbs.WorkQueue;
import dev.verbena.verbs.WorkQueueOptions;
import dev.verbena.verbs.XrcDomain;
import dev.verbena.verbs.flow.FlowMatch;
import dev.verbena.verbs.flow.FlowRule;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A maker of each kind of verbs object, for tests on the {@linkplain Fenced provider for tests}. The parents of an object are
 * made when its maker first needs them, so they have no other dependents.
 */
public final class Makers implements AutoCloseable {
    private static final MemorySegment MEMORY = Arena.global().allocate(4096, 4096);
    private static final List<AccessFlag> WRITES = List.of(AccessFlag.LOCAL_WRITE);

    private final VerbsArena arena = VerbsArena.ofShared();
    private final Map<Class<?>, VerbsObject> parents = new HashMap<>();

    /**
     * A maker.
     *
     * @param name the kind of object
     * @param function the function of C that makes it
     * @param parent the parent, made on first use; null if there is none
     * @param maker makes an object in an arena
     */
    public record Maker(
            String name,
            String function,
            @Nullable Function<Makers, VerbsObject> parent,
            BiFunction<Makers, VerbsArena, VerbsObject> maker) {
        /** Makes an object in an arena. */
        public VerbsObject make(Makers parents, VerbsArena arena) {
            return maker.apply(parents, arena);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /** Returns all makers. */
    public static List<Maker> all() {
        return List.of(
                new Maker(
                        "context",
                        "ibv_open_device",
                        null,
                        (it, in) -> TestDevice.get().open(in)),
                new Maker(
                        "imported context",
                        "ibv_import_device",
                        null,
                        (it, in) -> Context.importDevice(it.context().commandDescriptor(), in)),
                of("protection domain", "ibv_alloc_pd", Makers::context, Context::allocateProtectionDomain),
                new Maker(
                        "imported protection domain",
                        "ibv_import_pd",
                        Makers::context,
                        (it, in) -> it.context()
                                .importProtectionDomain(it.elsewhere().handle(), in)),
                new Maker(
                        "parent domain",
                        "ibv_alloc_parent_domain",
                        Makers::threads,
                        (it, in) -> it.domain()
                                .allocateParentDomain(
                                        ParentDomainOptions.defaults().threadDomain(it.threads()), in)),
                of("thread domain", "ibv_alloc_td", Makers::context, Context::allocateThreadDomain),
                of("completion channel", "ibv_create_comp_channel", Makers::context, Context::createCompletionChannel),
                of(
                        "completion queue",
                        "ibv_create_cq",
                        Makers::context,
                        (context, in) -> context.createCompletionQueue(4, in)),
                of(
                        "completion queue with a channel",
                        "ibv_create_cq",
                        Makers::channel,
                        (channel, in) -> channel.context()
                                .createCompletionQueue(
                                        CompletionQueueOptions.of(4).channel(channel), in)),
                of(
                        "extended completion queue",
                        "ibv_create_cq_ex",
                        Makers::context,
                        (context, in) -> context.createCompletionQueue(
                                CompletionQueueOptions.of(4).fields(CompletionField.standard()), in)),
                new Maker(
                        "queue pair",
                        "ibv_create_qp",
                        Makers::domain,
                        (it, in) -> it.domain().createQueuePair(QueuePair.rc(it.queue()), in)),
                new Maker(
                        "queue pair for datagrams",
                        "ibv_create_qp",
                        Makers::queue,
                        (it, in) -> it.domain().createQueuePair(QueuePair.ud(it.queue()), in)),
                new Maker(
                        "extended queue pair",
                        "ibv_create_qp_ex",
                        Makers::domain,
                        (it, in) -> it.domain()
                                .createQueuePair(QueuePair.rc(it.queue()).operations(OfferedOperation.RDMA_WRITE), in)),
                of(
                        "shared receive queue",
                        "ibv_create_srq",
                        Makers::domain,
                        (domain, in) -> domain.createSharedReceiveQueue(SharedReceiveQueue.basic(), in)),
                new Maker(
                        "shared receive queue of an XRC domain",
                        "ibv_create_srq_ex",
                        Makers::xrc,
                        (it, in) ->
                                it.domain().createSharedReceiveQueue(SharedReceiveQueue.xrc(it.xrc(), it.queue()), in)),
                of(
                        "memory region",
                        "ibv_reg_mr_iova2",
                        Makers::domain,
                        (domain, in) -> domain.register(MEMORY, WRITES, in)),
                of("null region", "ibv_alloc_null_mr", Makers::domain, ProtectionDomain::allocateNullRegion),
                new Maker(
                        "region of device memory",
                        "ibv_reg_dm_mr",
                        Makers::deviceMemory,
                        (it, in) -> it.elsewhere()
                                .register(
                                        RegionOptions.of(it.deviceMemory(), 0, 64)
                                                .access(WRITES),
                                        in)),
                new Maker(
                        "imported region",
                        "ibv_import_mr",
                        Makers::domain,
                        (it, in) -> it.domain().importRegion(it.region().handle(), 0, in)),
                of(
                        "address space",
                        "ibv_reg_mr_iova2",
                        Makers::domain,
                        (domain, in) -> domain.registerAddressSpace(WRITES, in)),
                of(
                        "memory window",
                        "ibv_alloc_mw",
                        Makers::domain,
                        (domain, in) -> domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2, in)),
                new Maker(
                        "address handle",
                        "ibv_create_ah",
                        Makers::domain,
                        (it, in) -> it.domain()
                                .createAddressHandle(it.raw().pathTo(it.raw().endpoint()), in)),
                of(
                        "device memory",
                        "ibv_alloc_dm",
                        Makers::context,
                        (context, in) -> context.allocateDeviceMemory(64, 8, in)),
                new Maker(
                        "imported device memory",
                        "ibv_import_dm",
                        Makers::context,
                        (it, in) -> it.context()
                                .importDeviceMemory(it.deviceMemory().handle(), 64, in)),
                of(
                        "XRC domain",
                        "ibv_open_xrcd",
                        Makers::context,
                        (context, in) -> context.openXrcDomain(Path.of("/"), in)),
                new Maker(
                        "work queue",
                        "ibv_create_wq",
                        Makers::queue,
                        (it, in) -> it.domain().createWorkQueue(WorkQueueOptions.of(it.queue(), 4), in)),
                new Maker(
                        "indirection table",
                        "ibv_create_rwq_ind_table",
                        Makers::workQueue,
                        (it, in) -> it.context().createIndirectionTable(List.of(it.workQueue()), in)),
                of(
                        "flow",
                        "ibv_create_flow",
                        Makers::raw,
                        (raw, in) -> raw.createFlow(FlowRule.of(FlowMatch.ethernet()), in)),
                of("counters", "ibv_create_counters", Makers::context, Context::createCounters),
                of(
                        "completion counter",
                        "ibv_create_comp_cntr",
                        Makers::context,
                        (context, in) -> context.createCompletionCounter(CompletionCounter.Unit.WORK_REQUESTS, in)),
                of(
                        "DMA handle",
                        "ibv_alloc_dmah",
                        Makers::context,
                        (context, in) -> context.allocateDmaHandle(DmaHints.none(), in)),
                of("driver's buffer", "ibv_alloc_buf", Makers::domain, (domain, in) -> domain.allocateBuffer(64, in)),
                new Maker(
                        "region of a driver's buffer",
                        "ibv_reg_buf_mr",
                        Makers::buffer,
                        (it, in) -> it.domain()
                                .register(RegionOptions.of(it.buffer(), 0, 64).access(WRITES), in)),
                new Maker(
                        "region with hints",
                        "ibv_reg_mr_ex",
                        Makers::hints,
                        (it, in) -> it.elsewhere()
                                .register(
                                        RegionOptions.of(MEMORY).access(WRITES).hints(it.hints()), in)));
    }

    /** Returns a maker that needs nothing but the parent. */
    private static <P extends VerbsObject> Maker of(
            String name, String function, Function<Makers, P> parent, BiFunction<P, VerbsArena, VerbsObject> maker) {
        return new Maker(name, function, parent::apply, (it, in) -> maker.apply(parent.apply(it), in));
    }

    private <T extends VerbsObject> T the(Class<T> type, Function<VerbsArena, T> maker) {
        VerbsObject known = parents.get(type);
        if (known == null) {
            known = maker.apply(arena);
            parents.put(type, known);
        }
        return type.cast(known);
    }

    private Context context() {
        return the(Context.class, in -> TestDevice.get().open(in));
    }

    private ProtectionDomain domain() {
        return the(ProtectionDomain.class, context()::allocateProtectionDomain);
    }

    private ThreadDomain threads() {
        return the(ThreadDomain.class, context()::allocateThreadDomain);
    }

    private CompletionChannel channel() {
        return the(CompletionChannel.class, context()::createCompletionChannel);
    }

    private CompletionQueue queue() {
        return the(CompletionQueue.class, in -> context().createCompletionQueue(4, in));
    }

    private DeviceMemory deviceMemory() {
        return the(DeviceMemory.class, in -> elsewhere().context().allocateDeviceMemory(64, 8, in));
    }

    private DriverBuffer buffer() {
        return the(DriverBuffer.class, in -> domain().allocateBuffer(64, in));
    }

    private DmaHandle hints() {
        return the(DmaHandle.class, in -> elsewhere().context().allocateDmaHandle(DmaHints.none(), in));
    }

    private XrcDomain xrc() {
        return the(XrcDomain.class, context()::openXrcDomain);
    }

    private WorkQueue workQueue() {
        return the(WorkQueue.class, in -> domain().createWorkQueue(WorkQueueOptions.of(queue(), 4), in));
    }

    private QueuePair raw() {
        return the(
                QueuePair.class,
                in -> elsewhere()
                        .createQueuePair(QueuePair.ud(elsewhere().context().createCompletionQueue(4, in)), in));
    }

    /** Returns a domain of another context, which is no parent of the objects. */
    private ProtectionDomain elsewhere() {
        return region().domain();
    }

    private MemoryRegion region() {
        return the(
                MemoryRegion.class,
                in -> TestDevice.get().open(in).allocateProtectionDomain(in).register(MEMORY, WRITES, in));
    }

    @Override
    public void close() {
        arena.close();
    }
}
