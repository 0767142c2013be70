package dev.verbena.internal.link;

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
import dev.verbena.internal.wire.EndCode;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.access.VerbsAccess;
import dev.verbena.verbs.device.DeviceCapability;
import dev.verbena.verbs.device.Mtu;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
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
public final class RdmaCarrier extends Carrier {
    /** The longest time that the kernel may take to find an address or a route. */
    private static final Duration RESOLVE_TIMEOUT = Duration.ofSeconds(4);

    /** Soft-RoCE takes 7 retries for no limit; the time between signs of life is the limit then. */
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

    /** The requests that may come at once before this node looks at them: it refuses in words those that are too many. */
    private static final int SHORTEST_BACKLOG = 128;

    private final VerbsAccess verbs = VerbsAccess.get();
    private final LinkHost host;
    private final LinkOptions options;
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
    private final MtuLimits limits;
    private final ConcurrentLinkedQueue<CmEvent> inbox = new ConcurrentLinkedQueue<>();
    private final List<AsyncEvents.Subscription> subscriptions = new ArrayList<>();
    private final Map<ConnectionId, LinkOwner> known = new ConcurrentHashMap<>();

    /** Makes the transport of a node that has no other one. */
    public static Carrier open(LinkHost host, LinkOptions options, VerbsArena arena) {
        return new RdmaCarrier(host, DevicePlace.at(options, false, arena), options, arena);
    }

    RdmaCarrier(LinkHost host, DevicePlace place, LinkOptions options, VerbsArena arena) {
        this.host = host;
        this.options = options;
        events = place.events();
        listeners = place.listeners();
        addresses = place.addresses();
        for (ConnectionId listener : listeners) {
            if (find(listener) == null) {
                devices.add(new NodeDevice(host, devices.size(), listener.context(), options, arena));
            }
        }
        deviceOf = listeners.stream()
                .mapToInt(each -> Objects.requireNonNull(find(each)).number)
                .toArray();
        first = devices.getFirst();
        shared = new Domains(devices, false);
        others = devices.subList(1, devices.size()).toArray(NodeDevice[]::new);
        trafficClass = options.quality().trafficClass();
        limits = new MtuLimits(isOverTcp() ? null : options.quality().pathMtu());
        trafficClass.ifPresent(
                chosen -> listeners.forEach(each -> each.typeOfService(chosen))); // iWARP has it from the listener
        Set<DeviceCapability> has = first.context.attributes().capabilities();
        windows = !options.sizes().heals() // a window belongs to one queue pair
                && (has.contains(DeviceCapability.MEMORY_WINDOW_2A) || has.contains(DeviceCapability.MEMORY_WINDOW_2B));
        apart = !windows && (options.sizes().heals() || options.sizes().isSecret());
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
    public long pinnedBytes() {
        long sum = 0;
        for (NodeDevice each : devices) {
            sum += verbs.pinnedBytes(each.domain);
        }
        Set<Domains> seen = new HashSet<>(); // connections of one channel share theirs
        for (LinkOwner owner : known.values()) {
            if (owner.connection() instanceof IdConnection connection && apart && seen.add(connection.domains)) {
                sum += connection.domains.pinnedBytes();
            }
        }
        return sum;
    }

    @Override
    public List<InetSocketAddress> addresses() {
        return addresses;
    }

    @Override
    public int devices() {
        return devices.size();
    }

    @Override
    public Duration ackTimeout() {
        return first.ackTimeout;
    }

    @Override
    public Context context() {
        return first.context;
    }

    @Override
    public String acceptor() {
        return "rdma_accept";
    }

    @Override
    public String device() {
        return devices.stream().map(each -> each.name).collect(Collectors.joining(" and "));
    }

    @Override
    public boolean hasKeysOfChannels() {
        return windows || apart;
    }

    @Override
    public Set<AccessFlag> rightsToExport(Set<AccessFlag> access) {
        return windows ? Set.of(AccessFlag.MW_BIND) : apart ? Set.of() : access;
    }

    @Override
    public MemoryRegion register(MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena) {
        return present().domain.register(memory, access, arena);
    }

    @Override
    public MemoryRegion register(RegionOptions options, VerbsArena arena) {
        return verbs.register(present().domain, options, arena);
    }

    /** Returns the first device that was not removed. */
    private NodeDevice present() {
        return devices.stream().filter(each -> !each.removed).findFirst().orElse(first);
    }

    // Waiting

    @Override
    public <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        return verbs.awaitOrNull(first.completions, attempt, timeout);
    }

    @Override
    public void close() {
        subscriptions.forEach(AsyncEvents.Subscription::close);
        super.close();
    }

    @Override
    public void wake() {
        verbs.wakeWaits(first.completions);
    }

    // Completions

    @Override
    public int poll() {
        int handled = pollDevices();
        while (!inbox.isEmpty()) {
            handled += 1 + pollDevices(); // those that came before the event
            host.checkRoom();
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
    public void start() {
        int backlog = Math.max(SHORTEST_BACKLOG, options.maxWaiting());
        listeners.forEach(listener -> listener.listen(backlog));
        host.startThread("events", this::fetchEvents);
        if (options.sizes().heals()) {
            for (NodeDevice each : devices) {
                subscriptions.add(each.context.events().subscribe(event -> happened(each, event)));
            }
        }
        for (NodeDevice other : others) {
            host.startThread(other.name, () -> watch(other));
        }
    }

    /** Wakes those who wait at the first device, whenever another device has completed something. */
    private void watch(NodeDevice device) {
        Supplier<@Nullable Boolean> waking = () -> {
            wake();
            return (device.removed || host.isClosed()) ? Boolean.TRUE : null;
        };
        while (!host.isClosed() && !device.removed) {
            try {
                verbs.awaitOrNull(device.completions, waking, Deadline.FOREVER);
            } catch (InterruptedException late) {
                host.interrupted();
            } catch (RuntimeException | Error ended) {
                removed(device);
                return;
            }
        }
    }

    private void fetchEvents() {
        while (!host.isClosed()) {
            try {
                CmEvent event = events.awaitEvent(Deadline.FOREVER);
                if (registersMemory(event)) {
                    handle(event); // takes long, and the others must not wait for it
                } else {
                    inbox.add(event);
                    wake();
                }
            } catch (InterruptedException late) {
                host.interrupted();
            } catch (RuntimeException | Error ended) {
                host.fail(ended);
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
        LinkOwner owner = known.get(event.id());
        if (event.type() == CmEvent.Type.DEVICE_REMOVAL) {
            removed(owner, event.id());
        }
        if (owner == null || owner.isRetired()) {
            return;
        }
        try {
            happened(event, owner);
        } catch (RuntimeException | Error failed) {
            owner.fail(failed);
        }
    }

    /** Notes that the device of an id was removed. */
    private void removed(@Nullable LinkOwner owner, ConnectionId id) {
        int number = listeners.indexOf(id);
        if (number >= 0) {
            removed(devices.get(deviceOf[number]));
        } else if (owner != null && owner.connection() instanceof IdConnection connection) {
            removed(connection.device);
        }
    }

    /** Ends the channels of a device that is gone, or has them take other paths. */
    private void removed(NodeDevice device) {
        device.removed = true;
        if (devices.stream().allMatch(each -> each.removed)) {
            host.deviceRemoved();
            return;
        }
        for (LinkOwner owner : known.values()) {
            if (owner.connection() instanceof IdConnection connection
                    && connection.device == device
                    && !owner.losesPath("Its device was removed")) {
                owner.end(EndCode.DEVICE_REMOVED, "", null);
            }
        }
        host.runApart(() -> closeListeners(device));
    }

    /** Handles an event of a device: the channels that can take other paths do so when the port fails. */
    private void happened(NodeDevice device, AsyncEvent event) {
        if (event instanceof AsyncEvent.OfPort of && of.type() == AsyncEvent.Type.PORT_ERR) {
            for (LinkOwner owner : known.values()) {
                if (owner.connection() instanceof IdConnection connection && connection.isAt(device, of.port())) {
                    owner.losesPath("Port " + of.port() + " of " + device.name + " does not work any more");
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

    private void happened(CmEvent event, LinkOwner owner) {
        switch (event.type()) {
            case ADDRESS_RESOLVED -> event.id().beginResolveRoute(RESOLVE_TIMEOUT);
            case ROUTE_RESOLVED -> {
                if (owner.prepare()) {
                    connect(event.id(), owner);
                }
            }
            case ESTABLISHED -> {
                if (event.status() == 0) {
                    owner.established();
                } else {
                    unreachable(event, owner, ", " + event.type().meaning());
                }
            }
            case CONNECT_RESPONSE -> {
                if (owner.connection() instanceof IdConnection own) {
                    own.makeReady();
                    event.id().establish();
                    owner.established();
                }
            }
            case DISCONNECTED -> owner.disconnected("The connection manager reports its end");
            case ADDRESS_ERROR, ROUTE_ERROR, CONNECT_ERROR, UNREACHABLE ->
                unreachable(event, owner, ", " + event.type().meaning());
            case REJECTED -> {
                if (event instanceof CmEvent.Rejected rejected) {
                    rejected(rejected, owner);
                }
            }
            default -> {
                // Nothing of the connection has changed.
            }
        }
    }

    private void rejected(CmEvent.Rejected event, LinkOwner owner) {
        if (owner.connection() instanceof IdConnection own && limits.learn(own.peer, own.mtu, event.privateData())) {
            own.redirected = true;
            owner.end(EndCode.UNREACHABLE, "It takes smaller packets: see NodeOptions.pathMtu", null);
            return;
        }
        Integer refused = ConnectData.refusal(event.privateData());
        if (refused == null) {
            unreachable(event, owner, ": " + event.reason());
        } else {
            owner.end(refused, "It refused this channel", null);
        }
    }

    private void connect(ConnectionId id, LinkOwner owner) {
        try {
            setAckTimeout(id);
            if (owner.connection() instanceof IdConnection own) {
                // Who goes on says so, so that the peer makes the queues in the same domain.
                id.beginConnect(own.with(PARAMETERS.privateData(ConnectData.request(owner.goesOn(), own.mtu))));
            }
        } catch (VerbsException refused) {
            if (!UNREACHABLE.contains(refused.errno())) {
                throw refused;
            }
            owner.end(EndCode.UNREACHABLE, String.valueOf(refused.getMessage()), refused);
        }
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

    private static void unreachable(CmEvent event, LinkOwner owner, String details) {
        if (isNobody(event) && owner.connection() instanceof IdConnection connection) {
            connection.nobody = true;
        }
        owner.end(EndCode.UNREACHABLE, event.type().cName() + " (status " + event.status() + ")" + details, null);
    }

    // Connections

    /** A connection of the connection manager. */
    final class IdConnection extends Carrier.Connection {
        private final ConnectionId id;
        private final NodeDevice device;
        private final LinkOwner owner;
        private final InetSocketAddress peer;
        private final Domains domains;

        private @Nullable RdmaLink link;

        /** True once it is known that no device leads to the peer, or that nobody listens there. */
        volatile boolean nobody;

        /** The limit of a packet's payload that the side which connects tells; null if it has none. */
        private final @Nullable Mtu mtu;

        /** True once the peer has told a smaller limit. */
        private volatile boolean redirected;

        /**
         * Makes a connection.
         *
         * @param before the connection that it takes the place of; null if there is none
         * @param mtu the limit of a packet's payload; null for none
         */
        IdConnection(
                ConnectionId id,
                NodeDevice device,
                LinkOwner owner,
                InetSocketAddress peer,
                Carrier.@Nullable Connection before,
                @Nullable Mtu mtu) {
            super(false, RdmaCarrier.this);
            this.id = id;
            this.device = device;
            this.owner = owner;
            this.peer = peer;
            this.mtu = mtu;
            if (before instanceof IdConnection last && last.carrier == carrier) {
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
        public int device() {
            return device.number;
        }

        @Override
        public boolean isApart() {
            return apart;
        }

        @Override
        public void beginTransfer() {
            domains.enter();
        }

        @Override
        public void endTransfer() {
            domains.leave();
        }

        @Override
        public Link link() {
            LinkOptions.Quality quality = options.quality().limitedTo(mtu);
            RdmaLink made =
                    new RdmaLink(id, domains, device, RdmaCarrier.this.isOverTcp(), windows, options, quality, owner);
            link = made;
            return made;
        }

        @Override
        public boolean isRedirected() {
            return redirected;
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
        public void accept() {
            setAckTimeout(id);
            makeReady();
            id.beginAccept(with(PARAMETERS));
        }

        @Override
        public void disconnect() {
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
        public void freeUnused() {
            domains.freeUnused();
        }

        @Override
        public void forget() {
            if (known.remove(id) != null) {
                domains.leave(); // the channel itself
            } else {
                domains.freeUnused();
            }
        }
    }

    @Override
    public void connect(LinkOwner owner, Ways.Way way) {
        ConnectionId id = events.createId(PortSpace.TCP, owner.arena());
        IdConnection connection = new IdConnection(
                id, devices.get(deviceOf[way.own()]), owner, way.peer(), owner.before(), limits.of(way.peer()));
        known.put(id, owner);
        owner.connecting(connection, way);
        owner.allocate(); // in the thread that waits for this connection
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
        UUID name = ConnectData.channel(request.privateData());
        Mtu mtu = ConnectData.limit(request.privateData());
        Mtu smaller = limits.refusal(mtu);
        if (smaller != null) {
            refuse(request, ConnectData.limit(smaller));
            return;
        }
        InetSocketAddress peer = request.peer().orElse(null);
        LinkOwner owner = peer == null ? null : host.admit(peer, name != null, name);
        if (peer == null || owner == null) {
            refuse(request, ConnectData.refusal(EndCode.TOO_MANY_CHANNELS));
            return;
        }
        try {
            ConnectionId id = request.claim(owner.arena());
            NodeDevice device = Objects.requireNonNull(find(id));
            IdConnection connection = new IdConnection(id, device, owner, peer, host.claimed(name), mtu);
            known.put(id, owner); // from here on, the connection removes it
            owner.accept(connection);
        } catch (RuntimeException | Error failed) {
            owner.fail(failed);
        }
    }

    private void refuse(ConnectRequest request, PrivateData data) {
        try {
            request.reject(host.isClosing() ? PrivateData.NONE : data);
        } catch (RuntimeException gone) {
            // The peer has left already, or the listener is being closed.
        }
    }
}
