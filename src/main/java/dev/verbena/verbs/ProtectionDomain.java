package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.raw.ibv_pd;
import dev.verbena.internal.raw.ibv_sge;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Grh;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.List;
import java.util.Objects;

/**
 * A protection domain ({@code struct ibv_pd}): memory and queue pairs of one domain can work with each other.
 */
public sealed class ProtectionDomain extends VerbsObject permits ParentDomain {
    final ObjectLifetime lifetime;
    private final Context context;
    private final long address;
    private final Origin origin;

    /** Who has made it in C, and so how it is let go. */
    enum Origin {
        ALLOCATED,
        IMPORTED,
        LENT
    }

    ProtectionDomain(ObjectLifetime lifetime, Context context, long address, Origin origin) {
        super(lifetime);
        this.lifetime = lifetime;
        lifetime.destroyedBy(this::destroy);
        this.context = context;
        this.address = address;
        this.origin = origin;
    }

    static ProtectionDomain allocate(Context context, VerbsArena arena) {
        return ObjectLifetime.create(
                arena,
                lifetime -> new ProtectionDomain(
                        lifetime,
                        context,
                        VerbFailures.pointer(Ibv.ALLOC_PD, Ibv.ALLOC_PD.call(context.address()), context.name()),
                        Origin.ALLOCATED),
                context);
    }

    static ProtectionDomain imported(Context context, int handle, VerbsArena arena) {
        return ObjectLifetime.create(
                arena,
                lifetime -> new ProtectionDomain(
                        lifetime,
                        context,
                        VerbFailures.pointer(
                                Ibv.IMPORT_PD,
                                Ibv.IMPORT_PD.call(context.address(), handle),
                                context.name() + ", handle " + handle),
                        Origin.IMPORTED),
                context);
    }

    /** One that another library has made, and keeps as long as its context is open. */
    static ProtectionDomain lent(Context context, long address, VerbsArena arena) {
        return ObjectLifetime.create(
                arena, lifetime -> new ProtectionDomain(lifetime, context, address, Origin.LENT), context);
    }

    @CName({"ibv_dealloc_pd", "ibv_unimport_pd"})
    private void destroy() {
        switch (origin) {
            case ALLOCATED -> VerbFailures.check(Ibv.DEALLOC_PD, Ibv.DEALLOC_PD.call(address), toString());
            case IMPORTED -> Ibv.UNIMPORT_PD.call(address);
            case LENT -> {} // its owner does
        }
    }

    /** The protection domain that decides what works with what: this one, or the one a parent domain was made from. */
    ProtectionDomain root() {
        return this;
    }

    /** Refuses an arena that may not own what is made in this domain. */
    void checkMakesIn(VerbsArena arena) {
        // Any may.
    }

    /**
     * The kernel's number for it ({@code handle}), by which a process that shares the device can
     * {@linkplain Context#importProtectionDomain import} it.
     *
     * @return the handle
     */
    public final int handle() {
        lifetime.hold();
        try {
            return ibv_pd.handle(MemorySegment.ofAddress(address).reinterpret(ibv_pd.sizeof()));
        } finally {
            lifetime.release();
        }
    }

    /**
     * The context that it was made from.
     *
     * @return the context
     */
    public final Context context() {
        lifetime.checkOpen();
        return context;
    }

    /** The {@code struct ibv_pd}. Hold this object while C uses it. */
    final long address() {
        return address;
    }

    /** The context, for those that know this object to be open or need it to say that it is not. */
    final Context contextEvenIfClosed() {
        return context;
    }

    /**
     * Registers memory as it is, closed by this domain's arena ({@code ibv_reg_mr}).
     *
     * @param memory a native segment that outlives the registration; see {@link #register(MemorySegment, Collection,
     *     VerbsArena)}
     * @param access what the adapter and peers may do with it; reading by the adapter itself is always allowed
     * @return the memory region
     */
    @CName({"ibv_reg_mr", "ibv_reg_mr_iova2"})
    public MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        return register(memory, List.of(access), arena());
    }

    /**
     * Registers memory as it is ({@code ibv_reg_mr}). The segment is not copied: what the adapter does with it is seen
     * in it.
     *
     * <p>The memory must outlive the region, and this is made sure of. It may belong to a {@link VerbsArena}, which
     * then does not free it before the region is closed, or to the global or an automatic arena, whose memory the
     * region keeps reachable.
     *
     * @param memory a native segment, not empty
     * @param access what the adapter and peers may do with it; reading by the adapter itself is always allowed
     * @param arena what will close the region
     * @return the memory region
     * @throws IllegalArgumentException if the segment is on the heap, empty, read-only and to be written to, or of an
     *     arena that might free it too early; or if peers may write and {@link AccessFlag#LOCAL_WRITE} is missing
     * @throws dev.verbena.VerbsException if the memory can't be pinned, most often because of the limit on locked memory
     */
    @CName({"ibv_reg_mr", "ibv_reg_mr_iova2"})
    public MemoryRegion register(MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena) {
        return Registration.plain(this, memory, access, arena);
    }

    /**
     * Registers memory of an arena that Verbena does not know, on the caller's word that it is freed after the region
     * is closed. If it is freed earlier, the adapter writes into memory that is used for something else.
     *
     * @param memory a native segment, not empty
     * @param access what the adapter and peers may do with it
     * @param arena what will close the region
     * @return the memory region
     */
    @CName({"ibv_reg_mr", "ibv_reg_mr_iova2"})
    public MemoryRegion registerForeign(MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena) {
        return Registration.foreign(this, memory, access, arena);
    }

    /**
     * As {@link #registerAt(MemorySegment, long, Collection, VerbsArena)}, closed by this domain's arena
     * ({@code ibv_reg_mr_iova}).
     *
     * @param memory a native segment that outlives the registration
     * @param address what work requests and peers call its first byte; 0 makes all addresses offsets
     * @param access what the adapter and peers may do with it
     * @return the memory region
     */
    @CName({"ibv_reg_mr_iova", "ibv_reg_mr_iova2"})
    public MemoryRegion registerAt(MemorySegment memory, long address, AccessFlag... access) {
        return registerAt(memory, address, List.of(access), arena());
    }

    /**
     * Registers memory under an address of one's own choice ({@code ibv_reg_mr_iova}): {@link MemoryRegion#address} and
     * {@link MemoryRegion#remote} then speak of that one.
     *
     * @param memory a native segment that outlives the registration
     * @param address what work requests and peers call its first byte; 0 makes all addresses offsets. Its offset within
     *     a page must be that of the memory
     * @param access what the adapter and peers may do with it
     * @param arena what will close the region
     * @return the memory region
     */
    @CName({"ibv_reg_mr_iova", "ibv_reg_mr_iova2"})
    public MemoryRegion registerAt(
            MemorySegment memory, long address, Collection<AccessFlag> access, VerbsArena arena) {
        return Registration.at(this, memory, address, access, arena);
    }

    /**
     * Registers memory with hints for the bus ({@code ibv_reg_mr_ex}).
     *
     * @param memory a native segment that outlives the registration
     * @param access what the adapter and peers may do with it
     * @param hints how it will be used
     * @param arena what will close the region
     * @return the memory region
     * @throws dev.verbena.UnsupportedVerbException if rdma-core is older than 59 or the device can't
     */
    @CName("ibv_reg_mr_ex")
    public MemoryRegion register(
            MemorySegment memory, Collection<AccessFlag> access, DmaHandle hints, VerbsArena arena) {
        return Registration.hinted(this, memory, access, hints, arena);
    }

    /**
     * Registers device memory ({@code ibv_reg_dm_mr}). Its first byte has the address 0.
     *
     * @param memory device memory
     * @param offset where the region begins in it
     * @param length how long the region is
     * @param access what the adapter and peers may do with it
     * @param arena what will close the region
     * @return the memory region, which has no {@link MemoryRegion#segment}
     */
    @CName("ibv_reg_dm_mr")
    public MemoryRegion register(
            DeviceMemory memory, long offset, long length, Collection<AccessFlag> access, VerbsArena arena) {
        return Registration.device(this, memory, offset, length, access, arena);
    }

    /**
     * Registers a DMA buffer of another driver, such as one for a graphics processor ({@code ibv_reg_dmabuf_mr}).
     *
     * @param descriptor the file descriptor of the DMA buffer; it can be closed after this call
     * @param offset where the region begins in it
     * @param length how long the region is
     * @param address what work requests and peers call its first byte
     * @param access what the adapter and peers may do with it
     * @param arena what will close the region
     * @return the memory region, which has no {@link MemoryRegion#segment}
     */
    @CName("ibv_reg_dmabuf_mr")
    public MemoryRegion registerDmaBuf(
            int descriptor, long offset, long length, long address, Collection<AccessFlag> access, VerbsArena arena) {
        return Registration.dmaBuf(this, descriptor, offset, length, address, access, arena);
    }

    /**
     * Registers the whole address space, closed by this domain's arena ({@code ibv_reg_mr} with implicit on-demand
     * paging).
     *
     * @param access what the adapter may do with it; {@link AccessFlag#ON_DEMAND} is added, and peers may do nothing
     * @return the address space, from which memory regions are made without a call into C
     */
    @CName({"ibv_reg_mr", "ibv_reg_mr_iova2"})
    public AddressSpace registerAddressSpace(AccessFlag... access) {
        return registerAddressSpace(List.of(access), arena());
    }

    /**
     * Registers the whole address space ({@code ibv_reg_mr} with implicit on-demand paging).
     *
     * @param access what the adapter may do with it; {@link AccessFlag#ON_DEMAND} is added, and peers may do nothing
     * @param arena what will close it
     * @return the address space, from which memory regions are made without a call into C
     */
    @CName({"ibv_reg_mr", "ibv_reg_mr_iova2"})
    public AddressSpace registerAddressSpace(Collection<AccessFlag> access, VerbsArena arena) {
        return AddressSpace.register(this, access, arena);
    }

    /**
     * A region that is no memory at all, closed by this domain's arena ({@code ibv_alloc_null_mr}).
     *
     * @return the region: see {@link #allocateNullRegion(VerbsArena)}
     */
    @CName("ibv_alloc_null_mr")
    public MemoryRegion allocateNullRegion() {
        return allocateNullRegion(arena());
    }

    /**
     * A region that is no memory at all ({@code ibv_alloc_null_mr}): what is written to it is lost, and what is read from
     * it is zero. It is for the pieces of a message that are not wanted; peers can't use it.
     *
     * @param arena what will close the region
     * @return the memory region, which has no {@link MemoryRegion#segment}
     */
    @CName("ibv_alloc_null_mr")
    public MemoryRegion allocateNullRegion(VerbsArena arena) {
        return Registration.nothing(this, arena);
    }

    /**
     * Takes a memory region of a process that shares its device ({@code ibv_import_mr}). Closing it leaves the other
     * process's region alone.
     *
     * @param handle its {@link MemoryRegion#handle} there
     * @param address its {@link MemoryRegion#address} there
     * @param arena what will close the region
     * @return the memory region, which has no {@link MemoryRegion#segment}
     */
    @CName("ibv_import_mr")
    public MemoryRegion importRegion(int handle, long address, VerbsArena arena) {
        return Registration.imported(this, handle, address, arena);
    }

    /**
     * Tells the adapter how memory that is paged on demand will be used ({@code ibv_advise_mr}).
     *
     * @param advice what will be done with it
     * @param wait whether to wait until the adapter has done what it can ({@code IBV_ADVISE_MR_FLAG_FLUSH})
     * @param ranges memory registered in this domain with {@link AccessFlag#ON_DEMAND}
     */
    @CName("ibv_advise_mr")
    public void advise(Advice advice, boolean wait, LocalMemory... ranges) {
        if (ranges.length == 0) {
            throw new IllegalArgumentException("There is no memory to advise on");
        }
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment list = ibv_sge.allocateArray(ranges.length, scratch);
            for (int i = 0; i < ranges.length; i++) {
                ranges[i].region().checkUsableIn(this);
                if (ranges[i].length() > 0xffff_ffffL) {
                    throw new IllegalArgumentException("One range is less than 4 GiB long, not " + ranges[i]);
                }
                MemorySegment one = ibv_sge.asSlice(list, i);
                ibv_sge.addr(one, ranges[i].address());
                ibv_sge.length(one, (int) ranges[i].length());
                ibv_sge.lkey(one, ranges[i].region().keyWhenOpen());
            }
            VerbFailures.check(
                    ContextVerb.ADVISE_MR,
                    context,
                    advice + ", " + List.of(ranges),
                    address,
                    advice.code(),
                    wait ? rdma_h.IB_UVERBS_ADVISE_MR_FLAG_FLUSH() : 0,
                    list.address(),
                    ranges.length);
        } finally {
            lifetime.release();
        }
    }

    /**
     * Makes a parent domain without a thread domain, closed by this domain's arena ({@code ibv_alloc_parent_domain}).
     *
     * @return a new parent domain
     */
    @CName("ibv_alloc_parent_domain")
    public ParentDomain allocateParentDomain() {
        return ParentDomain.allocate(this, null, arena());
    }

    /**
     * Makes a parent domain ({@code ibv_alloc_parent_domain}).
     *
     * @param threadDomain lets the driver leave out locks for what is made in the parent domain
     * @param arena what will close it
     * @return a new parent domain
     */
    @CName("ibv_alloc_parent_domain")
    public ParentDomain allocateParentDomain(ThreadDomain threadDomain, VerbsArena arena) {
        return ParentDomain.allocate(this, Objects.requireNonNull(threadDomain, "threadDomain"), arena);
    }

    /**
     * Makes a queue pair, closed by this domain's arena ({@code ibv_create_qp}).
     *
     * @param options for example {@code QueuePair.rc(cq).sendDepth(64)}
     * @return a new queue pair, in {@link QueuePairState#RESET}
     */
    @CName({"ibv_create_qp", "ibv_create_qp_ex"})
    public QueuePair createQueuePair(QueuePairOptions options) {
        return createQueuePair(options, arena());
    }

    /**
     * Makes a queue pair ({@code ibv_create_qp}).
     *
     * @param options for example {@code QueuePair.rc(cq).sendDepth(64)}
     * @param arena what will close it
     * @return a new queue pair, in {@link QueuePairState#RESET}
     */
    @CName({"ibv_create_qp", "ibv_create_qp_ex"})
    public QueuePair createQueuePair(QueuePairOptions options, VerbsArena arena) {
        checkMakesIn(arena);
        return QueuePair.make(this, options, arena);
    }

    /**
     * Makes a memory window, closed by this domain's arena ({@code ibv_alloc_mw}).
     *
     * @param type the kind
     * @return a new memory window, not bound to anything yet
     */
    @CName("ibv_alloc_mw")
    public MemoryWindow allocateMemoryWindow(MemoryWindowType type) {
        return allocateMemoryWindow(type, arena());
    }

    /**
     * Makes a memory window ({@code ibv_alloc_mw}).
     *
     * @param type the kind
     * @param arena what will close it
     * @return a new memory window, not bound to anything yet
     */
    @CName("ibv_alloc_mw")
    public MemoryWindow allocateMemoryWindow(MemoryWindowType type, VerbsArena arena) {
        return MemoryWindow.make(this, type, arena);
    }

    /**
     * Makes a shared receive queue, closed by this domain's arena ({@code ibv_create_srq}).
     *
     * @param options for example {@code SharedReceiveQueue.basic().depth(256)}
     * @return a new shared receive queue
     */
    @CName({"ibv_create_srq", "ibv_create_srq_ex"})
    public SharedReceiveQueue createSharedReceiveQueue(SharedReceiveQueueOptions options) {
        return createSharedReceiveQueue(options, arena());
    }

    /**
     * Makes a shared receive queue ({@code ibv_create_srq}).
     *
     * @param options for example {@code SharedReceiveQueue.basic().depth(256)}
     * @param arena what will close it
     * @return a new shared receive queue
     */
    @CName({"ibv_create_srq", "ibv_create_srq_ex"})
    public SharedReceiveQueue createSharedReceiveQueue(SharedReceiveQueueOptions options, VerbsArena arena) {
        checkMakesIn(arena);
        return SharedReceiveQueue.make(this, options, arena);
    }

    /**
     * Makes an address handle, closed by this domain's arena ({@code ibv_create_ah}).
     *
     * @param path the path: see {@link QueuePair#pathTo(Endpoint)}
     * @return a new address handle
     */
    @CName("ibv_create_ah")
    public AddressHandle createAddressHandle(AddressVector path) {
        return createAddressHandle(path, arena());
    }

    /**
     * Makes an address handle ({@code ibv_create_ah}).
     *
     * @param path the path: see {@link QueuePair#pathTo(Endpoint)}
     * @param arena what will close it
     * @return a new address handle
     */
    @CName("ibv_create_ah")
    public AddressHandle createAddressHandle(AddressVector path, VerbsArena arena) {
        return AddressHandle.make(this, path, arena);
    }

    /**
     * Makes an address handle for the way back to whoever sent a datagram, closed by this domain's arena
     * ({@code ibv_create_ah_from_wc}).
     *
     * @param received the end of the receive
     * @param header the beginning of what was received: at least {@link Grh#BYTES} if it has a
     *     {@linkplain WorkCompletion#hasRoutingHeader routing header}
     * @return a new address handle; the queue pair number to answer to is {@link WorkCompletion#sourceQueuePair}
     */
    @CName({"ibv_create_ah_from_wc", "ibv_init_ah_from_wc", "ibv_create_ah"})
    public AddressHandle createAddressHandle(WorkCompletion received, MemorySegment header) {
        return createAddressHandle(received, header, arena());
    }

    /**
     * Makes an address handle for the way back to whoever sent a datagram ({@code ibv_create_ah_from_wc}).
     *
     * @param received the end of the receive
     * @param header the beginning of what was received: at least {@link Grh#BYTES} if it has a
     *     {@linkplain WorkCompletion#hasRoutingHeader routing header}
     * @param arena what will close it
     * @return a new address handle; the queue pair number to answer to is {@link WorkCompletion#sourceQueuePair}
     */
    @CName({"ibv_create_ah_from_wc", "ibv_init_ah_from_wc", "ibv_create_ah"})
    public AddressHandle createAddressHandle(WorkCompletion received, MemorySegment header, VerbsArena arena) {
        lifetime.checkOpen();
        return createAddressHandle(context.pathBack(received, header), arena);
    }

    /**
     * Makes a work queue ({@code ibv_create_wq}).
     *
     * @param options for example {@code WorkQueueOptions.of(cq, 64)}
     * @param arena what will close it
     * @return a new work queue, in {@link WorkQueueState#RESET}
     */
    @CName("ibv_create_wq")
    public WorkQueue createWorkQueue(WorkQueueOptions options, VerbsArena arena) {
        checkMakesIn(arena);
        return WorkQueue.create(this, options, arena);
    }

    @Override
    public String toString() {
        return "protection domain of " + context.name();
    }
}
