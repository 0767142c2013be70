package dev.verbena.support;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.MW_BIND;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.cm.AddressInfo;
import dev.verbena.cm.ConnectRequest;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.Listener;
import dev.verbena.cm.MulticastMembership;
import dev.verbena.cm.PortSpace;
import dev.verbena.cm.PrivateData;
import dev.verbena.net.Export;
import dev.verbena.net.Handler;
import dev.verbena.net.Node;
import dev.verbena.sockets.MappedSegment;
import dev.verbena.sockets.RdmaSocketChannel;
import dev.verbena.sockets.RdmaSocketOptions;
import dev.verbena.sockets.RdmaSockets;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.AddressSpace;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.BufferPool;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionCounter;
import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Counters;
import dev.verbena.verbs.DeviceMemory;
import dev.verbena.verbs.DmaHandle;
import dev.verbena.verbs.DmaHints;
import dev.verbena.verbs.DriverBuffer;
import dev.verbena.verbs.Ece;
import dev.verbena.verbs.ExtendedCompletions;
import dev.verbena.verbs.Flow;
import dev.verbena.verbs.IndirectionTable;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ParentDomainOptions;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.RateLimit;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.RegionChange;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.RegistrationCache;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;
import dev.verbena.verbs.SendSlots;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.SharedReceiveQueueOptions;
import dev.verbena.verbs.TagMatching;
import dev.verbena.verbs.ThreadDomain;
import dev.verbena.verbs.UnsignaledPosts;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkQueue;
import dev.verbena.verbs.WorkQueueOptions;
import dev.verbena.verbs.XrcDomain;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.device.QueuePairType;
import dev.verbena.verbs.flow.FlowMatch;
import dev.verbena.verbs.flow.FlowRule;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One object of each kind, made on first use, and a plausible argument of each type.
 *
 * <p><b>A new kind of object, or of argument, needs one line in the lists below.</b>
 */
public final class Specimens implements AutoCloseable {
    private static final int UD_KEY = 0x11;
    private static final MemorySegment MEMORY = Arena.global().allocate(64, 64);
    private static final FileChannel FILE = file();

    private static final List<Recipe<?>> RECIPES = new ArrayList<>();
    private static final Map<String, Function<Specimens, ?>> ARGUMENTS = new HashMap<>();
    private static final Map<String, Function<Specimens, ?>> ARGUMENTS_OF_IDS = new HashMap<>();
    private static final Map<Class<?>, Function<Specimens, ?>> CLOSED_ARGUMENTS = new LinkedHashMap<>();

    /** Makes a specimen in an arena, or for another one. */
    @FunctionalInterface
    public interface Maker<O, T> {
        T make(Specimens it, O in) throws Exception;
    }

    /**
     * A recipe for a specimen.
     *
     * @param name the class's, and what sets it apart from others of the class
     * @param owner of what is no verbs object itself: the one that it can't live without
     * @param rare whether there are devices without it
     */
    public record Recipe<T>(
            String name, Class<T> type, @Nullable Recipe<?> owner, boolean rare, Maker<VerbsArena, T> maker) {
        /** Closes the specimen or its owner. */
        public Recipe<?> object() {
            return owner == null ? this : owner;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    // The verbs objects

    private static final Recipe<Context> CONTEXT =
            object(Context.class, (it, in) -> TestDevice.get().open(in));
    private static final Recipe<ProtectionDomain> DOMAIN =
            object(ProtectionDomain.class, (it, in) -> it.the(CONTEXT).allocateProtectionDomain(in));
    private static final Recipe<CompletionQueue> QUEUE =
            object(CompletionQueue.class, (it, in) -> it.the(CONTEXT).createCompletionQueue(16, in));
    private static final Recipe<CompletionQueue> EXTENDED_QUEUE = object(
            CompletionQueue.class,
            "extended",
            (it, in) -> it.the(CONTEXT)
                    .createCompletionQueue(CompletionQueueOptions.of(16).fields(CompletionField.standard()), in));
    private static final Recipe<CompletionChannel> CHANNEL =
            object(CompletionChannel.class, (it, in) -> it.the(CONTEXT).createCompletionChannel(in));
    private static final Recipe<MemoryRegion> REGION = object(
            MemoryRegion.class,
            (it, in) -> it.the(DOMAIN)
                    .register(MEMORY, List.of(LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC, MW_BIND), in));
    private static final Recipe<MemoryWindow> WINDOW =
            object(MemoryWindow.class, (it, in) -> it.the(DOMAIN).allocateMemoryWindow(MemoryWindow.Type.TYPE_2, in));
    private static final Recipe<QueuePair> PAIR =
            object(QueuePair.class, "connected with itself", (it, in) -> it.connected(QueuePair.rc(it.the(QUEUE)), in));
    private static final Recipe<QueuePair> COUNTED_PAIR = object(QueuePair.class, "with counted sends", (it, in) -> {
        QueuePair pair = it.connected(QueuePair.rc(it.the(QUEUE)), in);
        SendSlots.of(pair);
        return pair;
    });
    private static final Recipe<QueuePair> NEW_PAIR = object(
            QueuePair.class,
            "new",
            (it, in) ->
                    it.the(DOMAIN).createQueuePair(QueuePair.rc(it.the(QUEUE)).inlineSize(64), in));
    private static final Recipe<QueuePair> DATAGRAM_PAIR =
            object(QueuePair.class, "for datagrams", (it, in) -> it.datagramPair(it.the(QUEUE), in));
    private static final Recipe<SharedReceiveQueue> SHARED = object(
            SharedReceiveQueue.class,
            (it, in) -> it.the(DOMAIN)
                    .createSharedReceiveQueue(SharedReceiveQueue.basic().depth(4), in));
    private static final Recipe<AddressHandle> PATH = object(
            AddressHandle.class, (it, in) -> it.the(DOMAIN).createAddressHandle(it.sample(AddressVector.class), in));

    // Objects of the connection manager, which has its own contexts

    private static final Recipe<EventChannel> CM_CHANNEL =
            object(EventChannel.class, (it, in) -> EventChannel.create(in));
    private static final Recipe<ConnectionId> CM_ID =
            object(ConnectionId.class, (it, in) -> it.boundId(PortSpace.TCP, in));
    private static final Recipe<ConnectionId> CM_LISTENER = object(ConnectionId.class, "listening", (it, in) -> {
        ConnectionId id = it.boundId(PortSpace.TCP, in);
        id.listen(4);
        return id;
    });
    private static final Recipe<ConnectionId> CM_CONNECTION = object(
            ConnectionId.class, "of a connection", (it, in) -> it.connection(in).id());
    private static final Recipe<ConnectionId> CM_SERVER = object(
            ConnectionId.class, "of a listener", (it, in) -> it.listener(in).id());
    private static final Recipe<ProtectionDomain> CM_DOMAIN = argumentOnly(
            ProtectionDomain.class,
            "of the connection manager",
            (it, in) -> it.the(CM_ID).context().allocateProtectionDomain(in));
    private static final Recipe<CompletionQueue> CM_QUEUE = argumentOnly(
            CompletionQueue.class,
            "of the connection manager",
            (it, in) -> it.the(CM_ID).context().createCompletionQueue(4, in));
    private static final Recipe<QueuePair> CM_PAIR = argumentOnly(
            QueuePair.class,
            "for an id",
            (it, in) -> it.the(CM_DOMAIN).createQueuePair(QueuePair.rc(it.the(CM_QUEUE)), in));
    private static final Recipe<MulticastMembership> MEMBERSHIP =
            object(MulticastMembership.class, (it, in) -> it.membership(in));

    static {
        view(Connection.class, CM_CONNECTION, (it, id) -> it.connection(id));
        view(Listener.class, CM_SERVER, (it, id) -> it.listener(id));
        view(ConnectRequest.class, CM_LISTENER, (it, id) -> it.request(id));
    }

    private static final Recipe<Node> NODE = object(Node.class, (it, in) -> Node.open(CmAddress.four(0), in));

    private static final Recipe<MappedSegment> MAPPED = object(MappedSegment.class, (it, in) -> it.mapped(in));

    // Registered memory

    private static final Recipe<MemoryRegion> POOLED = argumentOnly(MemoryRegion.class, "of a pool", (it, in) -> {
        BufferPool pool = BufferPool.of(it.the(DOMAIN), 2, 8, List.of(), in);
        it.byRegion.put(pool.region(), pool);
        return pool.region();
    });
    private static final Recipe<MemoryRegion> CACHED = argumentOnly(MemoryRegion.class, "of a cache", (it, in) -> {
        RegistrationCache.Use use =
                RegistrationCache.of(it.the(DOMAIN), 2, List.of(), in).use(MEMORY);
        it.byRegion.put(use.region(), use);
        return use.region();
    });

    // Objects that few devices support

    private static final Recipe<QueuePair> EXTENDED_PAIR = rare(
            QueuePair.class,
            "extended",
            (it, in) -> it.connected(
                    QueuePair.rc(it.the(QUEUE))
                            .operations(
                                    QueuePairOptions.OfferedOperation.RDMA_WRITE,
                                    QueuePairOptions.OfferedOperation.ATOMIC_WRITE),
                    in));
    private static final Recipe<QueuePair> RAW_PAIR = rare(
            QueuePair.class,
            "for frames",
            (it, in) -> it.the(DOMAIN).createQueuePair(QueuePair.rawPacket(it.the(QUEUE)), in));
    private static final Recipe<XrcDomain> XRC =
            rare(XrcDomain.class, (it, in) -> it.the(CONTEXT).openXrcDomain(Path.of("/"), in));
    private static final Recipe<SharedReceiveQueue> TAGGED = rare(
            SharedReceiveQueue.class,
            "by tag",
            (it, in) ->
                    it.the(DOMAIN).createSharedReceiveQueue(SharedReceiveQueue.tagMatching(it.the(QUEUE), 4, 4), in));
    private static final Recipe<AddressSpace> SPACE =
            rare(AddressSpace.class, (it, in) -> it.the(DOMAIN).registerAddressSpace(List.of(LOCAL_WRITE), in));
    private static final Recipe<Counters> COUNTERS =
            rare(Counters.class, (it, in) -> it.the(CONTEXT).createCounters(in));
    private static final Recipe<DeviceMemory> DEVICE_MEMORY =
            rare(DeviceMemory.class, (it, in) -> it.the(CONTEXT).allocateDeviceMemory(4096, 64, in));
    private static final Recipe<DmaHandle> DMA_HANDLE = rare(
            DmaHandle.class,
            (it, in) -> it.the(CONTEXT).allocateDmaHandle(DmaHints.none().cpu(0), in));
    private static final Recipe<DriverBuffer> DRIVER_BUFFER =
            rare(DriverBuffer.class, (it, in) -> it.the(DOMAIN).allocateBuffer(64, in));
    private static final Recipe<CompletionCounter> COMPLETION_COUNTER = rare(
            CompletionCounter.class,
            (it, in) -> it.the(CONTEXT).createCompletionCounter(CompletionCounter.Unit.BYTES, in));
    private static final Recipe<Flow> FLOW =
            rare(Flow.class, (it, in) -> it.the(RAW_PAIR).createFlow(FlowRule.of(FlowMatch.ethernet()), in));
    private static final Recipe<ThreadDomain> THREADS =
            rare(ThreadDomain.class, (it, in) -> it.the(CONTEXT).allocateThreadDomain(in));
    private static final Recipe<ProtectionDomain> PARENT = rare(
            ProtectionDomain.class,
            "parent",
            (it, in) -> it.the(DOMAIN)
                    .allocateParentDomain(ParentDomainOptions.defaults().threadDomain(it.the(THREADS)), in));
    private static final Recipe<WorkQueue> WORK_QUEUE = rare(
            WorkQueue.class, (it, in) -> it.the(DOMAIN).createWorkQueue(WorkQueueOptions.of(it.the(QUEUE), 4), in));
    private static final Recipe<IndirectionTable> TABLE = rare(
            IndirectionTable.class,
            (it, in) -> it.the(CONTEXT).createIndirectionTable(List.of(it.the(WORK_QUEUE)), in));

    // Objects that belong to a verbs object, with a request or a completion

    static {
        view(SendBatch.class, PAIR, (it, pair) -> pair.sendBatch(8).send(1, it.the(REGION)));
        view(
                SendBatch.class,
                "of datagrams",
                DATAGRAM_PAIR,
                (it, pair) -> pair.sendBatch(8).send(1, it.the(REGION)).to(it.the(PATH), 1, UD_KEY));
        view(
                SendBatch.class,
                "extended",
                EXTENDED_PAIR,
                (it, pair) -> pair.sendBatch(8)
                        .write(1, it.the(REGION), it.the(REGION).remote()));
        view(ReceiveBatch.class, PAIR, (it, pair) -> pair.receiveBatch(8).receive(1, it.the(REGION)));
        view(
                ReceiveBatch.class,
                "shared",
                SHARED,
                (it, shared) -> shared.receiveBatch(8).receive(1, it.the(REGION)));
        view(Completions.class, QUEUE, (it, queue) -> it.polled(queue, queue.completions(2)));
        view(ExtendedCompletions.class, EXTENDED_QUEUE, (it, queue) -> it.polled(queue, queue.extendedCompletions(2)));
        view(SendSlots.class, COUNTED_PAIR, (it, pair) -> SendSlots.of(pair));
        view(UnsignaledPosts.class, PAIR, (it, pair) -> pair.unsignaled());
        view(AsyncEvents.class, CONTEXT, (it, context) -> context.events());
        view(LocalMemory.class, REGION, (it, region) -> region.slice(8, 16));
        view(BufferPool.class, POOLED, (it, region) -> (BufferPool) it.byRegion.get(region));
        view(RegistrationCache.class, DOMAIN, (it, domain) -> RegistrationCache.of(domain, 2, List.of(), it.others));
        view(RegistrationCache.Use.class, CACHED, (it, region) -> (RegistrationCache.Use) it.byRegion.get(region));
        view(Export.class, NODE, (it, node) -> node.export("table", MEMORY, List.of(REMOTE_READ), it.others));
        view(TagMatching.class, TAGGED, (it, shared) -> shared.tags());
    }

    // Arguments

    static {
        argument(boolean.class, it -> true);
        argument(byte.class, it -> (byte) 1);
        argument(int.class, it -> 1);
        argument(long.class, it -> 1L);
        argument(InetSocketAddress.class, it -> CmAddress.four(1));
        argument(Duration.class, it -> Duration.ofMillis(1));
        argument(Path.class, it -> Path.of("/"));
        argument(FileChannel.class, it -> FILE);
        argument(MemorySegment.class, it -> MEMORY);
        argument(MemoryLayout.class, it -> ValueLayout.JAVA_LONG);
        argument(SendBatch.class, it -> it.the(COUNTED_PAIR).sendBatch(1).send(1, it.the(REGION)));
        argument(
                AddressVector.class,
                it -> it.the(NEW_PAIR).pathTo(it.the(NEW_PAIR).endpoint()));
        argument(CompletionQueueOptions.class, it -> CompletionQueueOptions.of(1));
        argument(QueuePairAttributes.class, it -> QueuePairAttributes.none());
        argument(Endpoint.class, it -> it.the(NEW_PAIR).endpoint());
        argument(Gid.class, it -> it.the(NEW_PAIR).endpoint().gid());
        argument(LocalMemory.class, it -> it.the(REGION));
        argument(DmaHints.class, it -> DmaHints.none().cpu(0));
        argument(ParentDomainOptions.class, it -> ParentDomainOptions.defaults());
        argument(RegionOptions.class, it -> RegionOptions.of(MEMORY));
        argument(Ece.class, it -> new Ece(1, 1));
        argument(Consumer.class, it -> (Consumer<Object>) taken -> {});
        argument(AutoCloseable.class, it -> () -> {});
        argument(Handler.class, it -> (Handler) (channel, message) -> {});
        argument(RateLimit.class, it -> RateLimit.of(1));
        argument(FlowRule.class, it -> FlowRule.of(FlowMatch.ethernet()));
        argument(RegionChange.class, it -> RegionChange.of(LOCAL_WRITE));
        argument(WorkQueueOptions.class, it -> WorkQueueOptions.of(it.the(QUEUE), 4));
        argument(QueuePairAttributes.class, it -> QueuePairAttributes.to(QueuePairState.ERR));
        argument(QueuePairOptions.class, it -> QueuePair.rc(it.the(QUEUE)));
        argument(RemoteMemory.class, it -> it.the(REGION).remote());
        argument(SharedReceiveQueueOptions.class, it -> SharedReceiveQueue.basic());
        argument(VerbsArena.class, it -> it.special == PARENT ? it.ofSpecial : it.others);
        argument(WorkCompletion.class, Specimens::receivedDatagram);
        argument(String.class, it -> "1");
        argument(SocketAddress.class, it -> CmAddress.four(0));
        argument(
                AddressInfo.class,
                it -> AddressInfo.hints()
                        .flags(AddressInfo.Flag.PASSIVE)
                        .space(PortSpace.TCP)
                        .type(QueuePairType.RC)
                        .source(CmAddress.four(0)));
        argument(ConnectionParameters.class, it -> ConnectionParameters.defaults());
        argument(ConnectionResources.class, it -> ConnectionResources.defaults());
        argument(PrivateData.class, it -> PrivateData.NONE);
        argument(QueueCapabilities.class, it -> QueueCapabilities.of(1, 1));
        // A method of an id takes arguments of the id's context.
        ofIds(ProtectionDomain.class, it -> it.the(CM_DOMAIN));
        ofIds(QueuePair.class, it -> it.the(CM_PAIR));
        ofIds(QueuePairOptions.class, it -> QueuePair.rc(it.the(CM_QUEUE)));
    }

    // Arguments that contain a closed object; closed objects themselves need no line

    static {
        CLOSED_ARGUMENTS.put(LocalMemory.class, it -> it.closed(REGION));
        CLOSED_ARGUMENTS.put(QueuePairOptions.class, it -> QueuePair.rc(it.closed(QUEUE)));
        CLOSED_ARGUMENTS.put(
                CompletionQueueOptions.class, it -> CompletionQueueOptions.of(1).channel(it.closed(CHANNEL)));
        CLOSED_ARGUMENTS.put(
                SharedReceiveQueueOptions.class, it -> SharedReceiveQueue.tagMatching(it.closed(QUEUE), 1, 1));
        CLOSED_ARGUMENTS.put(RegionChange.class, it -> RegionChange.of(it.closed(DOMAIN)));
        CLOSED_ARGUMENTS.put(WorkQueueOptions.class, it -> WorkQueueOptions.of(it.closed(QUEUE), 4));
        CLOSED_ARGUMENTS.put(VerbsArena.class, it -> {
            VerbsArena arena = usual(it.special).make();
            arena.close();
            return arena;
        });
    }

    private final Recipe<?> special;
    private final VerbsArena ofSpecial;
    private final VerbsArena others = VerbsArena.ofShared();
    private final Map<Recipe<?>, Object> made = new HashMap<>();
    private final List<VerbsObject> objects = new ArrayList<>();
    private final Map<ConnectionId, AutoCloseable> byId = new HashMap<>();
    private final Map<MemoryRegion, Object> byRegion = new HashMap<>();
    private final List<RdmaSocketChannel> sockets = new ArrayList<>();

    /** Uses an arena of the usual kind for one recipe, and a shared arena for all others. */
    public Specimens(Recipe<?> special) {
        this(special, usual(special));
    }

    /** Returns the kind of arena that a specimen makes objects in: a parent domain with a thread domain has no locks. */
    private static ArenaKind usual(Recipe<?> recipe) {
        return recipe == PARENT ? ArenaKind.CONFINED : ArenaKind.SHARED;
    }

    /** Uses the given kind of arena for one recipe, and a shared arena for all others. */
    public Specimens(Recipe<?> special, ArenaKind kind) {
        this.special = special;
        this.ofSpecial = kind.make();
    }

    private static <T> Recipe<T> object(Class<T> type, Maker<VerbsArena, T> maker) {
        return object(type, "", maker);
    }

    private static <T> Recipe<T> object(Class<T> type, String what, Maker<VerbsArena, T> maker) {
        return add(type, what, null, false, maker);
    }

    private static <T> Recipe<T> rare(Class<T> type, Maker<VerbsArena, T> maker) {
        return rare(type, "", maker);
    }

    private static <T> Recipe<T> rare(Class<T> type, String what, Maker<VerbsArena, T> maker) {
        return add(type, what, null, true, maker);
    }

    private static <T, O> void view(Class<T> type, Recipe<O> owner, Maker<O, T> maker) {
        view(type, "", owner, maker);
    }

    private static <T, O> void view(Class<T> type, String what, Recipe<O> owner, Maker<O, T> maker) {
        add(type, what, owner, owner.rare(), (it, in) -> maker.make(it, it.the(owner)));
    }

    private static <T> Recipe<T> add(
            Class<T> type, String what, @Nullable Recipe<?> owner, boolean rare, Maker<VerbsArena, T> maker) {
        String name = type.getCanonicalName().substring(type.getPackageName().length() + 1);
        Recipe<T> recipe = new Recipe<>(what.isEmpty() ? name : name + ", " + what, type, owner, rare, maker);
        RECIPES.add(recipe);
        return recipe;
    }

    /** Makes another specimen of the same kind, for methods that take one as an argument. */
    private static <T> Recipe<T> argumentOnly(Class<T> type, String what, Maker<VerbsArena, T> maker) {
        return new Recipe<>(what, type, null, false, maker);
    }

    private static <T> void argument(Class<T> type, Function<Specimens, ? extends T> maker) {
        ARGUMENTS.put(type.getTypeName(), maker);
    }

    private static <T> void ofIds(Class<T> type, Function<Specimens, ? extends T> maker) {
        ARGUMENTS_OF_IDS.put(type.getTypeName(), maker);
    }

    /** Returns the recipes for a class, at least one. */
    public static List<Recipe<?>> recipes(Class<?> type) {
        List<Recipe<?>> found =
                RECIPES.stream().filter(recipe -> recipe.type() == type).toList();
        if (found.isEmpty()) {
            throw new AssertionError("No specimen of " + type + ": add a line to " + Specimens.class.getName());
        }
        return found;
    }

    /** Returns the reason why this device does not support a specimen. */
    public Optional<VerbsException> missing(Recipe<?> recipe) {
        try {
            the(recipe);
            return Optional.empty();
        } catch (VerbsException e) {
            if (recipe.rare()) {
                return Optional.of(e);
            }
            throw e;
        }
    }

    /** Returns the specimen of a recipe, always the same. */
    public <T> T the(Recipe<T> recipe) {
        Object known = made.get(recipe);
        if (known == null) {
            made.put(recipe, known = fresh(recipe));
        }
        return recipe.type().cast(known);
    }

    /** Makes a new specimen of a recipe. */
    private <T> T fresh(Recipe<T> recipe) {
        try {
            T fresh = recipe.maker().make(this, recipe == special ? ofSpecial : others);
            if (fresh instanceof VerbsObject object) {
                objects.add(object);
            }
            return fresh;
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private <T extends VerbsObject> T closed(Recipe<T> recipe) {
        T object = fresh(recipe);
        object.close();
        return object;
    }

    private QueuePair connected(QueuePairOptions options, VerbsArena arena) {
        QueuePair pair =
                the(DOMAIN).createQueuePair(options.inlineSize(64).sendSge(2).receiveSge(2), arena);
        pair.connect(pair.endpoint());
        return pair;
    }

    /** Returns memory that the peer of a socket writes to. */
    private MappedSegment mapped(VerbsArena arena) throws IOException {
        try (ServerSocketChannel server = RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET)) {
            server.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 1).bind(CmAddress.four(0));
            RdmaSocketChannel client = RdmaSockets.openSocketChannel(StandardProtocolFamily.INET);
            sockets.add(client);
            client.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 1).connect(server.getLocalAddress());
            RdmaSocketChannel accepted = (RdmaSocketChannel) server.accept();
            sockets.add(accepted);
            return accepted.map(MEMORY, 0, arena);
        }
    }

    /** Returns a cursor that is positioned at a completion. */
    private <C extends Completions> C polled(CompletionQueue queue, C cursor) {
        try (QueuePair pair = connected(QueuePair.rc(queue), others)) {
            pair.postWrite(1, the(REGION), the(REGION).remote());
            Await.until("a completion on " + queue, () -> cursor.poll() > 0);
            cursor.next();
            cursor.orThrow();
            return cursor;
        }
    }

    /** Returns the completion of a datagram's receive, whose header is at the beginning of the memory. */
    private WorkCompletion receivedDatagram() {
        try (CompletionQueue queue = the(CONTEXT).createCompletionQueue(4, others);
                QueuePair pair = datagramPair(queue, others)) {
            pair.postReceive(1, the(REGION));
            pair.postSend(2, the(REGION).slice(0, 8), the(PATH), pair.number(), UD_KEY);
            while (true) {
                WorkCompletion next = queue.await(Loopback.DEADLINE).orThrow();
                if (next.isReceive()) {
                    return next;
                }
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private QueuePair datagramPair(CompletionQueue queue, VerbsArena arena) {
        QueuePair pair =
                the(DOMAIN).createQueuePair(QueuePair.ud(queue).inlineSize(64).sendSge(2), arena);
        pair.toReady(UD_KEY);
        return pair;
    }

    private ConnectionId boundId(PortSpace space, VerbsArena arena) {
        ConnectionId id = the(CM_CHANNEL).createId(space, arena);
        id.bind(CmAddress.four(0));
        return id;
    }

    private MulticastMembership membership(VerbsArena arena) throws InterruptedException {
        ConnectionId id = track(boundId(PortSpace.UDP, others));
        track(id.createQueuePair(the(CM_DOMAIN), QueuePair.ud(the(CM_QUEUE)), others));
        InetSocketAddress group = new InetSocketAddress("239.1.1.7", 0);
        return id.join(group, MulticastMembership.Kind.FULL_MEMBER, Loopback.DEADLINE, arena);
    }

    private Connection connection(VerbsArena arena) throws InterruptedException {
        ConnectionId listener = the(CM_LISTENER);
        Connection made = Connection.to(listener.localAddress().orElseThrow(), Loopback.DEADLINE, arena);
        byId.put(made.id(), made);
        return made;
    }

    private static FileChannel file() {
        try {
            return FileChannel.open(Path.of(System.getProperty("java.home"), "release"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Connection connection(ConnectionId id) {
        return (Connection) byId.get(id);
    }

    private Listener listener(VerbsArena arena) {
        Listener made = Listener.open(CmAddress.four(0), arena);
        byId.put(made.id(), made);
        return made;
    }

    private Listener listener(ConnectionId id) {
        return (Listener) byId.get(id);
    }

    private ConnectRequest request(ConnectionId listener) throws InterruptedException {
        Connection peer = Connection.to(listener.localAddress().orElseThrow(), Loopback.DEADLINE, others);
        peer.id().beginConnect(ConnectionParameters.defaults());
        return listener.awaitRequest(Loopback.DEADLINE);
    }

    /** Registers an object to be closed with all others. */
    private <T extends VerbsObject> T track(T object) {
        objects.add(object);
        return object;
    }

    private <T> T sample(Class<T> type) {
        return type.cast(argument(type));
    }

    /**
     * Returns plausible arguments. Arguments that need a closed object are taken from other specimens. Returns nothing
     * if the device does not support an argument.
     */
    public Optional<Object[]> arguments(Method method, Specimens elsewhere) {
        List<Object> arguments = new ArrayList<>();
        for (Type type : method.getGenericParameterTypes()) {
            Function<Specimens, ?> ofIds =
                    method.getDeclaringClass().getPackageName().equals("dev.verbena.cm")
                            ? ARGUMENTS_OF_IDS.get(type.getTypeName())
                            : null;
            if (ofIds == null && missing(type) && elsewhere.missing(type)) {
                return Optional.empty();
            }
            Object argument;
            try {
                argument = ofIds == null ? argument(type) : open(ofIds.apply(this));
            } catch (IllegalStateException closed) {
                argument = ofIds == null ? elsewhere.argument(type) : ofIds.apply(elsewhere);
            }
            arguments.add(argument);
        }
        return Optional.of(arguments.toArray());
    }

    private boolean missing(Type type) {
        if (type instanceof ParameterizedType some) {
            return missing(some.getActualTypeArguments()[0]);
        }
        try {
            return type instanceof Class<?> object
                    && VerbsObject.class.isAssignableFrom(object)
                    && missing(recipes(object).getFirst()).isPresent();
        } catch (IllegalStateException closed) {
            return true;
        }
    }

    private Object argument(Type type) {
        if (type instanceof Class<?> object && VerbsObject.class.isAssignableFrom(object)) {
            return open(the(recipes(object).getFirst()));
        }
        if (type instanceof Class<?> some && some.isEnum()) {
            return some.getEnumConstants()[0];
        }
        if (type instanceof Class<?> some && some.isArray()) {
            Object array = Array.newInstance(some.componentType(), 1);
            Array.set(array, 0, argument(some.componentType()));
            return array;
        }
        if (type instanceof ParameterizedType some && Collection.class.isAssignableFrom((Class<?>) some.getRawType())) {
            Object only = argument(some.getActualTypeArguments()[0]);
            return some.getRawType() == Set.class ? Set.of(only) : List.of(only);
        }
        Type raw = type instanceof ParameterizedType some ? some.getRawType() : type;
        Function<Specimens, ?> maker = ARGUMENTS.get(raw.getTypeName());
        if (maker == null) {
            throw new AssertionError(
                    "No argument of type " + type.getTypeName() + ": add a line to " + Specimens.class.getName());
        }
        return maker.apply(this);
    }

    private static Object open(Object object) {
        if (object instanceof VerbsObject closable && !closable.isOpen()) {
            throw new IllegalStateException(object + " is closed");
        }
        return object;
    }

    /** Tells whether there is an argument of this type that is closed or contains a closed object. */
    public static boolean canBeClosed(Class<?> parameter) {
        return VerbsObject.class.isAssignableFrom(parameter) || CLOSED_ARGUMENTS.containsKey(parameter);
    }

    /** Returns an argument that is closed or contains a closed object. */
    public Object closedArgument(Class<?> parameter) {
        if (VerbsObject.class.isAssignableFrom(parameter)) {
            Object object = fresh(recipes(parameter).getFirst());
            ((VerbsObject) object).close();
            return object;
        }
        return CLOSED_ARGUMENTS.get(parameter).apply(this);
    }

    /** Closes a specimen or its owner, after all its dependents. */
    public void closeThe(Recipe<?> recipe) {
        close((VerbsObject) the(recipe.object()));
    }

    private static void close(VerbsObject object) {
        try {
            object.close();
        } catch (ResourceBusyException busy) {
            busy.dependents().forEach(dependent -> close((VerbsObject) dependent));
            object.close();
        }
    }

    @Override
    public void close() {
        objects.reversed().forEach(Specimens::close);
        ofSpecial.close();
        others.close();
        for (RdmaSocketChannel socket : sockets) {
            try {
                socket.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
