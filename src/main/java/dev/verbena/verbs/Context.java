package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.PORT;

import dev.verbena.CName;
import dev.verbena.Rdma;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Checks;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.SystemCall;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_ah_attr;
import dev.verbena.internal.raw.ibv_comp_cntr_caps;
import dev.verbena.internal.raw.ibv_context;
import dev.verbena.internal.raw.ibv_gid_entry;
import dev.verbena.internal.raw.ibv_values_ex;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.access.VerbsAccess;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.EthernetAddress;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.address.Grh;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.PortCounters;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * An open device ({@code struct ibv_context}). A context answers questions about the device, its ports and their
 * tables. It makes protection domains, completion queues and the other objects of the device.
 *
 * <p>All threads can use a context of a shared arena; only the arena's thread can use one of a confined arena. The
 * arena closes the context.
 *
 * {@snippet file="DeviceSnippets.java" region="open"}
 */
public final class Context extends VerbsObject {
    static {
        VerbsAccess.install(new VerbsSecrets());
    }

    private final ObjectLifetime lifetime;
    private final Device device;
    private final long address;
    private final DriverFunctions provider;
    private volatile boolean withoutThreadDomains;
    private final ContextQueries queries;
    /** The events, for objects that add and remove themselves; null while a constructor that fails closes this context. */
    final AsyncEvents events;

    private final @Nullable Runnable letGo;
    private final QueuePairNumbers queuePairs = new QueuePairNumbers();

    /**
     * Wraps a context of C.
     *
     * @param adopted what this context shares with others; null for a context that stands alone for its struct
     * @param letGo lets go of a context that another library has opened; null for a context to close
     */
    private Context(
            ObjectLifetime lifetime,
            Device device,
            long address,
            @Nullable AdoptedContext adopted,
            @Nullable Runnable letGo) {
        super(lifetime);
        this.lifetime = lifetime;
        this.device = device;
        this.address = address;
        this.letGo = letGo;
        lifetime.destroyedBy(this::destroy); // before what may fail: a failure closes the context
        this.provider = adopted == null ? DriverFunctions.of(device, address) : adopted.provider;
        this.queries = adopted == null ? new ContextQueries(device, address) : adopted.queries;
        int number = ibv_context.async_fd(MemorySegment.ofAddress(address).reinterpret(ibv_context.sizeof()));
        this.events = new AsyncEvents(this, number); // last: the source of events knows this context from here on
    }

    /** Opens a device, the {@code struct ibv_device}. The lambda expression captures no long: the JDK has no archived form. */
    static Context open(Device device, Long pointer, VerbsArena arena) {
        RecordedPorts.add(device);
        return ObjectLifetime.create(arena, List.of(), lifetime -> {
            long context = Calls.pointer(
                    Ibv.OPEN_DEVICE,
                    device.name(),
                    "/dev/infiniband/uverbs* must exist, and this user must have the right to open it",
                    pointer);
            return new Context(lifetime, device, context, null, null);
        });
    }

    /**
     * Wraps a context that another library has opened, and closes some time after {@code letGo} was called. The caller
     * keeps the context if this fails.
     */
    static Context adopt(long address, VerbsArena arena, Runnable letGo) {
        AdoptedContext known = AdoptedContext.join(address);
        try {
            RecordedPorts.add(known.device);
            return ObjectLifetime.create(arena, lifetime -> {
                lifetime.undoneBy(() -> {});
                Context context = new Context(lifetime, known.device, address, known, () -> {
                    AdoptedContext.leave(address);
                    letGo.run();
                });
                lifetime.undoneBy(context.events::closing);
                return context;
            });
        } catch (Throwable t) {
            AdoptedContext.leave(address);
            throw t;
        }
    }

    @CName("ibv_close_device")
    private void destroy() {
        if (events != null) {
            events.closing();
        }
        try {
            if (letGo != null) {
                letGo.run();
            } else {
                Calls.run(Ibv.CLOSE_DEVICE, device.name(), address);
            }
        } catch (VerbsException refused) {
            if (events != null) {
                events.notClosed();
            }
            throw refused;
        }
    }

    /**
     * Returns the device that is open.
     *
     * @return the device
     */
    public Device device() {
        lifetime.checkOpen();
        return device;
    }

    /** Returns the {@code struct ibv_context}. The caller holds this object while C uses it. */
    long address() {
        return address;
    }

    /** Returns a function of the context. Hold this object while C uses the function. */
    CFunction function(ContextVerb verb) {
        return verb.in(address);
    }

    DriverFunctions provider() {
        return provider;
    }

    /** Returns what the device's driver lacks. */
    DriverLimits limits() {
        return provider.limits(device.transport());
    }

    /** Returns true if the device may have thread domains: it is hardware, and has not refused one yet. */
    boolean triesThreadDomains() {
        return !withoutThreadDomains && !provider.software();
    }

    /** Notes that the device refuses thread domains. */
    void refusesThreadDomains() {
        withoutThreadDomains = true;
    }

    /** Returns the queries of the device, for objects that keep this context open. */
    ContextQueries queries() {
        return queries;
    }

    /** Returns the device's name, for messages. A closed context has a name too. */
    String name() {
        return device.name();
    }

    /**
     * Returns the asynchronous events of the device, its ports and the objects of this context.
     *
     * @return the events, to poll, to wait for or to listen to
     */
    public AsyncEvents events() {
        lifetime.checkOpen();
        return events;
    }

    /**
     * Queries the attributes and capabilities of the device ({@code ibv_query_device_ex}, or {@code ibv_query_device}
     * with drivers that have no more).
     *
     * @return the attributes
     */
    @CName({"ibv_query_device", "ibv_query_device_ex"})
    public DeviceAttributes attributes() {
        try (var _ = lifetime.held()) {
            return queries.attributes();
        }
    }

    /**
     * Reads the device's clock ({@code ibv_query_rt_values_ex}). Compare it with the
     * {@linkplain ExtendedCompletions#timestamp time stamps} of completions.
     *
     * @return ticks
     * @throws UnsupportedVerbException if the device has no clock that can be read
     */
    @CName("ibv_query_rt_values_ex")
    public long rawClock() {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment values = ibv_values_ex.allocate(scratch);
            ibv_values_ex.comp_mask(values, rdma_h.IBV_VALUES_MASK_RAW_CLOCK);
            CFunction query = function(ContextVerb.QUERY_RT_VALUES);
            Calls.run(query, name(), address, values.address());
            if ((ibv_values_ex.comp_mask(values) & rdma_h.IBV_VALUES_MASK_RAW_CLOCK) == 0) {
                throw Failures.failure(
                        query.name(), Errno.EOPNOTSUPP, name(), "This device has no clock that can be read");
            }
            MemorySegment clock = ibv_values_ex.raw_clock(values); // a struct timespec: two longs
            return clock.getAtIndex(ValueLayout.JAVA_LONG, 0) * 1_000_000_000L
                    + clock.getAtIndex(ValueLayout.JAVA_LONG, 1);
        }
    }

    /**
     * Returns the number of completion vectors ({@code num_comp_vectors}). Completion queues spread their events over
     * them.
     *
     * @return the count
     */
    public int completionVectors() {
        try (var _ = lifetime.held()) {
            return queries.completionVectors();
        }
    }

    /**
     * Queries the present state of a port ({@code ibv_query_port}).
     *
     * @param number the port, from 1
     * @return the port
     * @throws VerbsException if the device has no such port
     */
    @CName("ibv_query_port")
    public Port port(int number) {
        try (var _ = lifetime.held()) {
            return queries.port(number);
        }
    }

    /**
     * Queries the present state of all ports.
     *
     * @return the ports, in order
     */
    public List<Port> ports() {
        try (var _ = lifetime.held()) {
            return queries.ports();
        }
    }

    /**
     * Queries an entry of a port's GID table ({@code ibv_query_gid}).
     *
     * @param port the port, from 1
     * @param index the index in the port's table
     * @return the GID; {@link Gid#ZERO} if the entry is empty
     * @throws VerbsException if the device has no such port or index
     */
    @CName("ibv_query_gid")
    public Gid gid(int port, int index) {
        try (var _ = lifetime.held()) {
            return queries.gid(port, index);
        }
    }

    /**
     * Queries an entry of a port's GID table with its type and network device ({@code ibv_query_gid_ex}).
     *
     * @param port the port, from 1
     * @param index the index in the port's table
     * @return the entry; empty if the table has no GID at this index
     * @throws VerbsException if the device has no such port or index
     */
    @CName("ibv_query_gid_ex")
    public Optional<GidEntry> gidEntry(int port, int index) {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            Checks.checkRange("port", port, 0xff);
            MemorySegment entry = ibv_gid_entry.allocate(scratch);
            int result = (int) Ibv.QUERY_GID_EX.call(address, port, index, entry.address(), 0, entry.byteSize());
            if (result == Errno.ENODATA) {
                return Optional.empty();
            }
            if (result != 0) {
                throw Failures.failure(
                        Ibv.QUERY_GID_EX.name(),
                        Failures.errnoOf(result),
                        name() + ", port " + port + ", index " + index,
                        "");
            }
            return Optional.of(AddressCodec.readGidEntry(entry));
        }
    }

    /**
     * Queries the used entries of all GID tables ({@code ibv_query_gid_table}).
     *
     * @return the entries, ordered by port and index
     */
    @CName("ibv_query_gid_table")
    public List<GidEntry> gids() {
        try (var _ = lifetime.held()) {
            return queries.gids();
        }
    }

    /**
     * Returns the best GID for reaching a port: RoCE v2 before v1, IPv4 before IPv6, and link-local addresses last.
     *
     * @param port the port, from 1
     * @return the entry to use
     * @throws NoSuchElementException if the port's GID table is empty, for example because its network device has no
     *     address
     */
    public GidEntry bestGid(int port) {
        try (var _ = lifetime.held()) {
            return queries.bestGid(port);
        }
    }

    /**
     * Queries an entry of a port's table of partition keys ({@code ibv_query_pkey}).
     *
     * @param port the port, from 1
     * @param index the index in the table
     * @return the key, 0 to 0xffff; 0xffff is the default partition
     * @throws VerbsException if the device has no such port or index
     */
    @CName("ibv_query_pkey")
    public int pkey(int port, int index) {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            Checks.checkRange("port", port, 0xff);
            MemorySegment key = scratch.allocate(ValueLayout.JAVA_SHORT);
            int result = (int) Ibv.QUERY_PKEY.call(address, port, index, key.address());
            if (result != 0) {
                throw queries.notInTable(Ibv.QUERY_PKEY, result, port, index);
            }
            return Short.toUnsignedInt(Short.reverseBytes(key.get(ValueLayout.JAVA_SHORT, 0)));
        }
    }

    /**
     * Finds a partition key in a port's table ({@code ibv_get_pkey_index}).
     *
     * @param port the port, from 1
     * @param key the key, 0 to 0xffff
     * @return the index; empty if the port does not have the key
     */
    @CName("ibv_get_pkey_index")
    public OptionalInt pkeyIndex(int port, int key) {
        Checks.checkRange("partition key", key, 0xffff);
        try (var _ = lifetime.held()) {
            Checks.checkRange("port", port, 0xff);
            int index = (int) Ibv.GET_PKEY_INDEX.call(address, port, Short.reverseBytes((short) key) & 0xffffL);
            return index < 0 ? OptionalInt.empty() : OptionalInt.of(index);
        }
    }

    /**
     * Queries the present speed of a port, all its lanes and planes together ({@code ibv_query_port_speed}).
     *
     * @param port the port, from 1
     * @return Mbit/s
     * @throws UnsupportedVerbException if rdma-core is older than 62, or the device does not report the speed; all
     *     devices have {@link Port#gigabitsPerSecond}
     */
    @CName("ibv_query_port_speed")
    public long portSpeed(int port) {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment speed = scratch.allocate(ValueLayout.JAVA_LONG);
            Calls.run(Ibv.QUERY_PORT_SPEED, name() + ", port " + port, address, port, speed.address());
            return speed.get(ValueLayout.JAVA_LONG, 0) * 100;
        }
    }

    /**
     * Reads the counters of a port, with the names and values that the kernel shows. They count what all processes do.
     *
     * @param port the port, from 1
     * @return the counters; none if the kernel shows none. {@link PortCounters#read} needs no open device
     * @throws VerbsException if the device has no such port
     */
    public PortCounters counters(int port) {
        try (var _ = lifetime.held()) {
            queries.port(port); // throws if there is no such port
            return PortCounters.read(device.folder(), port);
        }
    }

    /**
     * Allocates a protection domain, closed by this context's arena ({@code ibv_alloc_pd}).
     *
     * @return a new protection domain
     */
    @CName("ibv_alloc_pd")
    public ProtectionDomain allocateProtectionDomain() {
        return allocateProtectionDomain(arena());
    }

    /**
     * Allocates a protection domain ({@code ibv_alloc_pd}).
     *
     * @param arena the arena that will close the domain
     * @return a new protection domain
     */
    @CName("ibv_alloc_pd")
    public ProtectionDomain allocateProtectionDomain(VerbsArena arena) {
        return ProtectionDomain.allocate(this, arena);
    }

    /**
     * Creates a completion queue, closed by this context's arena ({@code ibv_create_cq}).
     *
     * @param capacity the number of completions that the queue must hold at least
     * @return a new completion queue
     */
    @CName("ibv_create_cq")
    public CompletionQueue createCompletionQueue(int capacity) {
        return createCompletionQueue(capacity, arena());
    }

    /**
     * Creates a completion queue ({@code ibv_create_cq}).
     *
     * @param capacity the number of completions that the queue must hold at least
     * @param arena the arena that will close the queue
     * @return a new completion queue
     */
    @CName("ibv_create_cq")
    public CompletionQueue createCompletionQueue(int capacity, VerbsArena arena) {
        return createCompletionQueue(CompletionQueueOptions.of(capacity), arena);
    }

    /**
     * Creates a completion queue with options, closed by this context's arena ({@code ibv_create_cq}, or
     * {@code ibv_create_cq_ex} for an extended queue).
     *
     * @param options for example {@code CompletionQueueOptions.of(128).channel(channel)}
     * @return a new completion queue
     */
    @CName({"ibv_create_cq", "ibv_create_cq_ex"})
    public CompletionQueue createCompletionQueue(CompletionQueueOptions options) {
        return createCompletionQueue(options, arena());
    }

    /**
     * Creates a completion queue with options ({@code ibv_create_cq}, or {@code ibv_create_cq_ex} for an extended
     * queue).
     *
     * @param options for example {@code CompletionQueueOptions.of(128).channel(channel)}
     * @param arena the arena that will close the queue
     * @return a new completion queue
     */
    @CName({"ibv_create_cq", "ibv_create_cq_ex"})
    public CompletionQueue createCompletionQueue(CompletionQueueOptions options, VerbsArena arena) {
        return CompletionQueue.make(this, options, arena);
    }

    /**
     * Creates a completion channel, closed by this context's arena ({@code ibv_create_comp_channel}).
     *
     * @return a new completion channel
     */
    @CName("ibv_create_comp_channel")
    public CompletionChannel createCompletionChannel() {
        return createCompletionChannel(arena());
    }

    /**
     * Creates a completion channel ({@code ibv_create_comp_channel}).
     *
     * @param arena the arena that will close the channel
     * @return a new completion channel
     */
    @CName("ibv_create_comp_channel")
    public CompletionChannel createCompletionChannel(VerbsArena arena) {
        return CompletionChannel.make(this, arena);
    }

    /**
     * Opens a domain of extended reliable connections that only this process uses, closed by this context's arena
     * ({@code ibv_open_xrcd}).
     *
     * @return a new domain
     */
    @CName("ibv_open_xrcd")
    public XrcDomain openXrcDomain() {
        return openXrcDomain(arena());
    }

    /**
     * Opens a domain of extended reliable connections that only this process uses ({@code ibv_open_xrcd}).
     *
     * @param arena the arena that will close the domain
     * @return a new domain
     */
    @CName("ibv_open_xrcd")
    public XrcDomain openXrcDomain(VerbsArena arena) {
        return XrcDomain.open(this, null, arena);
    }

    /**
     * Opens a domain of extended reliable connections that processes share, closed by this context's arena
     * ({@code ibv_open_xrcd}).
     *
     * @param file the file that all these processes name: any file that can be read
     * @return the domain
     */
    @CName("ibv_open_xrcd")
    public XrcDomain openXrcDomain(Path file) {
        return openXrcDomain(file, arena());
    }

    /**
     * Opens a domain of extended reliable connections that processes share ({@code ibv_open_xrcd}). The first process
     * creates it.
     *
     * @param file the file that all these processes name: any file that can be read
     * @param arena the arena that will close the domain
     * @return the domain
     */
    @CName("ibv_open_xrcd")
    public XrcDomain openXrcDomain(Path file, VerbsArena arena) {
        return XrcDomain.open(this, Objects.requireNonNull(file, "file"), arena);
    }

    /**
     * Returns the path to the sender of a datagram, from the port that received it ({@code ibv_init_ah_from_wc}).
     *
     * @param received the completion of the receive
     * @param header the beginning of the received memory: at least {@link Grh#BYTES} if it has a
     *     {@linkplain WorkCompletion#hasRoutingHeader routing header}
     * @return the path
     * @throws IllegalArgumentException if the completion is not that of a receive that succeeded
     * @throws VerbsException if the header is no routing header, or its destination is none of the port's GIDs
     */
    @CName("ibv_init_ah_from_wc")
    public AddressVector pathBack(WorkCompletion received, MemorySegment header) {
        QueuePair receiver = queuePair(received.queuePairNumber());
        try (var _ = lifetime.held()) {
            return AddressHandle.pathBack(this, received, header, receiver == null ? 1 : PORT.of(receiver.options));
        }
    }

    /**
     * Imports the device of another process, or of another context of this process ({@code ibv_import_device}).
     *
     * @param descriptor a {@link #commandDescriptor} of this process, or received over a Unix socket ({@code
     *     SCM_RIGHTS}). The descriptor stays the caller's, who can close it after this call
     * @param arena the arena that will close the context
     * @return a context of the same device, which can import the other context's objects by their handles
     */
    @CName("ibv_import_device")
    public static Context importDevice(int descriptor, VerbsArena arena) {
        Rdma.requireVerbs();
        if (descriptor < 0) {
            throw new IllegalArgumentException("file descriptor can't be negative, got " + descriptor);
        }
        return ObjectLifetime.create(arena, lifetime -> {
            String words = "file descriptor " + descriptor;
            int own = Calls.number(SystemCall.DUP.function(), words, descriptor);
            long context = Ibv.IMPORT_DEVICE.call(own);
            if (context == 0) {
                int errno = CFunction.errno();
                if (errno == Errno.EINVAL || errno == Errno.EOPNOTSUPP || errno == Errno.ENODEV) {
                    SystemCall.close(own); // with any other error, C may have closed it
                }
                throw Failures.failure(
                        Ibv.IMPORT_DEVICE.name(),
                        errno,
                        words,
                        errno == Errno.EINVAL || errno == Errno.ENODEV
                                ? "This is not an RDMA device's command descriptor"
                                : "");
            }
            lifetime.destroyedBy(() -> Ibv.CLOSE_DEVICE.call(context));
            MemorySegment device =
                    ibv_context.device(MemorySegment.ofAddress(context).reinterpret(ibv_context.sizeof()));
            return new Context(lifetime, Device.read(device.address()), context, null, null);
        });
    }

    /**
     * Returns the file descriptor by which another process can share the device ({@code cmd_fd}).
     *
     * @return the descriptor, which this context closes
     */
    public int commandDescriptor() {
        try (var _ = lifetime.held()) {
            return ibv_context.cmd_fd(MemorySegment.ofAddress(address).reinterpret(ibv_context.sizeof()));
        }
    }

    /**
     * Imports a protection domain of a process that shares the device, closed by this context's arena
     * ({@code ibv_import_pd}).
     *
     * @param handle the {@link ProtectionDomain#handle} in the other process
     * @return the protection domain
     */
    @CName("ibv_import_pd")
    public ProtectionDomain importProtectionDomain(int handle) {
        return importProtectionDomain(handle, arena());
    }

    /**
     * Imports a protection domain of a process that shares the device ({@code ibv_import_pd}). Closing it does not
     * close the other process's domain.
     *
     * @param handle the {@link ProtectionDomain#handle} in the other process
     * @param arena the arena that will close the domain
     * @return the protection domain
     */
    @CName("ibv_import_pd")
    public ProtectionDomain importProtectionDomain(int handle, VerbsArena arena) {
        return ProtectionDomain.imported(this, handle, arena);
    }

    /**
     * Imports device memory of a process that shares the device, closed by this context's arena ({@code
     * ibv_import_dm}).
     *
     * @param handle the {@link DeviceMemory#handle} in the other process
     * @param length the {@link DeviceMemory#length} in the other process
     * @return the device memory
     */
    @CName("ibv_import_dm")
    public DeviceMemory importDeviceMemory(int handle, long length) {
        return importDeviceMemory(handle, length, arena());
    }

    /**
     * Imports device memory of a process that shares the device ({@code ibv_import_dm}). Closing it does not free the
     * other process's memory.
     *
     * @param handle the {@link DeviceMemory#handle} in the other process
     * @param length the {@link DeviceMemory#length} in the other process
     * @param arena the arena that will close the device memory
     * @return the device memory
     */
    @CName("ibv_import_dm")
    public DeviceMemory importDeviceMemory(int handle, long length, VerbsArena arena) {
        return DeviceMemory.imported(this, handle, length, arena);
    }

    /**
     * Allocates memory of the adapter itself, closed by this context's arena ({@code ibv_alloc_dm}).
     *
     * @param length the number of bytes
     * @return device memory
     */
    @CName("ibv_alloc_dm")
    public DeviceMemory allocateDeviceMemory(long length) {
        return allocateDeviceMemory(length, 1);
    }

    /**
     * Allocates aligned memory of the adapter itself, closed by this context's arena ({@code ibv_alloc_dm}).
     *
     * @param length the number of bytes
     * @param alignment a power of two that divides its address; atomics need 8
     * @return device memory
     */
    @CName("ibv_alloc_dm")
    public DeviceMemory allocateDeviceMemory(long length, long alignment) {
        return allocateDeviceMemory(length, alignment, arena());
    }

    /**
     * Allocates aligned memory of the adapter itself ({@code ibv_alloc_dm}).
     *
     * @param length the number of bytes
     * @param alignment a power of two that divides its address; atomics need 8
     * @param arena the arena that will close the device memory
     * @return device memory
     */
    @CName("ibv_alloc_dm")
    public DeviceMemory allocateDeviceMemory(long length, long alignment, VerbsArena arena) {
        return DeviceMemory.allocate(this, length, alignment, arena);
    }

    /**
     * Allocates a thread domain, closed by this context's arena ({@code ibv_alloc_td}).
     *
     * @return a new thread domain
     */
    @CName("ibv_alloc_td")
    public ThreadDomain allocateThreadDomain() {
        return allocateThreadDomain(arena());
    }

    /**
     * Allocates a thread domain ({@code ibv_alloc_td}).
     *
     * @param arena the arena that will close the thread domain
     * @return a new thread domain
     */
    @CName("ibv_alloc_td")
    public ThreadDomain allocateThreadDomain(VerbsArena arena) {
        return ThreadDomain.allocate(this, arena);
    }

    /**
     * Allocates a handle for hints about the use of memory, closed by this context's arena ({@code ibv_alloc_dmah}).
     *
     * @param hints for example {@code DmaHints.none().cpu(3)}
     * @return a new handle
     * @throws UnsupportedVerbException if rdma-core is older than 59, or the device does not support hints
     */
    @CName("ibv_alloc_dmah")
    public DmaHandle allocateDmaHandle(DmaHints hints) {
        return allocateDmaHandle(hints, arena());
    }

    /**
     * Allocates a handle for hints about the use of memory ({@code ibv_alloc_dmah}).
     *
     * @param hints for example {@code DmaHints.none().cpu(3)}
     * @param arena the arena that will close the handle
     * @return a new handle
     * @throws UnsupportedVerbException if rdma-core is older than 59, or the device does not support hints
     */
    @CName("ibv_alloc_dmah")
    public DmaHandle allocateDmaHandle(DmaHints hints, VerbsArena arena) {
        return DmaHandle.allocate(this, hints, arena);
    }

    /**
     * Creates counters for flow rules, closed by this context's arena ({@code ibv_create_counters}).
     *
     * @return new counters
     */
    @CName("ibv_create_counters")
    public Counters createCounters() {
        return createCounters(arena());
    }

    /**
     * Creates counters for flow rules ({@code ibv_create_counters}).
     *
     * @param arena the arena that will close the counters
     * @return new counters
     */
    @CName("ibv_create_counters")
    public Counters createCounters(VerbsArena arena) {
        return Counters.create(this, arena);
    }

    /**
     * Queries the limits of completion counters ({@code ibv_query_comp_cntr_caps}).
     *
     * @return the limits
     * @throws UnsupportedVerbException if rdma-core is older than 65, or the device has no completion counters
     */
    @CName("ibv_query_comp_cntr_caps")
    public CompletionCounter.Limits completionCounterLimits() {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment caps = ibv_comp_cntr_caps.allocate(scratch);
            Calls.run(Ibv.QUERY_COMP_CNTR_CAPS, name(), address, caps.address(), caps.byteSize());
            return CompletionCounter.Limits.read(caps);
        }
    }

    /**
     * Creates a completion counter, closed by this context's arena ({@code ibv_create_comp_cntr}).
     *
     * @param unit the unit to count
     * @return a new counter, with both values 0
     * @throws UnsupportedVerbException if rdma-core is older than 65, or the device has no counters of this unit
     */
    @CName("ibv_create_comp_cntr")
    public CompletionCounter createCompletionCounter(CompletionCounter.Unit unit) {
        return createCompletionCounter(unit, arena());
    }

    /**
     * Creates a completion counter ({@code ibv_create_comp_cntr}).
     *
     * @param unit the unit to count
     * @param arena the arena that will close the counter
     * @return a new counter, with both values 0
     * @throws UnsupportedVerbException if rdma-core is older than 65, or the device has no counters of this unit
     */
    @CName("ibv_create_comp_cntr")
    public CompletionCounter createCompletionCounter(CompletionCounter.Unit unit, VerbsArena arena) {
        return CompletionCounter.create(this, unit, arena);
    }

    /**
     * Creates a table of work queues, closed by this context's arena ({@code ibv_create_rwq_ind_table}).
     *
     * @param queues the entries; their number is a power of two, and a queue can stand in the table twice
     * @return a new table
     */
    @CName("ibv_create_rwq_ind_table")
    public IndirectionTable createIndirectionTable(List<WorkQueue> queues) {
        return createIndirectionTable(queues, arena());
    }

    /**
     * Creates a table of work queues ({@code ibv_create_rwq_ind_table}).
     *
     * @param queues the entries; their number is a power of two, and a queue can stand in the table twice
     * @param arena the arena that will close the table
     * @return a new table
     */
    @CName("ibv_create_rwq_ind_table")
    public IndirectionTable createIndirectionTable(List<WorkQueue> queues, VerbsArena arena) {
        lifetime.checkOpen();
        return IndirectionTable.create(this, queues, arena);
    }

    /**
     * Resolves the Ethernet address of a path's destination ({@code ibv_resolve_eth_l2_from_gid}). The kernel may have
     * to ask the network for it, which can take seconds.
     *
     * @param path a path with a global route
     * @return the hardware address and the virtual network
     * @throws IllegalArgumentException if the path has no global route
     * @throws VerbsException if no neighbour answers
     */
    @CName("ibv_resolve_eth_l2_from_gid")
    public EthernetAddress resolve(AddressVector path) {
        if (path.globalRoute() == null) {
            throw new IllegalArgumentException("a path without a global route has no GID to resolve, got " + path);
        }
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment attributes = ibv_ah_attr.allocate(scratch);
            AddressCodec.writePath(path, attributes);
            MemorySegment mac = scratch.allocate(ValueLayout.JAVA_LONG);
            MemorySegment vlan = scratch.allocate(ValueLayout.JAVA_SHORT);
            Calls.run(
                    Ibv.RESOLVE_ETH_L2_FROM_GID,
                    name() + ", " + path,
                    errno -> "Check that the peer is on the network of this GID",
                    address,
                    attributes.address(),
                    mac.address(),
                    vlan.address());
            return new EthernetAddress(
                    Long.reverseBytes(mac.get(ValueLayout.JAVA_LONG, 0)) >>> (Long.SIZE - 8 * EthernetAddress.BYTES),
                    Short.toUnsignedInt(vlan.get(ValueLayout.JAVA_SHORT, 0)));
        }
    }

    void add(QueuePair queuePair) {
        queuePairs.add(queuePair);
    }

    void remove(QueuePair queuePair) {
        queuePairs.remove(queuePair);
    }

    /** Returns the open queue pair of this context with a number; null if there is none. */
    @Nullable
    QueuePair queuePair(int number) {
        return queuePairs.find(number);
    }

    /** Returns for example {@code rxe0: channel adapter, InfiniBand transport, GUID 5054:00ff:fe12:3456 (open)}. */
    @Override
    public String toString() {
        return device + (isOpen() ? " (open)" : " (closed)");
    }
}
