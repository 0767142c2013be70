package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.IwarpToo.NotOnIwarp;
import dev.verbena.tools.Peer;
import dev.verbena.tools.perf.Cmtime;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.Grh;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests that the connection manager works with the programs of rdma-core, as their server and as their client. */
@DeviceTest
@IwarpToo
class CmInteropTest {
    private static final AtomicInteger PORT = new AtomicInteger(17_174);
    private static final int UDADDY_PORT = 7174;

    /** The queue key of datagram queue pairs made by the connection manager ({@code RDMA_UDP_QKEY}). */
    private static final int UDP_KEY = 0x01234567;

    /** Time limit of rdma-core's programs for resolving an address. No device knows the address of a GID on Ethernet. */
    private static final Duration RESOLVING = Duration.ofSeconds(2);

    private static final InetSocketAddress GROUP = new InetSocketAddress("239.1.1.1", 0);

    private final InetSocketAddress any = CmAddress.four(0);
    private final String host = any.getAddress().getHostAddress();
    private final int port = PORT.getAndIncrement();
    private final Map<ConnectionId, End> ends = new LinkedHashMap<>();

    @AutoClose
    private final VerbsArena arena = VerbsArena.ofConfined();

    private EventChannel channel;

    @BeforeEach
    void open() {
        channel = EventChannel.create(arena);
    }

    private ConnectionId listening(PortSpace space, int port, int backlog) {
        ConnectionId listener = channel.createId(space);
        listener.bind(new InetSocketAddress(host, port));
        listener.listen(backlog);
        return listener;
    }

    /** Messages to and from one peer. All receives are posted at the start. */
    private static final class End {
        final ConnectionId id;
        private final int messages;
        private final ProtectionDomain domain;
        private final CompletionQueue sends;
        private final CompletionQueue receives;
        private final QueuePair pair;
        private final MemoryRegion incoming;
        private final MemoryRegion outgoing;
        private AddressHandle path;
        private int peer;
        private int key;

        End(ConnectionId id, int messages, int size) {
            this.id = id;
            this.messages = messages;
            int depth = Math.max(1, messages);
            domain = id.context().allocateProtectionDomain();
            sends = id.context().createCompletionQueue(depth);
            receives = id.context().createCompletionQueue(depth);
            boolean datagrams = id.portSpace() == PortSpace.UDP;
            pair = id.createQueuePair(
                    domain,
                    (datagrams ? QueuePair.ud(sends, receives) : QueuePair.rc(sends, receives))
                            .sendDepth(depth)
                            .receiveDepth(depth));
            incoming = domain.register(domain.arena().allocate(Grh.BYTES + size), AccessFlag.LOCAL_WRITE);
            outgoing = domain.register(domain.arena().allocate(size), AccessFlag.LOCAL_WRITE);
            for (int i = 0; i < messages; i++) {
                pair.postReceive(i, incoming);
            }
        }

        void sendTo(DatagramTarget target) {
            path = domain.createAddressHandle(target.path());
            peer = target.queuePairNumber();
            key = target.qkey();
        }

        private void sendBack(WorkCompletion received) {
            path = domain.createAddressHandle(received, incoming.segment());
            peer = received.immediate();
            key = UDP_KEY;
        }

        /** The immediate data of a datagram is the number of the queue pair for the answer. */
        void post() {
            for (int i = 0; i < messages; i++) {
                if (path == null) {
                    pair.postSend(i, outgoing);
                } else {
                    pair.postSendImmediate(i, outgoing, pair.number(), path, peer, key);
                }
            }
        }

        void awaitSends() throws InterruptedException {
            for (int i = 0; i < messages; i++) {
                sends.await(DEADLINE).orThrow();
            }
        }

        void awaitReceives() throws InterruptedException {
            for (int i = 0; i < messages; i++) {
                WorkCompletion received = receives.await(DEADLINE).orThrow();
                if (id.portSpace() == PortSpace.UDP && path == null) {
                    sendBack(received);
                }
            }
        }
    }

    private void sendAll() throws InterruptedException {
        ends.values().forEach(End::post);
        for (End end : ends.values()) {
            end.awaitSends();
        }
    }

    private void receiveAll() throws InterruptedException {
        for (End end : ends.values()) {
            end.awaitReceives();
        }
    }

    /** Takes the requests of a C client, until as many connections as it makes are established. */
    private void acceptAll(int connections, int messages, int size) throws InterruptedException {
        for (int established = 0; established < connections; ) {
            CmEvent event = channel.awaitEvent(DEADLINE);
            if (event instanceof CmEvent.Request request) {
                ConnectionId id = request.request().claim();
                ends.put(id, new End(id, messages, size));
                id.beginAccept(
                        ConnectionParameters.defaults().responderResources(1).initiatorDepth(1));
            } else {
                assertThat(event.type()).isEqualTo(CmEvent.Type.ESTABLISHED);
                established++;
            }
        }
    }

    /** Makes all connections to a C server at the same time. */
    private void connectAll(
            PortSpace space, int port, ConnectionParameters offer, int connections, int messages, int size)
            throws InterruptedException {
        for (int i = 0; i < connections; i++) {
            channel.createId(space).beginResolveAddress(null, new InetSocketAddress(host, port), DEADLINE);
        }
        for (int established = 0; established < connections; ) {
            CmEvent event = channel.awaitEvent(DEADLINE);
            ConnectionId id = event.id();
            switch (event.type()) {
                case ADDRESS_RESOLVED -> id.beginResolveRoute(DEADLINE);
                case ROUTE_RESOLVED -> {
                    ends.put(id, new End(id, messages, size));
                    id.beginConnect(offer);
                }
                case ESTABLISHED -> {
                    if (event instanceof CmEvent.DatagramReady found) {
                        ends.get(id).sendTo(found.target());
                    }
                    established++;
                }
                default -> throw new AssertionError(event);
            }
        }
    }

    private void moveToANewChannel() {
        channel = EventChannel.create(arena);
        ends.keySet().forEach(id -> id.migrate(channel));
    }

    private void awaitDisconnects() throws InterruptedException {
        List<ConnectionId> ended = new ArrayList<>();
        while (ended.size() < ends.size()) {
            CmEvent event = channel.awaitEvent(DEADLINE);
            assertThat(event.type()).isEqualTo(CmEvent.Type.DISCONNECTED);
            ended.add(event.id());
        }
        assertThat(ended).containsExactlyInAnyOrderElementsOf(ends.keySet());
    }

    // ucmatose: several connections on one channel, which move to another one on both sides

    @Test
    void acceptedIdsWorkWithUcmatose() throws Exception {
        ConnectionId listener = listening(PortSpace.TCP, port, 2);
        try (Peer client = Peer.c("ucmatose -s " + host + " -p " + port + " -c 2 -C 3 -S 4000 -m")) {
            acceptAll(2, 3, 4000);
            sendAll();
            receiveAll();
            moveToANewChannel();
            ends.keySet().forEach(ConnectionId::beginDisconnect);
            awaitDisconnects();
            assertThat(client.assertSucceeds().output()).contains("return status 0");
        }
        assertThat(listener.pollRequest()).isNull();
    }

    @Test
    void connectedIdsOfPortSpaceIbWorkWithUcmatose() throws Exception {
        try (Peer server = Peer.c("ucmatose -P ib -b " + host + " -p " + port + " -c 2 -C 3 -S 100 -m")) {
            server.awaitListener(port);
            ConnectionParameters offer = ConnectionParameters.defaults()
                    .responderResources(1)
                    .initiatorDepth(1)
                    .retryCount(5)
                    .rnrRetryCount(0);
            connectAll(PortSpace.IB, port, offer, 2, 3, 100);
            receiveAll();
            ends.values().forEach(End::post);
            moveToANewChannel();
            awaitDisconnects();
            ends.keySet().forEach(ConnectionId::beginDisconnect);
            assertThat(server.assertSucceeds().output()).contains("return status 0");
        }
    }

    // udaddy: datagrams, at a fixed port

    @Test
    @NotOnIwarp("there are no datagrams")
    void datagramServicesWorkWithUdaddy() throws Exception {
        listening(PortSpace.UDP, UDADDY_PORT, 2);
        try (Peer client = Peer.c("udaddy -s " + host + " -c 2 -C 3 -S 1000")) {
            while (ends.size() < 2) {
                ConnectionId id = ((CmEvent.Request) channel.awaitEvent(DEADLINE))
                        .request()
                        .claim();
                ends.put(id, new End(id, 3, 1000));
                id.beginAccept(ConnectionParameters.defaults());
            }
            receiveAll();
            sendAll();
            assertThat(client.assertSucceeds().output()).contains("return status 0");
        }
    }

    @Test
    @NotOnIwarp("there are no datagrams")
    void datagramsReachUdaddy() throws Exception {
        try (Peer server = Peer.c("udaddy -b " + host + " -c 2 -C 3 -S 1000")) {
            server.awaitListener(UDADDY_PORT);
            connectAll(PortSpace.UDP, UDADDY_PORT, ConnectionParameters.defaults(), 2, 3, 1000);
            sendAll();
            receiveAll();
            assertThat(server.assertSucceeds().output()).contains("return status 0");
        }
    }

    // rdma_server, rdma_client: one connection, without events

    private static final int SIZE = 16;
    private static final ConnectionResources RESOURCES =
            ConnectionResources.of(QueueCapabilities.of(1, 1).inlineSize(SIZE));

    private void postReceive(Connection connection) {
        connection.queuePair().postReceive(1, connection.register(arena.allocate(SIZE), AccessFlag.LOCAL_WRITE));
    }

    private static void awaitMessage(Connection connection) throws InterruptedException {
        connection.completionQueue().await(DEADLINE).orThrow();
    }

    @Test
    void listenerServesRdmaClient() throws Exception {
        Listener listener = Listener.open(any, arena);
        try (Peer client =
                Peer.c("rdma_client -s " + host + " -p " + listener.address().getPort())) {
            Connection connection = listener.awaitConnection(DEADLINE, RESOURCES, arena);
            postReceive(connection);
            connection.accept(DEADLINE);
            awaitMessage(connection);
            connection.queuePair().postSendInline(2, arena.allocate(SIZE));
            awaitMessage(connection);
            connection.id().disconnect(DEADLINE);
            assertThat(client.assertSucceeds().output()).contains("rdma_client: end 0");
        }
    }

    @Test
    void connectionIsServedByRdmaServer() throws Exception {
        try (Peer server = Peer.c("rdma_server -s " + host + " -p " + port)) {
            server.awaitListener(port);
            Connection connection = Connection.to(new InetSocketAddress(host, port), DEADLINE, RESOURCES, arena);
            postReceive(connection);
            connection.connect(DEADLINE);
            connection.queuePair().postSendInline(2, arena.allocate(SIZE));
            awaitMessage(connection);
            awaitMessage(connection);
            connection.id().disconnect(DEADLINE);
            assertThat(server.assertSucceeds().output()).contains("rdma_server: end 0");
        }
    }

    // mckey: multicast groups

    private End inGroup(SocketAddress group) throws InterruptedException {
        ConnectionId id = channel.createId(PortSpace.UDP);
        id.resolveAddress(any, GROUP, DEADLINE);
        End end = new End(id, 3, 100);
        end.sendTo(
                id.join(group, MulticastMembership.Kind.FULL_MEMBER, DEADLINE).target());
        return end;
    }

    @Test
    @NotOnIwarp("there are no datagrams")
    void memberReceivesFromMckey() throws Exception {
        // C's sender leaves the group without waiting for the end of its sends, which newer kernels then drop.
        assumeTrue(
                System.getProperty("os.version").matches("(5|6\\.[0-3])\\..*"), "this kernel sends in another thread");
        End receiver = inGroup(GROUP);
        try (Peer sender = Peer.c("mckey -m 239.1.1.1 -s -C 3 -b " + host)) {
            receiver.awaitReceives();
            sender.assertSucceeds();
        }
    }

    @Test
    @NotOnIwarp("there are no datagrams")
    void mckeyReceivesFromAMember() throws Exception {
        try (Peer receiver = Peer.c("mckey -m 239.1.1.1 -C 3 -b " + host)) {
            receiver.awaitOutput("joined dgid");
            End sender = inGroup(GROUP);
            sender.post();
            sender.awaitSends(); // closing drops pending ones
            assertThat(receiver.assertSucceeds().output()).contains("data transfers complete", "return status 0");
        }
    }

    // InfiniBand addresses, which only InfiniBand networks accept

    private static boolean isAccepted(Step step) throws InterruptedException {
        try {
            step.run();
            return true;
        } catch (VerbsException refused) {
            return false;
        }
    }

    private interface Step {
        void run() throws InterruptedException;
    }

    @ParameterizedTest
    @CsvSource({"ucmatose, TCP", "udaddy, UDP"})
    void gidAddressesResolveWhereCResolvesThem(String program, PortSpace space) throws Exception {
        IbAddress server = IbAddress.of(Gid.parse("::ffff:" + host), space, 7471);
        boolean resolved = isAccepted(() -> channel.createId(space).resolveAddress(server, RESOLVING));
        try (Peer client = Peer.c(program + " -f gid -s ::ffff:" + host)) {
            assertThat(client.status()).isNotZero(); // there is no server
            assertThat(!client.output().contains("addr")).as(client.output()).isEqualTo(resolved);
        }
    }

    @Test
    void gidGroupsAreJoinedWhereCJoinsThem() throws Exception {
        Gid group = Gid.parse("ff0e::1234");
        boolean joined = isAccepted(() -> {
            ConnectionId id = channel.createId(PortSpace.UDP);
            id.bind(any);
            new End(id, 1, 100);
            id.join(IbAddress.of(group, PortSpace.UDP, 0), DEADLINE);
        });
        try (Peer sender = Peer.c("mckey -M " + group + " -s -b " + host)) {
            assertThat(sender.status() == 0).as(sender.output()).isEqualTo(joined);
        }
    }

    // cmtime, whose server never ends by itself

    /** From rdma-core 52 on, both ends of C's cmtime also meet over TCP. They can't work with an older one's, either. */
    private static void requireOldCmtime() throws Exception {
        try (Peer usage = Peer.c("cmtime -?")) {
            usage.status();
            assumeTrue(!usage.output().contains("num_threads"), "this cmtime has another protocol");
        }
    }

    private Peer cmtime(String line) {
        return Peer.java(Cmtime::run, line.split(" "));
    }

    @Test
    void javaCmtimeServesCCmtime() throws Exception {
        requireOldCmtime();
        try (Peer server = cmtime("-b " + host + " -p " + port)) {
            server.awaitListener(port);
            try (Peer client = Peer.c("cmtime -s " + host + " -c 2 -p " + port)) {
                assertThat(client.assertSucceeds().output())
                        .contains("destroy      :")
                        .doesNotContain("event:");
            }
            assertThat(server.output()).isEmpty();
        }
    }

    @Test
    void cCmtimeServesJavaCmtime() throws Exception {
        requireOldCmtime();
        try (Peer server = Peer.c("cmtime -b " + host + " -p " + port)) {
            server.awaitListener(port);
            try (Peer client = cmtime("-s " + host + " -c 2 -p " + port)) {
                assertThat(client.assertSucceeds().output())
                        .contains("step              total ms     max ms     min us  us / conn\n", "destroy      :");
            }
            assertThat(server.output()).isEmpty();
        }
    }
}
