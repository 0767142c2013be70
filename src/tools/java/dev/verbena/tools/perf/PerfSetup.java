package dev.verbena.tools.perf;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.DatagramTarget;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.tools.command.Tcp;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.device.Mtu;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.QueuePairType;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** Makes one end of a measurement and connects it to the peer, over TCP or by the connection manager. */
final class PerfSetup {
    private static final Duration STEP = Duration.ofSeconds(10);
    private static final int QKEY = 0x1111_1111;
    private static final int READS = 16;

    /** The number of times to send a lost packet again. Soft-RoCE takes it for no limit. */
    private static final int RETRIES = 7;

    private static final ConnectionParameters OFFER = ConnectionParameters.defaults()
            .responderResources(16)
            .initiatorDepth(16)
            .retryCount(RETRIES)
            .rnrRetryCount(7);

    private final PerfPlan plan;
    private final VerbsArena arena;
    private final Tcp tcp;

    PerfSetup(PerfPlan plan, VerbsArena arena, Tcp tcp) {
        this.plan = plan;
        this.arena = arena;
        this.tcp = tcp;
    }

    private boolean hasDatagrams() {
        return plan.type() == QueuePairType.UD;
    }

    // Over TCP

    /** Connects by an exchange of endpoints over TCP. */
    PerfLink overTcp(Context context, int port, int gidIndex) throws IOException, InterruptedException {
        checkFits(context.port(port));
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = queue(context);
        QueuePairOptions wanted = switch (plan.type()) {
            case UC -> QueuePair.uc(queue);
            case UD -> QueuePair.ud(queue);
            default -> QueuePair.rc(queue);
        };
        List<QueuePair> pairs = new ArrayList<>();
        for (int i = 0; i < plan.traffic().pairs(); i++) {
            pairs.add(domain.createQueuePair(sized(wanted).port(port).gidIndex(gidIndex)));
        }
        PerfLink link = new PerfLink(plan, domain, pairs, queue, memory(domain));
        ByteBuffer mine = ByteBuffer.allocate(pairs.size() * Endpoint.BYTES + RemoteMemory.BYTES);
        for (QueuePair pair : pairs) {
            mine.put(pair.endpoint().toBytes());
        }
        mine.put(link.open().toBytes());
        tcp.write(mine.array(), "this side's endpoints");
        ByteBuffer theirs = ByteBuffer.wrap(tcp.read(mine.capacity(), "its endpoints"));
        for (int i = 0; i < pairs.size(); i++) {
            connect(link, i, pairs.get(i), Endpoint.from(next(theirs, Endpoint.BYTES)));
        }
        link.reach(RemoteMemory.from(next(theirs, RemoteMemory.BYTES)));
        return link;
    }

    private static byte[] next(ByteBuffer from, int count) {
        byte[] bytes = new byte[count];
        from.get(bytes);
        return bytes;
    }

    private void connect(PerfLink link, int index, QueuePair pair, Endpoint peer) {
        if (hasDatagrams()) {
            pair.toReady(QKEY);
            link.sendTo(index, path(pair, peer), peer.queuePairNumber(), QKEY);
        } else {
            pair.connect(peer, attributes(pair, peer));
        }
    }

    /** Returns the path to a peer, with the plan's service level and traffic class. */
    private AddressVector path(QueuePair pair, Endpoint peer) {
        AddressVector path = pair.pathTo(peer);
        PerfTraffic traffic = plan.traffic();
        if (traffic.serviceLevel() >= 0) {
            path = path.serviceLevel(traffic.serviceLevel());
        }
        if (traffic.trafficClass() >= 0) {
            GlobalRoute route = path.globalRoute();
            if (route == null) {
                throw new IllegalArgumentException("-T needs a GID, which has a traffic class: take -g");
            }
            path = path.globalRoute(route.trafficClass(traffic.trafficClass()));
        }
        return path;
    }

    /** Returns the attributes of a connected queue pair that the plan sets, with as many retries as perftest has. */
    private QueuePairAttributes attributes(QueuePair pair, Endpoint peer) {
        QueuePairAttributes path =
                QueuePairAttributes.none().addressVector(path(pair, peer)).retryCount(RETRIES);
        int mtu = plan.traffic().mtu();
        return mtu == 0 ? path : path.pathMtu(Mtu.ofBytes(mtu));
    }

    private void checkFits(Port port) {
        int packet = port.activeMtu().bytes();
        if (hasDatagrams() && plan.largest() > packet) {
            throw new IllegalArgumentException("message size " + plan.largest() + " exceeds the port's MTU of "
                    + packet
                    + " bytes, the limit of a datagram");
        }
        if (plan.traffic().mtu() > packet) {
            throw new IllegalArgumentException(
                    "-m " + plan.traffic().mtu() + " exceeds the port's MTU of " + packet + " bytes");
        }
    }

    private CompletionQueue queue(Context context) {
        CompletionQueueOptions options =
                CompletionQueueOptions.of(3 * plan.depth() * plan.traffic().pairs());
        return context.createCompletionQueue(
                plan.events() ? options.channel(context.createCompletionChannel()) : options);
    }

    private QueuePairOptions sized(QueuePairOptions options) {
        return options.sendDepth(plan.depth()).receiveDepth(2 * plan.depth()).inlineSize(plan.inline());
    }

    private MemoryRegion memory(ProtectionDomain domain) {
        return memory(domain, 0);
    }

    private MemoryRegion memory(ProtectionDomain domain, long least) {
        Set<AccessFlag> access =
                access(plan.operation(), domain.context().device().transport() == Device.TransportType.IWARP);
        return domain.register(arena.allocate(PerfLink.memorySize(plan, least), 4096), access, arena);
    }

    /** Returns the rights that an operation needs over the memory of both ends, and no others. */
    static Set<AccessFlag> access(Operation operation, boolean iwarp) {
        EnumSet<AccessFlag> access = EnumSet.of(LOCAL_WRITE);
        switch (operation) {
            case SEND -> {}
            case WRITE -> access.add(REMOTE_WRITE);
            case READ -> {
                access.add(REMOTE_READ);
                if (iwarp) {
                    access.add(REMOTE_WRITE); // the answer to a read is a write
                }
            }
            case ATOMIC -> access.add(REMOTE_ATOMIC);
        }
        return access;
    }

    /** Connects to a C program of perftest. */
    PerfLink withPerftest(Context context, int port, int gidIndex, PerftestPeer peer)
            throws IOException, InterruptedException {
        checkFits(context.port(port));
        int wanted = plan.traffic().mtu();
        Mtu mtu =
                peer.agree(wanted > 0 ? Mtu.ofBytes(wanted) : context.port(port).activeMtu());
        int reads = plan.operation() == Operation.READ
                ? Math.min(READS, context.attributes().maxReadAtomic())
                : 1;
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = queue(context);
        QueuePair pair =
                domain.createQueuePair(sized(QueuePair.rc(queue)).port(port).gidIndex(gidIndex));
        PerfLink link = new PerfLink(plan, domain, List.of(pair), queue, memory(domain, peer.span()));
        PerftestKeys theirs = peer.exchange(new PerftestKeys(
                pair.endpoint(), reads, link.open().address(), link.open().key()));
        peer.repeat(PerftestPeer.Point.BEFORE_IT_CONNECTS, plan);
        link.reach(theirs.memory(Math.max(plan.largest(), peer.span())));
        pair.connect(
                theirs.endpoint(),
                attributes(pair, theirs.endpoint())
                        .pathMtu(mtu)
                        .maxDestinationReadAtomic(reads)
                        .maxReadAtomic(
                                Math.min(theirs.reads(), context.attributes().maxInitiatedReadAtomic())));
        return link;
    }

    // By the connection manager

    /** Connects the client's end. */
    PerfLink connect(InetSocketAddress server) throws IOException, InterruptedException {
        tcp.read(1, "its signal that it listens");
        PerfLink link = hasDatagrams() ? findService(server) : connectTo(server);
        exchangeMemory(link);
        return link;
    }

    /** Accepts and connects the server's end. */
    PerfLink accept(InetSocketAddress here) throws IOException, InterruptedException {
        PerfLink link = hasDatagrams() ? beFound(here) : acceptAt(here);
        exchangeMemory(link);
        return link;
    }

    private ConnectionResources resources() {
        return ConnectionResources.of(
                QueueCapabilities.of(plan.depth(), 2 * plan.depth()).inlineSize(plan.inline()));
    }

    private PerfLink connectTo(InetSocketAddress server) throws InterruptedException {
        ConnectionId id = idTowards(server, PortSpace.TCP);
        PerfLink link = on(id);
        id.connect(OFFER, STEP);
        return link;
    }

    /** Finds the way to the server. The class of the client's id is that of both directions. */
    private ConnectionId idTowards(InetSocketAddress server, PortSpace space) throws InterruptedException {
        ConnectionId id = EventChannel.create(arena).createId(space);
        if (plan.traffic().trafficClass() >= 0) {
            id.typeOfService(plan.traffic().trafficClass());
        }
        id.resolveAddress(server, STEP);
        id.resolveRoute(STEP);
        return id;
    }

    private PerfLink acceptAt(InetSocketAddress here) throws IOException, InterruptedException {
        try (Listener listener = Listener.open(here, arena)) {
            tellThatItListens();
            Connection connection = listener.awaitConnection(STEP, resources(), arena);
            connection.accept(OFFER, STEP);
            return of(connection);
        }
    }

    private PerfLink of(Connection connection) {
        return new PerfLink(
                plan,
                connection.domain(),
                List.of(connection.queuePair()),
                connection.completionQueue(),
                memory(connection.domain()));
    }

    /** Looks up the server's datagram service, as the client. */
    private PerfLink findService(InetSocketAddress server) throws InterruptedException {
        ConnectionId id = idTowards(server, PortSpace.UDP);
        PerfLink link = on(id);
        DatagramTarget target = ((CmEvent.DatagramReady) id.connect(ConnectionParameters.defaults(), STEP)).target();
        link.sendTo(0, target.path(), target.queuePairNumber(), target.qkey());
        return link;
    }

    /** Accepts a client, as the server. The first datagram determines the destination of the answers. */
    private PerfLink beFound(InetSocketAddress here) throws IOException, InterruptedException {
        ConnectionId listener = EventChannel.create(arena).createId(PortSpace.UDP);
        listener.bind(here);
        listener.listen(1);
        tellThatItListens();
        ConnectionId id = listener.awaitRequest(STEP).claim(arena);
        PerfLink link = on(id);
        id.accept(ConnectionParameters.defaults(), STEP);
        return link;
    }

    private PerfLink on(ConnectionId id) {
        Context context = id.context();
        checkFits(context.port(id.devicePort()));
        ProtectionDomain domain = context.allocateProtectionDomain(arena);
        CompletionQueue queue = queue(context);
        QueuePairOptions wanted = hasDatagrams() ? QueuePair.ud(queue) : QueuePair.rc(queue);
        QueuePair pair = id.createQueuePair(domain, sized(wanted));
        return new PerfLink(plan, domain, List.of(pair), queue, memory(domain));
    }

    private void tellThatItListens() throws IOException, InterruptedException {
        tcp.write(new byte[1], "the signal that this side listens");
    }

    private void exchangeMemory(PerfLink link) throws IOException, InterruptedException {
        tcp.write(link.open().toBytes(), "this side's memory description");
        link.reach(RemoteMemory.from(tcp.read(RemoteMemory.BYTES, "its memory description")));
    }
}
