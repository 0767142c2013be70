package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.ConnectRequest;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.cm.PrivateData;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Errno;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.access.VerbsAccess;
import dev.verbena.verbs.device.DeviceCapability;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The transport of a node over a device: connections of the connection manager, and one completion queue for all. */
final class RdmaCarrier extends Carrier {
    /** The longest time that the kernel may take to find an address or a route. */
    private static final Duration RESOLVE_TIMEOUT = Duration.ofSeconds(4);

    /** Soft-RoCE takes 7 retries for no limit; {@link NodeOptions#alive} is the limit then. */
    private static final ConnectionParameters PARAMETERS =
            ConnectionParameters.defaults().retryCount(7).rnrRetryCount(0);

    /** The errors that iWARP, which connects by TCP, returns at once; other devices report an event. */
    private static final Set<Integer> UNREACHABLE =
            Set.of(Errno.ECONNREFUSED, Errno.EHOSTUNREACH, Errno.ENETUNREACH, Errno.ETIMEDOUT);

    /** Other errors of a call, with which the kernel says that no device leads to the peer. */
    private static final Set<Integer> NO_WAY = Set.of(Errno.ENODEV, Errno.EADDRNOTAVAIL);

    /** The status of an event when nobody listens at the peer's address: {@code IB_CM_REJ_INVALID_SERVICE_ID}. */
    private static final int NO_LISTENER = 8;

    /** The negative status of an event of iWARP when the program that listens at the peer's port does not speak iWARP. */
    private static final Set<Integer> NO_RDMA = Set.of(Errno.EPROTO, Errno.ECONNRESET);

    private static final byte[] REFUSAL = {'V', 'B', 'N', 'A', Wire.VERSION, 0};

    /** The beginning of the private data of a request to go on with a channel, whose name follows. */
    private static final byte[] CLAIM = {'V', 'B', 'N', 'A', Wire.VERSION, 1};

    private final VerbsAccess verbs = VerbsAccess.get();
    private final Engine engine;
    private final EventChannel events;
    private final List<ConnectionId> listeners;
    private final List<InetSocketAddress> addresses;

    /** The devices, in the order of their first addresses, and all but the first one. */
    private final List<NodeDevice> devices = new ArrayList<>();

    /** The numbers of the devices of the addresses. */
    private final int[] deviceOf;

    private final NodeDevice first;
    private final Domains shared;
    private final NodeDevice[] others;

    private final boolean windows;

    /**
     * True if each channel has a domain of its own: a secret keeps others from it, and the device has no windows; or a channel
     * keeps its keys over another connection.
     */
    private final boolean apart;

    private final OptionalInt trafficClass;
    private final ConcurrentLinkedQueue<CmEvent> inbox = new ConcurrentLinkedQueue<>();
    private final List<AsyncEvents.Subscription> subscriptions = new ArrayList<>();
    private final Map<ConnectionId, Rail> known = new ConcurrentHashMap<>();

    /** Addresses of devices, which this process has taken. */
    record Place(EventChannel events, List<ConnectionId> listeners) {
        /** Takes addresses. Leaves nothing behind if that fails. */
        static Place at(InetSocketAddress own, NodeOptions options, VerbsArena arena) {
            EventChannel events = EventChannel.create(arena);
            List<ConnectionId> listeners = new ArrayList<>();
            try {
                take(own, events, listeners, arena);
                for (InetSocketAddress further : options.paths()) {
                    takeFurther(further, events, listeners, options, arena);
                }
                return new Place(events, List.copyOf(listeners));
            } catch (Throwable t) {
                listeners.forEach(ConnectionId::close);
                events.close();
                throw t;
            }
        }

        private static void take(
                InetSocketAddress own, EventChannel events, List<ConnectionId> listeners, VerbsArena arena) {
            ConnectionId listener = events.createId(PortSpace.TCP, arena);
            listeners.add(listener);
            listener.bind(own);
            checkDevice(listener, own);
        }

        /** Takes another address. With TCP beside it, a node needs no device there. */
        private static void takeFurther(
                InetSocketAddress own,
                EventChannel events,
                List<ConnectionId> listeners,
                NodeOptions options,
                VerbsArena arena) {
            try {
                take(own, events, listeners, arena);
            } catch (VerbsException refused) {
                boolean isNone = refused.errno() == Errno.ENODEV || refused.errno() == Errno.EADDRNOTAVAIL;
                if (options.transport() != Transport.AUTO || !isNone) {
                    throw refused;
                }
                listeners.removeLast().close();
            }
        }

        List<InetSocketAddress> addresses() {
            return listeners.stream()
                    .map(listener -> listener.localAddress().orElseThrow())
                    .toList();
        }
    }

    /** Throws if no device has the address. The kernel binds ids to loopback addresses, which belong to no device. */
    private static void checkDevice(ConnectionId listener, InetSocketAddress own) {
        try {
            listener.context();
        } catch (IllegalStateException none) {
            throw new VerbsException(
                    "rdma_bind_addr", Engine.text(own), Errno.ENODEV, "Take an address of a device, or Transport.AUTO");
        }
    }

    RdmaCarrier(Engine engine, Place place, NodeOptions options, VerbsArena arena) {
        this.engine = engine;
        events = place.events;
        listeners = place.listeners;
        addresses = place.addresses();
        for (ConnectionId listener : listeners) {
            if (find(listener) == null) {
                devices.add(new NodeDevice(engine, devices.size(), listener.context(), options, arena));
            }
        }
        deviceOf = listeners.stream()
                .mapToInt(each -> Objects.requireNonNull(find(each)).number)
                .toArray();
        first = devices.getFirst();
        shared = new Domains(devices, false);
        others = devices.subList(1, devices.size()).toArray(NodeDevice[]::new);
        trafficClass = options.trafficClass();
        trafficClass.ifPresent(
                chosen -> listeners.forEach(each -> each.typeOfService(chosen))); // iWARP has it from the listener
        Set<DeviceCapability> has = first.context.attributes().capabilities();
        windows = !options.heals() // a window belongs to one queue pair
                && (has.contains(DeviceCapability.MEMORY_WINDOW_2A) || has.contains(DeviceCapability.MEMORY_WINDOW_2B));
        apart = !windows && (options.heals() || options.protection() != Protection.NONE);
    }

    /** Returns the device of an id; null if it is none of the node's yet. */
    private @Nullable NodeDevice find(ConnectionId id) {
        return devices.stream()
                .filter(each -> each.context == id.context())
                .findFirst()
                .orElse(null);
    }

    /** Returns true if the device connects by TCP itself, and so needs the TCP port. */
    boolean isOverTcp() {
        return first.context.device().transport() == Device.TransportType.IWARP;
    }

    @Override
    long pinnedBytes() {
        long sum = 0;
        for (NodeDevice each : devices) {
            sum += verbs.pinnedBytes(each.domain);
        }
        Set<Domains> seen = new HashSet<>(); // connections of one channel share theirs
        for (Rail rail : known.values()) {
            if (rail.connection() instanceof IdConnection connection && apart && seen.add(connection.domains)) {
                sum += connection.domains.pinnedBytes();
            }
        }
        return sum;
    }

    @Override
    List<InetSocketAddress> addresses() {
        return addresses;
    }

    @Override
    int devices() {
        return devices.size();
    }

    @Override
    Duration ackTimeout() {
        return first.ackTimeout;
    }

    @Override
    Context context() {
        return first.context;
    }

    @Override
    String acceptor() {
        return "rdma_accept";
    }

    @Override
    String device() {
        return devices.stream().map(each -> each.name).collect(Collectors.joining(" and "));
    }

    @Override
    boolean hasKeysOfChannels() {
        return windows || apart;
    }

    @Override
    Set<AccessFlag> rightsToExport(Set<AccessFlag> access) {
        return windows ? Set.of(AccessFlag.MW_BIND) : apart ? Set.of() : access;
    }

    @Override
    public MemoryRegion register(MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena) {
        return first.domain.register(memory, access, arena);
    }

    @Override
    MemoryRegion register(RegionOptions options, VerbsArena arena) {
        return verbs.register(first.domain, options, arena);
    }

    // Waiting

    @Override
    <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Duration timeout) throws InterruptedException {
        return verbs.awaitOrNull(first.completions, attempt, timeout);
    }

    @Override
    void close() {
        subscriptions.forEach(AsyncEvents.Subscription::close);
        super.close();
    }

    @Override
    void wake() {
        verbs.wakeWaits(first.completions);
    }

    // Completions

    @Override
    int poll() {
        int handled = pollDevices();
        while (!inbox.isEmpty()) {
            handled += 1 + pollDevices(); // those that came before the event
            engine.checkRoom();
            handle(inbox.remove());
        }
        return handled;
    }

    private int pollDevices() {
        first.takeOver();
        int handled = first.handleCompletions();
        for (NodeDevice other : others) {
            if (!other.removed) {
                other.takeOver();
                handled += other.handleCompletions();
            }
        }
        return handled;
    }

    // Events

    @Override
    void start() {
        int backlog = Math.max(1, engine.options.maxWaiting());
        listeners.forEach(listener -> listener.listen(backlog));
        engine.startThread("events", this::fetchEvents);
        if (engine.options.heals()) {
            for (NodeDevice each : devices) {
                subscriptions.add(each.context.events().subscribe(event -> happened(each, event)));
            }
        }
        for (NodeDevice other : others) {
            engine.startThread(other.name, () -> watch(other));
        }
    }

    /** Wakes those who wait at the first device, whenever another device has completed something. */
    private void watch(NodeDevice device) {
        Supplier<@Nullable Boolean> waking = () -> {
            wake();
            return (device.removed || engine.isClosed()) ? Boolean.TRUE : null;
        };
        while (!engine.isClosed() && !device.removed) {
            try {
                verbs.awaitOrNull(device.completions, waking, Deadline.FOREVER);
            } catch (InterruptedException late) {
                engine.interrupted();
            } catch (RuntimeException | Error ended) {
                removed(device);
                return;
            }
        }
    }

    private void fetchEvents() {
        while (!engine.isClosed()) {
            try {
                CmEvent event = events.awaitEvent(Deadline.FOREVER);
                if (registersMemory(event)) {
                    handle(event); // takes long, and the others must not wait for it
                } else {
                    inbox.add(event);
                    wake();
                }
            } catch (InterruptedException late) {
                engine.interrupted();
            } catch (RuntimeException | Error ended) {
                engine.fail(ended);
                return;
            }
        }
    }

    private static boolean registersMemory(CmEvent event) {
        return event instanceof CmEvent.Request
                || event.type() == CmEvent.Type.ADDRESS_RESOLVED
                || event.type() == CmEvent.Type.ROUTE_RESOLVED;
    }

    private void handle(CmEvent event) {
        if (event instanceof CmEvent.Request request) {
            admit(request.request());
            return;
        }
        Rail rail = known.get(event.id());
        if (event.type() == CmEvent.Type.DEVICE_REMOVAL) {
            removed(rail, event.id());
        }
        if (rail == null || rail.isRetired()) {
            return;
        }
        try {
            happened(event, rail);
        } catch (RuntimeException | Error failed) {
            rail.fail(failed);
        }
    }

    /** Notes that the device of an id was removed. */
    private void removed(@Nullable Rail rail, ConnectionId id) {
        int number = listeners.indexOf(id);
        if (number >= 0) {
            removed(devices.get(deviceOf[number]));
        } else if (rail != null && rail.connection() instanceof IdConnection connection) {
            removed(connection.device);
        }
    }

    /** Ends the channels of a device that is gone, or has them take other paths. */
    private void removed(NodeDevice device) {
        device.removed = true;
        if (devices.stream().allMatch(each -> each.removed)) {
            engine.deviceRemoved();
            return;
        }
        for (Rail rail : known.values()) {
            if (rail.connection() instanceof IdConnection connection
                    && connection.device == device
                    && !rail.losesPath("Its device was removed")) {
                rail.end(EndReason.DEVICE_REMOVED, "", null);
            }
        }
        engine.runApart(() -> closeListeners(device));
    }

    /** Handles an event of a device: the channels that can take other paths do so when the port fails. */
    private void happened(NodeDevice device, AsyncEvent event) {
        if (event instanceof AsyncEvent.OfPort of && of.type() == AsyncEvent.Type.PORT_ERR) {
            for (Rail rail : known.values()) {
                if (rail.connection() instanceof IdConnection connection && connection.isAt(device, of.port())) {
                    rail.losesPath("Port " + of.port() + " of " + device.name + " does not work any more");
                }
            }
        } else if (event.type() == AsyncEvent.Type.DEVICE_FATAL) {
            removed(device);
        }
    }

    /** Closes the listeners of a device that is gone: the kernel waits for that. */
    private void closeListeners(NodeDevice device) {
        for (int i = 0; i < deviceOf.length; i++) {
            if (deviceOf[i] == device.number) {
                try {
                    listeners.get(i).close();
                } catch (VerbsException | IllegalStateException refused) {
                    // The node closes it.
                }
            }
        }
    }

    private void happened(CmEvent event, Rail rail) {
        switch (event.type()) {
            case ADDRESS_RESOLVED -> event.id().beginResolveRoute(RESOLVE_TIMEOUT);
            case ROUTE_RESOLVED -> {
                if (rail.prepare()) {
                    connect(event.id(), rail);
                }
            }
            case ESTABLISHED -> {
                if (event.status() == 0) {
                    rail.established();
                } else {
                    unreachable(event, rail, ", " + event.type().meaning());
                }
            }
            case CONNECT_RESPONSE -> {
                if (rail.connection() instanceof IdConnection own) {
                    own.makeReady();
                    event.id().establish();
                    rail.established();
                }
            }
            case DISCONNECTED -> rail.disconnected("The connection manager reports its end");
            case ADDRESS_ERROR, ROUTE_ERROR, CONNECT_ERROR, UNREACHABLE ->
                unreachable(event, rail, ", " + event.type().meaning());
            case REJECTED -> {
                if (event instanceof CmEvent.Rejected rejected) {
                    rejected(rejected, rail);
                }
            }
            default -> {
                // Nothing of the connection has changed.
            }
        }
    }

    private static void rejected(CmEvent.Rejected event, Rail rail) {
        EndReason refused = refusal(event.privateData());
        if (refused == null) {
            unreachable(event, rail, ": " + event.reason());
        } else {
            rail.end(refused, "It refused this channel", null);
        }
    }

    private void connect(ConnectionId id, Rail rail) {
        try {
            setAckTimeout(id);
            ConnectionParameters all = parameters(rail);
            id.beginConnect(rail.connection() instanceof IdConnection own ? own.with(all) : all);
        } catch (VerbsException refused) {
            if (!UNREACHABLE.contains(refused.errno())) {
                throw refused;
            }
            rail.end(EndReason.UNREACHABLE, String.valueOf(refused.getMessage()), refused);
        }
    }

    /** Returns the parameters. A channel that goes on says so, so that the peer makes the queues in the channel's domain. */
    private static ConnectionParameters parameters(Rail rail) {
        Healing healing = rail.session.healing;
        if (!rail.resumes || healing == null) {
            return PARAMETERS;
        }
        byte[] data = Arrays.copyOf(CLAIM, CLAIM.length + Wire.NAME_BYTES);
        Wire.writeName(healing.id, MemorySegment.ofArray(data).asSlice(CLAIM.length));
        return PARAMETERS.privateData(PrivateData.of(data));
    }

    /** Returns the channel's name in the private data of a peer that goes on; null in others. */
    private static @Nullable UUID claim(PrivateData data) {
        byte[] bytes = data.toBytes();
        if (bytes.length < CLAIM.length + Wire.NAME_BYTES
                || !Arrays.equals(bytes, 0, CLAIM.length, CLAIM, 0, CLAIM.length)) {
            return null;
        }
        return Wire.name(MemorySegment.ofArray(bytes).asSlice(CLAIM.length));
    }

    /** Sets the acknowledgement timeout. iWARP has none. */
    private void setAckTimeout(ConnectionId id) {
        if (!isOverTcp()) {
            try {
                id.ackTimeout(first.ackTimeout);
            } catch (VerbsException older) {
                // Linux before 5.2 takes that of the route, which is about 2 seconds.
            }
        }
    }

    /** Returns true if an event says that no device leads to the peer, or that nobody listens there. */
    private static boolean isNobody(CmEvent event) {
        return switch (event.type()) {
            case ADDRESS_ERROR, ROUTE_ERROR -> true;
            case REJECTED -> event.status() == NO_LISTENER || NO_RDMA.contains(-event.status());
            case CONNECT_ERROR -> NO_RDMA.contains(-event.status());
            default -> false;
        };
    }

    private static void unreachable(CmEvent event, Rail rail, String details) {
        if (isNobody(event) && rail.connection() instanceof IdConnection connection) {
            connection.nobody = true;
        }
        rail.end(EndReason.UNREACHABLE, event.type().cName() + " (status " + event.status() + ")" + details, null);
    }

    // Connections

    /** A connection of the connection manager. */
    final class IdConnection extends Carrier.Connection {
        private final ConnectionId id;
        private final NodeDevice device;
        private final Domains domains;

        private @Nullable RdmaLink link;

        /** True once it is known that no device leads to the peer, or that nobody listens there. */
        volatile boolean nobody;

        /**
         * Makes a connection.
         *
         * @param of the channel that goes on over it; null if a channel begins
         */
        IdConnection(ConnectionId id, NodeDevice device, @Nullable Session of) {
            super(Transport.RDMA, RdmaCarrier.this);
            this.id = id;
            this.device = device;
            if (of != null && of.rail.connection() instanceof IdConnection last && last.carrier == carrier) {
                domains = last.domains;
                domains.enter();
            } else {
                domains = apart ? new Domains(devices, true) : shared;
            }
        }

        @Override
        public MemoryRegion register(MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena) {
            return domains.on(device).register(memory, access, arena);
        }

        /** Returns true if the connection uses a port of a device. */
        boolean isAt(NodeDevice where, int port) {
            try {
                return device == where && id.devicePort() == port;
            } catch (IllegalStateException closed) {
                return false;
            }
        }

        @Override
        int device() {
            return device.number;
        }

        @Override
        boolean isApart() {
            return apart;
        }

        @Override
        void beginTransfer() {
            domains.enter();
        }

        @Override
        void endTransfer() {
            domains.leave();
        }

        @Override
        Link link(NodeOptions options, Rail rail) {
            RdmaLink made = new RdmaLink(id, domains, device, isOverTcp(), options, rail);
            link = made;
            return made;
        }

        private @Nullable ChosenPath path() {
            RdmaLink made = link;
            return made == null ? null : made.path();
        }

        /** Returns parameters to connect or to accept with, with the queue pair if it was not made on the id. */
        ConnectionParameters with(ConnectionParameters parameters) {
            ChosenPath path = path();
            return path == null ? parameters : path.with(parameters);
        }

        /** Makes a queue pair ready that was not made on the id. */
        void makeReady() {
            ChosenPath path = path();
            if (path != null) {
                path.makeReady();
            }
        }

        @Override
        void accept() {
            setAckTimeout(id);
            makeReady();
            id.beginAccept(with(PARAMETERS));
        }

        @Override
        void disconnect() {
            if (link != null) {
                try {
                    ChosenPath path = path();
                    if (path != null) {
                        path.end();
                    }
                    id.beginDisconnect();
                } catch (VerbsException | IllegalStateException neverConnected) {
                    // There is no connection to end.
                }
            }
        }

        @Override
        void freeUnused() {
            domains.freeUnused();
        }

        @Override
        void forget() {
            if (known.remove(id) != null) {
                domains.leave(); // the channel itself
            } else {
                domains.freeUnused();
            }
        }
    }

    @Override
    void connect(Rail rail, Ways.Way way) {
        Session session = rail.session;
        ConnectionId id = events.createId(PortSpace.TCP, rail.arena);
        IdConnection connection = new IdConnection(id, devices.get(deviceOf[way.own()]), rail.resumes ? session : null);
        known.put(id, rail);
        rail.connecting(connection, way);
        session.allocate(); // in the thread that waits for this channel
        trafficClass.ifPresent(id::typeOfService);
        try {
            InetSocketAddress own =
                    new InetSocketAddress(addresses.get(way.own()).getAddress(), 0);
            id.beginResolveAddress(own, way.peer(), RESOLVE_TIMEOUT);
        } catch (VerbsException refused) {
            connection.nobody = NO_WAY.contains(refused.errno()) || UNREACHABLE.contains(refused.errno());
            throw refused;
        }
    }

    private void admit(ConnectRequest request) {
        UUID name = claim(request.privateData());
        Session session = request.peer()
                .map(peer -> engine.arrivals.admit(peer, name != null))
                .orElse(null);
        if (session == null) {
            refuse(request);
            return;
        }
        Rail rail = session.rail;
        try {
            ConnectionId id = request.claim(rail.arena);
            IdConnection connection =
                    new IdConnection(id, Objects.requireNonNull(find(id)), engine.rails.claimed(name));
            known.put(id, rail); // from here on, the connection removes it
            rail.accept(connection);
        } catch (RuntimeException | Error failed) {
            rail.fail(failed);
        }
    }

    private void refuse(ConnectRequest request) {
        byte[] data = REFUSAL.clone();
        data[REFUSAL.length - 1] = (byte) EndReason.TOO_MANY_CHANNELS.code;
        try {
            request.reject(engine.isClosing() ? PrivateData.NONE : PrivateData.of(data));
        } catch (RuntimeException gone) {
            // The peer has left already, or the listener is being closed.
        }
    }

    /** Returns the reason in the private data of a node that refuses; null for others. */
    static @Nullable EndReason refusal(PrivateData data) {
        byte[] bytes = data.toBytes();
        for (int i = 0; i < REFUSAL.length - 2; i++) {
            if (i >= bytes.length || bytes[i] != REFUSAL[i]) {
                return null;
            }
        }
        return bytes.length < REFUSAL.length ? null : EndReason.of(Byte.toUnsignedInt(bytes[REFUSAL.length - 1]));
    }
}
