package dev.verbena.verbs;

import static dev.verbena.verbs.ParentDomainOptions.ALLOW_UNPROTECTED_BUFFERS;
import static dev.verbena.verbs.ParentDomainOptions.THREAD_DOMAIN;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_parent_domain_init_attr;
import dev.verbena.internal.raw.ibv_pd;
import dev.verbena.internal.raw.ibv_sge;
import dev.verbena.internal.raw.ibv_td_init_attr;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Grh;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A protection domain ({@code struct ibv_pd}): memory and queue pairs of one domain can work with each other. A domain
 * registers memory, and makes queue pairs, shared receive queues, memory windows and address handles.
 *
 * <p>A <i>parent domain</i> is a protection domain that was made from another one, often with a {@link ThreadDomain}.
 * It can be used wherever a protection domain can, and works with the memory and queue pairs of the domain it was made
 * from. C's own allocators ({@code IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS}) are not offered: the driver would call Java
 * while it makes and destroys objects, and an exception there would end the virtual machine.
 *
 * <p>All threads can use a protection domain of a shared arena; only the arena's thread can use one of a confined
 * arena. The arena closes the domain.
 *
 * {@snippet file="ObjectSnippets.java" region="domain"}
 */
public final class ProtectionDomain extends ContextObject {
    private final Origin origin;
    /** The domain that this parent domain was made from; null for a plain domain. */
    private final @Nullable ProtectionDomain base;

    private final @Nullable ThreadDomain threadDomain;

    /**
     * A thread domain, and a parent domain of it and this domain, for the queue pairs of one thread; 0 if they are not made.
     * They are part of this object: nobody sees them.
     */
    private long ownThreadDomain;

    private long ownParent;

    /** The origin of the C object, which decides how to destroy it. */
    private enum Origin {
        ALLOCATED,
        IMPORTED,
        LENT
    }

    /** The bytes of memory that are pinned by regions of this domain. */
    final AtomicLong pinned = new AtomicLong();

    private ProtectionDomain(ObjectLifetime lifetime, Context context, long address, Origin origin) {
        this(lifetime, context, address, origin, null, null);
    }

    private ProtectionDomain(
            ObjectLifetime lifetime,
            Context context,
            long address,
            Origin origin,
            @Nullable ProtectionDomain base,
            @Nullable ThreadDomain threadDomain) {
        super(lifetime, context, address);
        this.origin = origin;
        this.base = base;
        this.threadDomain = threadDomain;
    }

    static ProtectionDomain allocate(Context context, VerbsArena arena) {
        return ObjectLifetime.create(arena, List.of(context), lifetime -> {
            long domain = Calls.pointer(Ibv.ALLOC_PD, context.name(), context.address());
            return new ProtectionDomain(lifetime, context, domain, Origin.ALLOCATED);
        });
    }

    static ProtectionDomain imported(Context context, int handle, VerbsArena arena) {
        return ObjectLifetime.create(arena, List.of(context), lifetime -> {
            String words = context.name() + ", handle " + handle;
            long domain = Calls.pointer(Ibv.IMPORT_PD, words, context.address(), handle);
            return new ProtectionDomain(lifetime, context, domain, Origin.IMPORTED);
        });
    }

    /** Wraps a domain that another library has made, and keeps as long as its context is open. */
    static ProtectionDomain lent(Context context, long address, VerbsArena arena) {
        return ObjectLifetime.create(
                arena, List.of(context), lifetime -> new ProtectionDomain(lifetime, context, address, Origin.LENT));
    }

    private static ProtectionDomain parent(ProtectionDomain from, ParentDomainOptions options, VerbsArena arena) {
        from.lifetime.checkOpen(); // if it is a parent domain itself, its base is used below
        ProtectionDomain base = from.root();
        ThreadDomain threadDomain = THREAD_DOMAIN.of(options);
        if (threadDomain != null && threadDomain.context() != base.context) {
            throw new IllegalArgumentException(threadDomain + " belongs to another context than " + from);
        }
        List<VerbsObject> parents = threadDomain == null ? List.of(base) : List.of(base, threadDomain);
        return ObjectLifetime.create(
                arena, parents, (lifetime, scratch) -> makeParent(base, options, lifetime, scratch));
    }

    private static ProtectionDomain makeParent(
            ProtectionDomain base, ParentDomainOptions options, ObjectLifetime lifetime, Arena scratch) {
        ThreadDomain threadDomain = THREAD_DOMAIN.of(options);
        String arguments = base + (threadDomain == null ? "" : ", " + threadDomain);
        MemorySegment init = ibv_parent_domain_init_attr.allocate(scratch);
        new InitAttributes(init)
                .pointer(ibv_parent_domain_init_attr.pd$offset(), base)
                .pointer(ibv_parent_domain_init_attr.td$offset(), threadDomain);
        if (ALLOW_UNPROTECTED_BUFFERS.of(options)) {
            arguments += ", unprotected buffers";
            Failures.require(RdmaCoreVersion.V64, ContextVerb.ALLOC_PARENT_DOMAIN.verb(), arguments);
            ibv_parent_domain_init_attr.comp_mask(init, rdma_h.IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC);
        }
        CFunction allocate = base.context.function(ContextVerb.ALLOC_PARENT_DOMAIN);
        long made = Calls.pointer(allocate, arguments, base.context.address(), init.address());
        return new ProtectionDomain(lifetime, base.context, made, Origin.ALLOCATED, base, threadDomain);
    }

    /**
     * Returns the struct to make a queue pair of. Where one thread alone can use the queue pair and this domain, it is a
     * parent domain with a thread domain, if the device has them: the driver leaves out the locks of the queue pair.
     *
     * @param confined whether the queue pair's arena is confined
     */
    long addressForQueues(boolean confined) {
        if (!confined || base != null || origin != Origin.ALLOCATED || !lifetime.isConfined()) {
            return address;
        }
        if (ownParent == 0 && context.triesThreadDomains()) {
            makeOwnParent();
        }
        return ownParent == 0 ? address : ownParent;
    }

    /** Makes the parent domain, or notes in the context that the device refuses it. */
    private void makeOwnParent() {
        try (Arena scratch = Arena.ofConfined()) {
            CFunction allocate = context.function(ContextVerb.ALLOC_TD);
            CFunction allocateParent = context.function(ContextVerb.ALLOC_PARENT_DOMAIN);
            long none = ibv_td_init_attr.allocate(scratch).address();
            MemorySegment init = ibv_parent_domain_init_attr.allocate(scratch);
            ibv_parent_domain_init_attr.pd(init, MemorySegment.ofAddress(address));
            if (allocate.isPresent() && allocateParent.isPresent()) {
                ownThreadDomain = allocate.call(context.address(), none);
            }
            if (ownThreadDomain != 0) {
                ibv_parent_domain_init_attr.td(init, MemorySegment.ofAddress(ownThreadDomain));
                ownParent = allocateParent.call(context.address(), init.address());
            }
            if (ownParent == 0) {
                context.refusesThreadDomains();
                destroyOwnParent();
            }
        }
    }

    private void destroyOwnParent() {
        if (ownParent != 0) {
            Calls.run(Ibv.DEALLOC_PD, this, ownParent);
            ownParent = 0;
        }
        if (ownThreadDomain != 0) {
            Calls.run(context.function(ContextVerb.DEALLOC_TD), this, ownThreadDomain);
            ownThreadDomain = 0;
        }
    }

    @CName({"ibv_dealloc_pd", "ibv_unimport_pd"})
    @Override
    void destroy() {
        destroyOwnParent();
        switch (origin) {
            case ALLOCATED -> Calls.run(Ibv.DEALLOC_PD, this, address);
            case IMPORTED -> Ibv.UNIMPORT_PD.call(address);
            case LENT -> {} // the other library destroys it
        }
    }

    /** Returns the domain that decides which objects work together: this one, or the base of a parent domain. */
    ProtectionDomain root() {
        return base == null ? this : base;
    }

    /** Checks that an arena may own an object of this domain. */
    void checkMakesIn(VerbsArena arena) {
        lifetime.checkOpen();
        if (threadDomain != null && !ArenaLifetime.of(arena).isConfined()) {
            throw new IllegalArgumentException("objects of a parent domain with a thread domain have no locks: "
                    + "they need a VerbsArena.ofConfined()");
        }
    }

    /**
     * Returns the kernel's number for this domain ({@code handle}). A process that shares the device can
     * {@linkplain Context#importProtectionDomain import} the domain by it.
     *
     * @return the handle
     */
    public int handle() {
        try (var _ = lifetime.held()) {
            return ibv_pd.handle(MemorySegment.ofAddress(address).reinterpret(ibv_pd.sizeof()));
        }
    }

    /**
     * Returns the protection domain that this parent domain was made from.
     *
     * @return the protection domain, not itself a parent domain; empty if this is not a parent domain
     */
    public Optional<ProtectionDomain> base() {
        lifetime.checkOpen();
        return Optional.ofNullable(base);
    }

    /**
     * Returns the thread domain of this parent domain.
     *
     * @return the thread domain; empty if this domain was made without one
     */
    public Optional<ThreadDomain> threadDomain() {
        lifetime.checkOpen();
        return Optional.ofNullable(threadDomain);
    }

    /**
     * Registers memory, closed by this domain's arena ({@code ibv_reg_mr}).
     *
     * @param memory a native segment that outlives the registration; see {@link #register(MemorySegment, Collection,
     *     VerbsArena)}
     * @param access the rights of the adapter and of peers; the adapter can always read
     * @return the memory region
     */
    @CName({"ibv_reg_mr", "ibv_reg_mr_iova2"})
    public MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        return register(memory, List.of(access), arena());
    }

    /**
     * Registers memory ({@code ibv_reg_mr}). The segment is not copied: the adapter reads and writes the segment's own
     * memory.
     *
     * <p>The memory must outlive the region. Memory of a {@link VerbsArena} is not freed before the region is closed. Memory
     * of the global arena, of an automatic arena or of a direct buffer stays reachable through the region. Memory of another
     * closable arena is refused: see {@link RegionOptions#foreign(MemorySegment)}.
     *
     * <p>This library can't see that another library frees memory by hand, as Netty and Arrow do, although its segment looks
     * like one of the global arena or of a direct buffer. Free such memory after the region is closed, or have the region do it:
     * {@link RegionOptions#foreign(MemorySegment, AutoCloseable)}. An adapter that uses freed memory reads and changes what
     * belongs to others by then, and may end the process. A mapped file that becomes shorter keeps its registered pages: the
     * adapter goes on, and what it writes beyond the new end is lost without an error.
     *
     * @param memory a native segment, not empty
     * @param access the rights of the adapter and of peers; the adapter can always read
     * @param arena the arena that will close the region
     * @return the memory region
     * @throws IllegalArgumentException if the segment is on the heap, empty, read-only and to be written to, or of an
     *     arena that might free it too early; or if peers may write and {@link AccessFlag#LOCAL_WRITE} is missing
     * @throws dev.verbena.VerbsException if the memory can't be pinned, most often because of the limit on locked
     *     memory
     */
    @CName({"ibv_reg_mr", "ibv_reg_mr_iova2"})
    public MemoryRegion register(MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena) {
        return Registration.plain(this, memory, access, arena);
    }

    /**
     * Registers memory of any kind with options, closed by this domain's arena.
     *
     * @param options for example {@code RegionOptions.of(memory).access(flags).address(0)}
     * @return the memory region
     * @throws dev.verbena.UnsupportedVerbException if rdma-core or the device does not support an option
     * @see #register(RegionOptions, VerbsArena)
     */
    @CName({
        "ibv_reg_mr_iova",
        "ibv_reg_mr_iova2",
        "ibv_reg_mr_ex",
        "ibv_reg_buf_mr",
        "ibv_reg_dm_mr",
        "ibv_reg_dmabuf_mr"
    })
    public MemoryRegion register(RegionOptions options) {
        return register(options, arena());
    }

    /**
     * Registers memory of any kind with options: {@code ibv_reg_mr_iova} for memory of this process,
     * {@code ibv_reg_buf_mr} for a driver's buffer, {@code ibv_reg_dm_mr} for device memory, {@code ibv_reg_dmabuf_mr} for
     * another driver's DMA buffer. With hints, or a chosen address in a driver's buffer, it calls {@code ibv_reg_mr_ex},
     * which needs rdma-core 59.
     *
     * @param options for example {@code RegionOptions.of(memory).access(flags).address(0)}
     * @param arena the arena that will close the region
     * @return the memory region
     * @throws IllegalArgumentException if the memory can't be registered: see {@link #register(MemorySegment, Collection,
     *     VerbsArena)}; or if hints, device memory or a driver's buffer belong to another context or domain
     * @throws dev.verbena.UnsupportedVerbException if rdma-core or the device does not support an option
     */
    @CName({
        "ibv_reg_mr_iova",
        "ibv_reg_mr_iova2",
        "ibv_reg_mr_ex",
        "ibv_reg_buf_mr",
        "ibv_reg_dm_mr",
        "ibv_reg_dmabuf_mr"
    })
    public MemoryRegion register(RegionOptions options, VerbsArena arena) {
        return Registration.owned(this, options, arena);
    }

    /**
     * Allocates memory by the device's driver, closed by this domain's arena ({@code ibv_alloc_buf}).
     *
     * @param length the number of bytes
     * @return a new buffer, filled with zeros: see {@link #allocateBuffer(long, VerbsArena)}
     * @throws dev.verbena.UnsupportedVerbException if rdma-core is older than 64
     */
    @CName("ibv_alloc_buf")
    public DriverBuffer allocateBuffer(long length) {
        return allocateBuffer(length, arena());
    }

    /**
     * Allocates memory by the device's driver ({@code ibv_alloc_buf}). In a confidential virtual machine, the driver takes
     * memory that the adapter can reach without bounce buffers if this is a parent domain whose options {@linkplain
     * ParentDomainOptions#allowUnprotectedBuffers(boolean) allow} that. Elsewhere it takes plain memory.
     *
     * @param length the number of bytes
     * @param arena the arena that will free the buffer
     * @return a new buffer, filled with zeros, at the beginning of a page
     * @throws dev.verbena.UnsupportedVerbException if rdma-core is older than 64
     */
    @CName("ibv_alloc_buf")
    public DriverBuffer allocateBuffer(long length, VerbsArena arena) {
        return DriverBuffer.allocate(this, length, arena);
    }

    /**
     * Registers the whole address space, closed by this domain's arena ({@code ibv_reg_mr} with implicit on-demand
     * paging).
     *
     * @param access the rights of the adapter; {@link AccessFlag#ON_DEMAND} is added, and peers have none
     * @return the address space, which makes memory regions without a call into C
     */
    @CName({"ibv_reg_mr", "ibv_reg_mr_iova2"})
    public AddressSpace registerAddressSpace(AccessFlag... access) {
        return registerAddressSpace(List.of(access), arena());
    }

    /**
     * Registers the whole address space ({@code ibv_reg_mr} with implicit on-demand paging).
     *
     * @param access the rights of the adapter; {@link AccessFlag#ON_DEMAND} is added, and peers have none
     * @param arena the arena that will close the address space
     * @return the address space, which makes memory regions without a call into C
     */
    @CName({"ibv_reg_mr", "ibv_reg_mr_iova2"})
    public AddressSpace registerAddressSpace(Collection<AccessFlag> access, VerbsArena arena) {
        return AddressSpace.register(this, access, arena);
    }

    /**
     * Allocates a region without memory, closed by this domain's arena ({@code ibv_alloc_null_mr}).
     *
     * @return the region: see {@link #allocateNullRegion(VerbsArena)}
     */
    @CName("ibv_alloc_null_mr")
    public MemoryRegion allocateNullRegion() {
        return allocateNullRegion(arena());
    }

    /**
     * Allocates a region without memory ({@code ibv_alloc_null_mr}). Writes to the region are lost, and reads return
     * zeros. Use it for the unwanted pieces of a message. Peers can't use the region.
     *
     * @param arena the arena that will close the region
     * @return the memory region, which has no {@link MemoryRegion#segment}
     */
    @CName("ibv_alloc_null_mr")
    public MemoryRegion allocateNullRegion(VerbsArena arena) {
        return Registration.nothing(this, arena);
    }

    /**
     * Imports a memory region of a process that shares its device, closed by this domain's arena ({@code
     * ibv_import_mr}).
     *
     * @param handle the {@link MemoryRegion#handle} in the other process
     * @param address the {@link MemoryRegion#address} in the other process
     * @return the memory region, which has no {@link MemoryRegion#segment}
     */
    @CName("ibv_import_mr")
    public MemoryRegion importRegion(int handle, long address) {
        return importRegion(handle, address, arena());
    }

    /**
     * Imports a memory region of a process that shares its device ({@code ibv_import_mr}). Closing it does not close
     * the other process's region.
     *
     * @param handle the {@link MemoryRegion#handle} in the other process
     * @param address the {@link MemoryRegion#address} in the other process
     * @param arena the arena that will close the region
     * @return the memory region, which has no {@link MemoryRegion#segment}
     */
    @CName("ibv_import_mr")
    public MemoryRegion importRegion(int handle, long address, VerbsArena arena) {
        return Registration.imported(this, handle, address, arena);
    }

    /**
     * Advises the adapter on the use of memory that is paged on demand ({@code ibv_advise_mr}).
     *
     * @param advice the use of the memory
     * @param wait true to wait until the adapter has followed the advice ({@code IBV_ADVISE_MR_FLAG_FLUSH})
     * @param ranges memory registered in this domain with {@link AccessFlag#ON_DEMAND}
     */
    @CName("ibv_advise_mr")
    public void advise(Advice advice, boolean wait, LocalMemory... ranges) {
        if (ranges.length == 0) {
            throw new IllegalArgumentException("advice needs at least one range of memory");
        }
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment list = ibv_sge.allocateArray(ranges.length, scratch);
            for (int i = 0; i < ranges.length; i++) {
                ranges[i].region().checkUsableIn(this);
                if (ranges[i].length() > 0xffff_ffffL) {
                    throw new IllegalArgumentException("a range must be less than 4 GiB long, got " + ranges[i]);
                }
                MemorySegment one = ibv_sge.asSlice(list, i);
                ibv_sge.addr(one, ranges[i].address());
                ibv_sge.length(one, (int) ranges[i].length());
                ibv_sge.lkey(one, ranges[i].region().keyWhenOpen());
            }
            Calls.run(
                    context.function(ContextVerb.ADVISE_MR),
                    advice + ", " + List.of(ranges),
                    address,
                    advice.code,
                    wait ? rdma_h.IB_UVERBS_ADVISE_MR_FLAG_FLUSH : 0,
                    list.address(),
                    ranges.length);
        }
    }

    /**
     * Allocates a parent domain with options, closed by this domain's arena ({@code ibv_alloc_parent_domain}).
     *
     * @param options for example {@code ParentDomainOptions.defaults().allowUnprotectedBuffers(true)}
     * @return a new parent domain
     */
    @CName("ibv_alloc_parent_domain")
    public ProtectionDomain allocateParentDomain(ParentDomainOptions options) {
        return allocateParentDomain(options, arena());
    }

    /**
     * Allocates a parent domain with options ({@code ibv_alloc_parent_domain}).
     *
     * @param options for example {@code ParentDomainOptions.defaults().allowUnprotectedBuffers(true)}
     * @param arena the arena that will close the parent domain
     * @return a new parent domain
     * @throws dev.verbena.UnsupportedVerbException if the device has no parent domains, or rdma-core is older than 64 and
     *     the options allow unprotected buffers
     */
    @CName("ibv_alloc_parent_domain")
    public ProtectionDomain allocateParentDomain(ParentDomainOptions options, VerbsArena arena) {
        return parent(this, options, arena);
    }

    /**
     * Creates a queue pair, closed by this domain's arena ({@code ibv_create_qp}).
     *
     * @param options for example {@code QueuePair.rc(cq).sendDepth(64)}
     * @return a new queue pair, in {@link QueuePairState#RESET}
     */
    @CName({"ibv_create_qp", "ibv_create_qp_ex"})
    public QueuePair createQueuePair(QueuePairOptions options) {
        return createQueuePair(options, arena());
    }

    /**
     * Creates a queue pair ({@code ibv_create_qp}).
     *
     * @param options for example {@code QueuePair.rc(cq).sendDepth(64)}
     * @param arena the arena that will close the queue pair
     * @return a new queue pair, in {@link QueuePairState#RESET}
     */
    @CName({"ibv_create_qp", "ibv_create_qp_ex"})
    public QueuePair createQueuePair(QueuePairOptions options, VerbsArena arena) {
        checkMakesIn(arena);
        return QueuePairCreation.create(this, options, arena);
    }

    /**
     * Allocates a memory window, closed by this domain's arena ({@code ibv_alloc_mw}).
     *
     * @param type the kind
     * @return a new memory window, not bound to anything yet
     */
    @CName("ibv_alloc_mw")
    public MemoryWindow allocateMemoryWindow(MemoryWindow.Type type) {
        return allocateMemoryWindow(type, arena());
    }

    /**
     * Allocates a memory window ({@code ibv_alloc_mw}).
     *
     * @param type the kind
     * @param arena the arena that will close the window
     * @return a new memory window, not bound to anything yet
     */
    @CName("ibv_alloc_mw")
    public MemoryWindow allocateMemoryWindow(MemoryWindow.Type type, VerbsArena arena) {
        return MemoryWindow.make(this, type, arena);
    }

    /**
     * Creates a shared receive queue, closed by this domain's arena ({@code ibv_create_srq}).
     *
     * @param options for example {@code SharedReceiveQueue.basic().depth(256)}
     * @return a new shared receive queue
     */
    @CName({"ibv_create_srq", "ibv_create_srq_ex"})
    public SharedReceiveQueue createSharedReceiveQueue(SharedReceiveQueueOptions options) {
        return createSharedReceiveQueue(options, arena());
    }

    /**
     * Creates a shared receive queue ({@code ibv_create_srq}).
     *
     * @param options for example {@code SharedReceiveQueue.basic().depth(256)}
     * @param arena the arena that will close the queue
     * @return a new shared receive queue
     */
    @CName({"ibv_create_srq", "ibv_create_srq_ex"})
    public SharedReceiveQueue createSharedReceiveQueue(SharedReceiveQueueOptions options, VerbsArena arena) {
        checkMakesIn(arena);
        return SharedReceiveQueue.make(this, options, arena);
    }

    /**
     * Creates an address handle, closed by this domain's arena ({@code ibv_create_ah}).
     *
     * @param path the path: see {@link QueuePair#pathTo(dev.verbena.verbs.address.Endpoint)}
     * @return a new address handle
     */
    @CName("ibv_create_ah")
    public AddressHandle createAddressHandle(AddressVector path) {
        return createAddressHandle(path, arena());
    }

    /**
     * Creates an address handle ({@code ibv_create_ah}).
     *
     * @param path the path: see {@link QueuePair#pathTo(dev.verbena.verbs.address.Endpoint)}
     * @param arena the arena that will close the handle
     * @return a new address handle
     */
    @CName("ibv_create_ah")
    public AddressHandle createAddressHandle(AddressVector path, VerbsArena arena) {
        return AddressHandle.make(this, path, arena);
    }

    /**
     * Creates an address handle for the sender of a datagram, closed by this domain's arena
     * ({@code ibv_create_ah_from_wc}).
     *
     * @param received the completion of the receive
     * @param header the beginning of the received memory: at least {@link Grh#BYTES} if it has a
     *     {@linkplain WorkCompletion#hasRoutingHeader routing header}
     * @return a new address handle; {@link WorkCompletion#sourceQueuePair} is the queue pair number to answer to
     */
    @CName({"ibv_create_ah_from_wc", "ibv_init_ah_from_wc", "ibv_create_ah"})
    public AddressHandle createAddressHandle(WorkCompletion received, MemorySegment header) {
        return createAddressHandle(received, header, arena());
    }

    /**
     * Creates an address handle for the sender of a datagram ({@code ibv_create_ah_from_wc}).
     *
     * @param received the completion of the receive
     * @param header the beginning of the received memory: at least {@link Grh#BYTES} if it has a
     *     {@linkplain WorkCompletion#hasRoutingHeader routing header}
     * @param arena the arena that will close the handle
     * @return a new address handle; {@link WorkCompletion#sourceQueuePair} is the queue pair number to answer to
     */
    @CName({"ibv_create_ah_from_wc", "ibv_init_ah_from_wc", "ibv_create_ah"})
    public AddressHandle createAddressHandle(WorkCompletion received, MemorySegment header, VerbsArena arena) {
        lifetime.checkOpen();
        return createAddressHandle(context.pathBack(received, header), arena);
    }

    /**
     * Creates a work queue, closed by this domain's arena ({@code ibv_create_wq}).
     *
     * @param options for example {@code WorkQueueOptions.of(cq, 64)}
     * @return a new work queue, in {@link WorkQueue.State#RESET}
     */
    @CName("ibv_create_wq")
    public WorkQueue createWorkQueue(WorkQueueOptions options) {
        return createWorkQueue(options, arena());
    }

    /**
     * Creates a work queue ({@code ibv_create_wq}).
     *
     * @param options for example {@code WorkQueueOptions.of(cq, 64)}
     * @param arena the arena that will close the queue
     * @return a new work queue, in {@link WorkQueue.State#RESET}
     */
    @CName("ibv_create_wq")
    public WorkQueue createWorkQueue(WorkQueueOptions options, VerbsArena arena) {
        checkMakesIn(arena);
        return WorkQueue.create(this, options, arena);
    }

    /** Returns for example {@code protection domain of rxe0}, or {@code parent domain of} another domain. */
    @Override
    public String toString() {
        return base == null ? "protection domain of " + context.name() : "parent domain of " + base;
    }

    /** Advice to an adapter about memory that is paged in on demand ({@code enum ibv_advise_mr_advice}). */
    public enum Advice {
        /** Bring pages in for reading ({@code IBV_ADVISE_MR_ADVICE_PREFETCH}). */
        PREFETCH(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH),
        /** Bring pages in for writing ({@code IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE}). */
        PREFETCH_WRITE(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE),
        /** Map the pages that are in memory already, and bring in no others ({@code IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT}). */
        PREFETCH_NO_FAULT(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT);

        final int code;

        Advice(int code) {
            this.code = code;
        }
    }
}
