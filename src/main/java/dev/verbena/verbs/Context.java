package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.Rdma;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Checks;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Descriptors;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.raw.ibv_ah_attr;
import dev.verbena.internal.raw.ibv_context;
import dev.verbena.internal.raw.ibv_device_attr_ex;
import dev.verbena.internal.raw.ibv_gid_entry;
import dev.verbena.internal.raw.ibv_port_attr;
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
import dev.verbena.verbs.device.access.DeviceAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * An open device ({@code struct ibv_context}): where its ports and tables are looked up, and protection domains and
 * completion queues are made.
 */
public final class Context extends VerbsObject {
    static {
        VerbsAccess.install(new VerbsSecrets());
    }

    private final ObjectLifetime lifetime;
    private final Device device;
    private final long address;
    private final DriverFunctions provider;
    private final AsyncEvents events;
    private @Nullable Runnable letGo;
    private final ConcurrentHashMap<Integer, QueuePair> queuePairs = new ConcurrentHashMap<>();

    private Context(ObjectLifetime lifetime, Device device, long address, boolean shared) {
        super(lifetime);
        this.lifetime = lifetime;
        lifetime.destroyedBy(this::destroy);
        this.device = device;
        this.address = address;
        this.provider = DriverFunctions.of(device, address);
        this.events = new AsyncEvents(
                this, ibv_context.async_fd(MemorySegment.ofAddress(address).reinterpret(ibv_context.sizeof())), shared);
    }

    static Context open(Device device, long pointer, VerbsArena arena) {
        return ObjectLifetime.create(
                arena,
                lifetime -> new Context(
                        lifetime,
                        device,
                        VerbFailures.pointer(
                                Ibv.OPEN_DEVICE,
                                Ibv.OPEN_DEVICE.call(pointer),
                                device.name(),
                                "The character device is /dev/infiniband/uverbs*: it must exist and be open to this user"),
                        false));
    }

    /** One that another library has opened, and closes some time after it was let go. */
    static Context adopt(long address, VerbsArena arena, Runnable letGo) {
        MemorySegment device =
                ibv_context.device(MemorySegment.ofAddress(address).reinterpret(ibv_context.sizeof()));
        return ObjectLifetime.create(arena, lifetime -> {
            Context context = new Context(lifetime, Device.read(device.address()), address, true);
            context.letGo = letGo;
            return context;
        });
    }

    @CName("ibv_close_device")
    private void destroy() {
        events.closing();
        if (letGo != null) {
            letGo.run();
            return;
        }
        try {
            VerbFailures.check(Ibv.CLOSE_DEVICE, Ibv.CLOSE_DEVICE.call(address), device.name());
        } catch (VerbsException refused) {
            events.notClosed();
            throw refused;
        }
    }

    /**
     * The device that is open.
     *
     * @return the device
     */
    public Device device() {
        lifetime.checkOpen();
        return device;
    }

    /** The {@code struct ibv_context}. Hold this object while C uses it. */
    long address() {
        return address;
    }

    DriverFunctions provider() {
        return provider;
    }

    /** The device's name, for messages: also of a closed context. */
    String name() {
        return device.name();
    }

    /**
     * What happens to the device, its ports and the objects made here without being asked for.
     *
     * @return the events, to poll, to wait for or to listen to
     */
    public AsyncEvents events() {
        lifetime.checkOpen();
        return events;
    }

    /** Where to add what events can be about, and to remove it: also of a closed context. */
    AsyncEvents eventsEvenIfClosed() {
        return events;
    }

    /**
     * What the device is and can do ({@code ibv_query_device_ex}, or {@code ibv_query_device} where there is no more).
     *
     * @return the attributes
     */
    @CName({"ibv_query_device", "ibv_query_device_ex"})
    public DeviceAttributes attributes() {
        lifetime.hold();
        try {
            MemorySegment attributes = Arena.ofAuto().allocate(ibv_device_attr_ex.layout());
            Optional<MemorySegment> whole = ContextVerb.QUERY_DEVICE_EX.in(address);
            int result = whole.isEmpty()
                    ? Errno.EOPNOTSUPP
                    : (int) CFunction.callAt(whole.get(), address, 0, attributes.address(), attributes.byteSize());
            if (result == Errno.EOPNOTSUPP || result == Errno.ENOSYS) {
                attributes.fill((byte) 0);
                VerbFailures.check(Ibv.QUERY_DEVICE, Ibv.QUERY_DEVICE.call(address, attributes.address()), name());
            } else {
                VerbFailures.check(ContextVerb.QUERY_DEVICE_EX.verb(), result, name(), "");
            }
            return DeviceAccess.get().attributes(attributes);
        } finally {
            lifetime.release();
        }
    }

    /**
     * The device's clock as it is now ({@code ibv_query_rt_values_ex}): what the {@linkplain ExtendedCompletions#timestamp
     * time stamps} of completions are to be compared with.
     *
     * @return ticks
     * @throws UnsupportedVerbException if the device has no clock to read
     */
    @CName("ibv_query_rt_values_ex")
    public long rawClock() {
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment query = VerbFailures.function(ContextVerb.QUERY_RT_VALUES, address, name());
            MemorySegment values = scratch.allocate(ibv_values_ex.layout());
            ibv_values_ex.comp_mask(values, rdma_h.IBV_VALUES_MASK_RAW_CLOCK());
            String verb = ContextVerb.QUERY_RT_VALUES.verb();
            VerbFailures.check(verb, (int) CFunction.callAt(query, address, values.address()), name(), "");
            if ((ibv_values_ex.comp_mask(values) & rdma_h.IBV_VALUES_MASK_RAW_CLOCK()) == 0) {
                throw VerbFailures.failure(verb, Errno.EOPNOTSUPP, name(), "This device has no clock to read");
            }
            MemorySegment clock = ibv_values_ex.raw_clock(values); // a struct timespec: two longs
            return clock.getAtIndex(ValueLayout.JAVA_LONG, 0) * 1_000_000_000L
                    + clock.getAtIndex(ValueLayout.JAVA_LONG, 1);
        } finally {
            lifetime.release();
        }
    }

    /**
     * How many completion vectors there are ({@code num_comp_vectors}): completion queues spread their events over them.
     *
     * @return the count
     */
    public int completionVectors() {
        lifetime.hold();
        try {
            return ibv_context.num_comp_vectors(MemorySegment.ofAddress(address).reinterpret(ibv_context.sizeof()));
        } finally {
            lifetime.release();
        }
    }

    /**
     * A port as it is now ({@code ibv_query_port}).
     *
     * @param number the port, from 1
     * @return the port
     * @throws VerbsException if there is no such port
     */
    @CName("ibv_query_port")
    public Port port(int number) {
        lifetime.hold();
        try {
            // The exported function fills an older, shorter struct: what it leaves must be zero.
            MemorySegment attributes = Arena.ofAuto().allocate(ibv_port_attr.layout());
            Optional<MemorySegment> whole = ContextVerb.QUERY_PORT.in(address);
            Checks.checkRange("port", number, 0xff);
            long result = whole.isPresent()
                    ? CFunction.callAt(whole.get(), address, number, attributes.address(), attributes.byteSize())
                    : Ibv.QUERY_PORT.call(address, number, attributes.address());
            VerbFailures.check(
                    Ibv.QUERY_PORT.name(),
                    (int) result,
                    name() + ", port " + number,
                    (int) result == Errno.EINVAL
                            ? "Ports are numbered from 1 to " + attributes().ports()
                            : "");
            return DeviceAccess.get().port(name(), number, attributes);
        } finally {
            lifetime.release();
        }
    }

    /**
     * All ports as they are now.
     *
     * @return the ports, in order
     */
    public List<Port> ports() {
        List<Port> ports = new ArrayList<>();
        int count = attributes().ports();
        for (int number = 1; number <= count; number++) {
            ports.add(port(number));
        }
        return List.copyOf(ports);
    }

    /**
     * One entry of a port's GID table ({@code ibv_query_gid}).
     *
     * @param port the port, from 1
     * @param index the index in the port's table
     * @return the GID; {@link Gid#ZERO} if the entry is empty
     * @throws VerbsException if there is no such port or index
     */
    @CName("ibv_query_gid")
    public Gid gid(int port, int index) {
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            Checks.checkRange("port", port, 0xff);
            MemorySegment gid = scratch.allocate(Gid.BYTES, Long.BYTES);
            int result = (int) Ibv.QUERY_GID.call(address, port, index, gid.address());
            if (result != 0) {
                throw notInTable(Ibv.QUERY_GID, result, port, index);
            }
            return AddressCodec.readGid(gid, 0);
        } finally {
            lifetime.release();
        }
    }

    /**
     * One entry of a port's GID table with all that is known of it ({@code ibv_query_gid_ex}).
     *
     * @param port the port, from 1
     * @param index the index in the port's table
     * @return the entry; nothing if it is empty
     * @throws VerbsException if there is no such port or index
     */
    @CName("ibv_query_gid_ex")
    public Optional<GidEntry> gidEntry(int port, int index) {
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            Checks.checkRange("port", port, 0xff);
            MemorySegment entry = scratch.allocate(ibv_gid_entry.layout());
            int result = (int) Ibv.QUERY_GID_EX.call(address, port, index, entry.address(), 0, entry.byteSize());
            if (result == Errno.ENODATA) {
                return Optional.empty();
            }
            VerbFailures.check("ibv_query_gid_ex", result, name() + ", port " + port + ", index " + index, "");
            return Optional.of(AddressCodec.readGidEntry(entry));
        } finally {
            lifetime.release();
        }
    }

    /**
     * The entries of all GID tables that are in use ({@code ibv_query_gid_table}).
     *
     * @return the entries, by port and index
     */
    @CName("ibv_query_gid_table")
    public List<GidEntry> gids() {
        int capacity = ports().stream().mapToInt(Port::gidTableLength).sum();
        long size = ibv_gid_entry.sizeof();
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment table = scratch.allocate(size * Math.max(1, capacity), Long.BYTES);
            long count = Ibv.QUERY_GID_TABLE.call(address, table.address(), capacity, 0, size);
            if (count < 0) {
                throw VerbFailures.failure("ibv_query_gid_table", VerbFailures.errnoOf((int) count), name(), "");
            }
            return table.asSlice(0, count * size)
                    .elements(ibv_gid_entry.layout())
                    .map(AddressCodec::readGidEntry)
                    .toList();
        } finally {
            lifetime.release();
        }
    }

    /**
     * The GID that peers reach a port by, where there is a choice: RoCE v2 before v1, IPv4 before IPv6, and link-local
     * addresses last.
     *
     * @param port the port, from 1
     * @return the entry to use
     * @throws NoSuchElementException if the port's GID table is empty, as when its network device has no address
     */
    public GidEntry bestGid(int port) {
        return gids().stream()
                .filter(entry -> entry.port() == port && !entry.gid().isZero())
                .min(Comparator.comparingInt(Context::rank).thenComparingInt(GidEntry::index))
                .orElseThrow(() -> new NoSuchElementException("Port " + port + " of " + name()
                        + " has no GID: its network device needs an IP address ('ip addr add ADDRESS/24 dev DEVICE')"));
    }

    /**
     * One entry of a port's table of partition keys ({@code ibv_query_pkey}).
     *
     * @param port the port, from 1
     * @param index the index in the table
     * @return the key, 0 to 0xffff; 0xffff is the default partition
     * @throws VerbsException if there is no such port or index
     */
    @CName("ibv_query_pkey")
    public int pkey(int port, int index) {
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            Checks.checkRange("port", port, 0xff);
            MemorySegment key = scratch.allocate(ValueLayout.JAVA_SHORT);
            int result = (int) Ibv.QUERY_PKEY.call(address, port, index, key.address());
            if (result != 0) {
                throw notInTable(Ibv.QUERY_PKEY, result, port, index);
            }
            return Short.toUnsignedInt(Short.reverseBytes(key.get(ValueLayout.JAVA_SHORT, 0)));
        } finally {
            lifetime.release();
        }
    }

    /** Ranks a GID: the lower the rank, the better the GID is for reaching its port. */
    private static int rank(GidEntry entry) {
        int kind = switch (entry.type()) {
            case ROCE_V2 -> 0;
            case IB -> 1;
            case ROCE_V1, UNKNOWN -> 2;
        };
        int address = entry.gid().isIpv4Mapped() ? 0 : entry.gid().isLinkLocal() ? 2 : 1;
        return kind * 3 + address;
    }

    private VerbsException notInTable(CFunction verb, int result, int port, int index) {
        int errno = VerbFailures.errnoOf(result);
        Port asked = port(port);
        int length = verb == Ibv.QUERY_GID ? asked.gidTableLength() : asked.pkeyTableLength();
        return VerbFailures.failure(
                verb.name(),
                errno,
                name() + ", port " + port + ", index " + index,
                "This table has " + length + (length == 1 ? " entry" : " entries") + ", from index 0");
    }

    /**
     * Where a partition key is in a port's table ({@code ibv_get_pkey_index}).
     *
     * @param port the port, from 1
     * @param key the key, 0 to 0xffff
     * @return the index; nothing if the port does not have the key
     */
    @CName("ibv_get_pkey_index")
    public OptionalInt pkeyIndex(int port, int key) {
        Checks.checkRange("partition key", key, 0xffff);
        lifetime.hold();
        try {
            Checks.checkRange("port", port, 0xff);
            int index = (int) Ibv.GET_PKEY_INDEX.call(address, port, Short.reverseBytes((short) key) & 0xffffL);
            return index < 0 ? OptionalInt.empty() : OptionalInt.of(index);
        } finally {
            lifetime.release();
        }
    }

    /**
     * What a port carries now, all its lanes and planes together ({@code ibv_query_port_speed}).
     *
     * @param port the port, from 1
     * @return Mbit/s
     * @throws UnsupportedVerbException if rdma-core is older than 62 or the device can't tell; {@link
     *     Port#gigabitsPerSecond} is computed from what all can tell
     */
    @CName("ibv_query_port_speed")
    public long portSpeed(int port) {
        lifetime.checkOpen();
        String arguments = name() + ", port " + port;
        Failures.require(Ibv.QUERY_PORT_SPEED, arguments);
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment speed = scratch.allocate(ValueLayout.JAVA_LONG);
            VerbFailures.check(
                    Ibv.QUERY_PORT_SPEED, Ibv.QUERY_PORT_SPEED.call(address, port, speed.address()), arguments);
            return speed.get(ValueLayout.JAVA_LONG, 0) * 100;
        } finally {
            lifetime.release();
        }
    }

    /**
     * Makes a protection domain, closed by this context's arena ({@code ibv_alloc_pd}).
     *
     * @return a new protection domain
     */
    @CName("ibv_alloc_pd")
    public ProtectionDomain allocateProtectionDomain() {
        return allocateProtectionDomain(arena());
    }

    /**
     * Makes a protection domain ({@code ibv_alloc_pd}).
     *
     * @param arena what will close it
     * @return a new protection domain
     */
    @CName("ibv_alloc_pd")
    public ProtectionDomain allocateProtectionDomain(VerbsArena arena) {
        return ProtectionDomain.allocate(this, arena);
    }

    /**
     * Makes a completion queue, closed by this context's arena ({@code ibv_create_cq}).
     *
     * @param capacity how many completions it must hold at least
     * @return a new completion queue
     */
    @CName("ibv_create_cq")
    public CompletionQueue createCompletionQueue(int capacity) {
        return createCompletionQueue(capacity, arena());
    }

    /**
     * Makes a completion queue ({@code ibv_create_cq}).
     *
     * @param capacity how many completions it must hold at least
     * @param arena what will close it
     * @return a new completion queue
     */
    @CName("ibv_create_cq")
    public CompletionQueue createCompletionQueue(int capacity, VerbsArena arena) {
        return createCompletionQueue(CompletionQueueOptions.of(capacity), arena);
    }

    /**
     * Makes a completion queue with more than a capacity, closed by this context's arena ({@code ibv_create_cq}, or
     * {@code ibv_create_cq_ex} for an extended one).
     *
     * @param options what it is to be like
     * @return a new completion queue
     */
    @CName({"ibv_create_cq", "ibv_create_cq_ex"})
    public CompletionQueue createCompletionQueue(CompletionQueueOptions options) {
        return createCompletionQueue(options, arena());
    }

    /**
     * Makes a completion queue with more than a capacity ({@code ibv_create_cq}, or {@code ibv_create_cq_ex} for an extended
     * one).
     *
     * @param options what it is to be like
     * @param arena what will close it
     * @return a new completion queue
     */
    @CName({"ibv_create_cq", "ibv_create_cq_ex"})
    public CompletionQueue createCompletionQueue(CompletionQueueOptions options, VerbsArena arena) {
        return CompletionQueue.make(this, options, arena);
    }

    /**
     * Makes a completion channel, closed by this context's arena ({@code ibv_create_comp_channel}).
     *
     * @return a new completion channel
     */
    @CName("ibv_create_comp_channel")
    public CompletionChannel createCompletionChannel() {
        return createCompletionChannel(arena());
    }

    /**
     * Makes a completion channel ({@code ibv_create_comp_channel}).
     *
     * @param arena what will close it
     * @return a new completion channel
     */
    @CName("ibv_create_comp_channel")
    public CompletionChannel createCompletionChannel(VerbsArena arena) {
        return CompletionChannel.make(this, arena);
    }

    /**
     * Makes a domain of extended reliable connections that only this process uses, closed by this context's arena
     * ({@code ibv_open_xrcd}).
     *
     * @return a new domain
     */
    @CName("ibv_open_xrcd")
    public XrcDomain openXrcDomain() {
        return XrcDomain.open(this, null, arena());
    }

    /**
     * Opens the domain of extended reliable connections that all processes share which open it by this file, or makes it
     * ({@code ibv_open_xrcd}).
     *
     * @param file any file that can be read
     * @param arena what will close it
     * @return the domain
     */
    @CName("ibv_open_xrcd")
    public XrcDomain openXrcDomain(Path file, VerbsArena arena) {
        return XrcDomain.open(this, file, arena);
    }

    /**
     * The way back to whoever sent a datagram, from the port that it came in by ({@code ibv_init_ah_from_wc}).
     *
     * @param received the end of the receive
     * @param header the beginning of what was received: at least {@link Grh#BYTES} if it has a
     *     {@linkplain WorkCompletion#hasRoutingHeader routing header}
     * @return the path
     * @throws IllegalArgumentException if it was no receive, or failed
     * @throws VerbsException if the header is none, or its destination none of the port's GIDs
     */
    @CName("ibv_init_ah_from_wc")
    public AddressVector pathBack(WorkCompletion received, MemorySegment header) {
        QueuePair receiver = queuePair(received.queuePairNumber());
        lifetime.hold();
        try {
            return AddressHandle.pathBack(this, received, header, receiver == null ? 1 : receiver.port());
        } finally {
            lifetime.release();
        }
    }

    /**
     * Shares the device of another process, or of another context of this one ({@code ibv_import_device}).
     *
     * @param descriptor a {@link #commandDescriptor}, which came here over a Unix socket ({@code SCM_RIGHTS}) or is of
     *     this process; it stays the caller's, and can be closed after this call
     * @param arena what will close the context
     * @return a context of the same device, in which the other's objects can be imported by their handles
     */
    @CName("ibv_import_device")
    public static Context importDevice(int descriptor, VerbsArena arena) {
        Rdma.requireVerbs();
        if (descriptor < 0) {
            throw new IllegalArgumentException("A file descriptor can't be negative: " + descriptor);
        }
        return ObjectLifetime.create(arena, lifetime -> {
            int own = Descriptors.duplicate(descriptor);
            long context = Ibv.IMPORT_DEVICE.call(own);
            if (context == 0) {
                int errno = CFunction.errno();
                if (errno == Errno.EINVAL || errno == Errno.EOPNOTSUPP || errno == Errno.ENODEV) {
                    Descriptors.close(own); // what else fails may have closed it already
                }
                throw VerbFailures.failure(
                        Ibv.IMPORT_DEVICE.name(),
                        errno,
                        "file descriptor " + descriptor,
                        errno == Errno.EINVAL || errno == Errno.ENODEV
                                ? "It is not an RDMA device's command descriptor"
                                : "");
            }
            MemorySegment device =
                    ibv_context.device(MemorySegment.ofAddress(context).reinterpret(ibv_context.sizeof()));
            return new Context(lifetime, Device.read(device.address()), context, false);
        });
    }

    /**
     * The file descriptor by which another process can share the device ({@code cmd_fd}).
     *
     * @return the descriptor; it stays this context's
     */
    public int commandDescriptor() {
        lifetime.hold();
        try {
            return ibv_context.cmd_fd(MemorySegment.ofAddress(address).reinterpret(ibv_context.sizeof()));
        } finally {
            lifetime.release();
        }
    }

    /**
     * Takes a protection domain of a process that shares the device ({@code ibv_import_pd}). Closing it leaves the other
     * process's alone.
     *
     * @param handle its {@link ProtectionDomain#handle} there
     * @param arena what will close it
     * @return the protection domain
     */
    @CName("ibv_import_pd")
    public ProtectionDomain importProtectionDomain(int handle, VerbsArena arena) {
        return ProtectionDomain.imported(this, handle, arena);
    }

    /**
     * Takes device memory of a process that shares the device ({@code ibv_import_dm}). Closing it leaves the other
     * process's alone.
     *
     * @param handle its {@link DeviceMemory#handle} there
     * @param length its {@link DeviceMemory#length} there
     * @param arena what will close it
     * @return the device memory
     */
    @CName("ibv_import_dm")
    public DeviceMemory importDeviceMemory(int handle, long length, VerbsArena arena) {
        return DeviceMemory.imported(this, handle, length, arena);
    }

    /**
     * Allocates memory of the adapter itself, closed by this context's arena ({@code ibv_alloc_dm}).
     *
     * @param length how many bytes
     * @return device memory
     */
    @CName("ibv_alloc_dm")
    public DeviceMemory allocateDeviceMemory(long length) {
        return allocateDeviceMemory(length, 1, arena());
    }

    /**
     * Allocates memory of the adapter itself ({@code ibv_alloc_dm}).
     *
     * @param length how many bytes
     * @param alignment a power of two that its address must be a multiple of, as atomics need 8
     * @param arena what will close it
     * @return device memory
     */
    @CName("ibv_alloc_dm")
    public DeviceMemory allocateDeviceMemory(long length, long alignment, VerbsArena arena) {
        return DeviceMemory.allocate(this, length, alignment, arena);
    }

    /**
     * Makes a thread domain ({@code ibv_alloc_td}).
     *
     * @param arena what will close it
     * @return a new thread domain
     */
    @CName("ibv_alloc_td")
    public ThreadDomain allocateThreadDomain(VerbsArena arena) {
        return ThreadDomain.allocate(this, arena);
    }

    /**
     * Makes a handle for hints about how memory will be used ({@code ibv_alloc_dmah}).
     *
     * @param hints the hints
     * @param arena what will close it
     * @return a new handle
     * @throws dev.verbena.UnsupportedVerbException if rdma-core is older than 59 or the device can't
     */
    @CName("ibv_alloc_dmah")
    public DmaHandle allocateDmaHandle(DmaHints hints, VerbsArena arena) {
        return DmaHandle.allocate(this, hints, arena);
    }

    /**
     * Makes counters for flow rules ({@code ibv_create_counters}).
     *
     * @param arena what will close them
     * @return new counters
     */
    @CName("ibv_create_counters")
    public Counters createCounters(VerbsArena arena) {
        return Counters.create(this, arena);
    }

    /**
     * Makes a table of work queues ({@code ibv_create_rwq_ind_table}).
     *
     * @param queues the entries, whose number is a power of two; a queue may come twice
     * @param arena what will close it
     * @return a new table
     */
    @CName("ibv_create_rwq_ind_table")
    public IndirectionTable createIndirectionTable(List<WorkQueue> queues, VerbsArena arena) {
        return IndirectionTable.create(this, queues, arena);
    }

    /**
     * Where packets along a path go on Ethernet ({@code ibv_resolve_eth_l2_from_gid}). This asks the neighbours when they
     * are not known, and may take seconds.
     *
     * @param path a path with a global route
     * @return the hardware address, and the virtual network
     * @throws VerbsException if nobody answers
     */
    @CName("ibv_resolve_eth_l2_from_gid")
    public EthernetAddress resolve(AddressVector path) {
        if (path.globalRoute() == null) {
            throw new IllegalArgumentException("A path without a global route has no GID to resolve: " + path);
        }
        lifetime.hold();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment attributes = scratch.allocate(ibv_ah_attr.layout());
            AddressCodec.writePath(path, attributes);
            MemorySegment mac = scratch.allocate(Long.BYTES, Long.BYTES);
            MemorySegment vlan = scratch.allocate(ValueLayout.JAVA_SHORT);
            int result = (int)
                    Ibv.RESOLVE_ETH_L2_FROM_GID.call(address, attributes.address(), mac.address(), vlan.address());
            if (result != 0) {
                throw VerbFailures.failure(
                        Ibv.RESOLVE_ETH_L2_FROM_GID.name(),
                        VerbFailures.errnoOf(result),
                        name() + ", " + path,
                        "Is the peer on the network of this GID?");
            }
            return new EthernetAddress(
                    Long.reverseBytes(mac.get(ValueLayout.JAVA_LONG, 0)) >>> Long.SIZE - 8 * EthernetAddress.BYTES,
                    Short.toUnsignedInt(vlan.get(ValueLayout.JAVA_SHORT, 0)));
        } finally {
            lifetime.release();
        }
    }

    void add(QueuePair queuePair) {
        queuePairs.put(queuePair.numberEvenIfClosed(), queuePair);
    }

    void remove(QueuePair queuePair) {
        queuePairs.remove(queuePair.numberEvenIfClosed(), queuePair);
    }

    /** The queue pair with a number, if it is one of this context's and open. */
    @Nullable
    QueuePair queuePair(int number) {
        return queuePairs.get(number);
    }

    /** For example {@code rxe0: channel adapter, InfiniBand transport, GUID 5054:00ff:fe12:3456 (open)}. */
    @Override
    public String toString() {
        return device + (isOpen() ? " (open)" : " (closed)");
    }
}
