package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.net.NodePair.receive;
import static dev.verbena.net.NodePair.send;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.IwarpToo.NotOnIwarp;
import dev.verbena.support.OpenFileLimit;
import dev.verbena.tools.Listening;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.device.Mtu;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Nodes that use RDMA where both ends have it, and TCP elsewhere. */
@FencedTest
@Timeout(120)
class AutoTransportTest {
    private static final int ENODEV = 19;
    private static final int ENOMEM = 12;
    private static final int EADDRINUSE = 98;
    private static final int EHOSTUNREACH = 113;
    private static final long SIZE = 4096;
    private static final InetSocketAddress HERE = new InetSocketAddress("127.0.0.1", 0);
    private static final String ONE_PORT =
            "a node with AUTO listens by RDMA only, because the device needs the TCP port";

    private final VerbsArena arena = VerbsArena.ofShared();
    private final ExecutorService threads =
            Executors.newCachedThreadPool(Thread.ofPlatform().daemon().factory());

    @AfterEach
    void close() {
        Fenced.calm();
        threads.shutdownNow();
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }

    /** Leaves a test out over a driver where AUTO is TCP. */
    private static void assumeRdma() {
        Fenced.assumeNoLimit("has no connection manager");
    }

    /** The choice of a node, and the presence of a device. */
    enum Kind {
        RDMA(Transport.RDMA, true),
        TCP(Transport.TCP, false),
        AUTO(Transport.AUTO, true),
        AUTO_WITHOUT_DEVICE(Transport.AUTO, false);

        private final Transport choice;
        private final boolean device;

        Kind(Transport choice, boolean device) {
            this.choice = choice;
            this.device = device;
        }
    }

    private Node open(Kind kind) {
        return open(kind, SMALL);
    }

    private Node open(Kind kind, NodeOptions options) {
        if (kind == Kind.AUTO_WITHOUT_DEVICE) {
            Fenced.fail("rdma_bind_addr", 1, ENODEV);
        }
        Node node = Node.open(HERE, options.transport(kind.choice), arena);
        Fenced.calm();
        return node;
    }

    private NodePair.Ends connect(Node client, Node server) throws Exception {
        Future<Channel> accepted = threads.submit(() -> server.accept(DEADLINE));
        Channel made = client.connect(server.address(), DEADLINE);
        return new NodePair.Ends(made, end(accepted));
    }

    private static void assertTalk(NodePair.Ends ends) throws InterruptedException {
        send(ends.client(), 5);
        assertThat(receive(ends.server())).isEqualTo(5);
        send(ends.server(), 6);
        assertThat(receive(ends.client())).isEqualTo(6);
    }

    private static ChannelException refusal(Node client, Node server) {
        ChannelException[] told = new ChannelException[1];
        assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(() -> client.connect(server.address(), DEADLINE))
                .satisfies(thrown -> told[0] = thrown);
        return told[0];
    }

    // Choosing

    @NotOnIwarp("the connection finds the path MTU itself")
    @Test
    void smallerPathMtuOfThePeerHolds() throws Exception {
        assumeRdma();
        NodePair.Ends ends = connect(open(Kind.AUTO), open(Kind.AUTO, SMALL.pathMtu(Mtu.BYTES_1024)));
        assertThat(ends.client().queuePair().query().pathMtu()).isEqualTo(Mtu.BYTES_1024);
        assertTalk(ends);
    }

    /** One waiting peer and one channel are enough: the question by TCP takes the place of no channel. */
    @ParameterizedTest
    @CsvSource({
        "AUTO, AUTO, RDMA",
        "AUTO, RDMA, RDMA",
        "RDMA, AUTO, RDMA",
        "AUTO, TCP, TCP",
        "AUTO, AUTO_WITHOUT_DEVICE, TCP",
        "AUTO_WITHOUT_DEVICE, TCP, TCP",
        "AUTO_WITHOUT_DEVICE, AUTO_WITHOUT_DEVICE, TCP"
    })
    void channelUsesRdmaWhereBothNodesHaveIt(Kind client, Kind server, Transport expected) throws Exception {
        if (expected == Transport.RDMA) {
            assumeRdma();
        }
        NodeOptions one = SMALL.maxWaiting(1).maxChannels(1).maxChannelsPerPeer(1);
        NodePair.Ends ends = connect(open(client, one), open(server, one));
        assertThat(ends.client().transport()).isEqualTo(expected);
        assertThat(ends.server().transport()).isEqualTo(expected);
        assertTalk(ends);
    }

    @NotOnIwarp(ONE_PORT)
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"TCP", "AUTO_WITHOUT_DEVICE"})
    void nodeWithoutRdmaReachesOneThatHasBoth(Kind client) throws Exception {
        channelUsesRdmaWhereBothNodesHaveIt(client, Kind.AUTO, Transport.TCP);
    }

    @NotOnIwarp(ONE_PORT)
    @ParameterizedTest
    @EnumSource(NodeOptions.Progress.class)
    void nodeServesPeersOfBothKindsAtOnce(NodeOptions.Progress progress) throws Exception {
        assumeRdma();
        NodeOptions options =
                SMALL.progress(progress).closeTimeout(Duration.ofMillis(50)); // nobody makes progress then
        Node server = open(Kind.AUTO, options);
        Node near = open(Kind.AUTO, options);
        Node far = open(Kind.TCP, SMALL.closeTimeout(options.closeTimeout()));
        List<NodePair.Ends> all = new ArrayList<>();
        if (progress == NodeOptions.Progress.BACKGROUND) {
            server.listen((channel, message) -> {
                Message reply = message.reply().length(Long.BYTES);
                reply.segment().copyFrom(message.segment());
                reply.send();
            });
            for (Node client : List.of(near, far)) {
                Channel channel = client.connect(server.address(), DEADLINE);
                Message request = channel.message(DEADLINE).length(Long.BYTES);
                request.segment().set(ValueLayout.JAVA_LONG, 0, 77);
                try (Message reply = channel.call(request, DEADLINE)) {
                    assertThat(reply.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(77);
                }
            }
        } else {
            for (Node client : List.of(near, far)) {
                all.add(connect(client, server));
            }
            for (NodePair.Ends ends : all) {
                Future<Long> received = threads.submit(() -> receive(ends.server()));
                send(ends.client(), 9);
                assertThat(end(received)).isEqualTo(9);
            }
        }
        assertThat(server.toString()).contains("and TCP (2 of");
    }

    /** Who knows the name of a channel without a secret has the channel, but not by another transport. */
    @NotOnIwarp(ONE_PORT)
    @Test
    void channelOverRdmaDoesNotGoOnOverTcp() throws Exception {
        assumeRdma();
        NodeOptions heals = SMALL.heal(DEADLINE).closeTimeout(Duration.ZERO);
        Node server = open(Kind.AUTO, heals);
        NodePair.Ends ends = connect(open(Kind.AUTO, heals), server);
        assertThat(ends.server().transport()).isEqualTo(Transport.RDMA);
        UUID id = Objects.requireNonNull(ends.server().session().healing).id;
        try (TcpPeer peer = new TcpPeer(server.address())) {
            peer.greet(new Wire.Claim(true, id, Wire.Place.ONE), 0, 0, 0);
            assertThat(EndReason.of(peer.awaitGoodbye())).isEqualTo(EndReason.PROTOCOL_ERROR);
        }
        send(ends.client(), 9);
        assertThat(receive(ends.server())).isEqualTo(9);
        assertThat(ends.server().statistics().reconnects()).isZero();
    }

    @NotOnIwarp(ONE_PORT)
    @Test
    void closedNodeLeavesNoDescriptor() throws Exception {
        long before = OpenFileLimit.count();
        try (VerbsArena own = VerbsArena.ofShared()) {
            Node server = Node.open(HERE, NodeOptions.defaults().transport(Transport.AUTO), own);
            server.listen((channel, message) -> {});
            Node client = Node.open(HERE, NodeOptions.defaults().transport(Transport.TCP), own);
            assertThat(client.connect(server.address(), DEADLINE).transport()).isEqualTo(Transport.TCP);
        }
        Await.until("all files are closed", () -> OpenFileLimit.count() <= before);
    }

    @Test
    void nodeWithoutDeviceHasNoContext() {
        assumeRdma();
        Node node = open(Kind.AUTO_WITHOUT_DEVICE);
        assertThat(node.toString()).contains("on TCP");
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(node::context);
        assertThat(open(Kind.AUTO).context().device().name()).isNotEmpty();
    }

    // What is final

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"AUTO", "RDMA"})
    void peerThatRefusesByRdmaIsNotTriedByTcp(Kind kind) throws Exception {
        Node client = open(Kind.AUTO);
        AtomicInteger asked = new AtomicInteger();
        Node choosy = open(kind, SMALL.admit((peer, token) -> asked.incrementAndGet() < 0));
        assertThat(refusal(client, choosy).reason()).isEqualTo(EndReason.REFUSED);
        assertThat(asked).hasValue(1);
        Node full = open(kind, SMALL.maxChannels(1));
        NodePair.Ends ends = connect(client, full);
        assertThat(refusal(client, full).reason()).isEqualTo(EndReason.TOO_MANY_CHANNELS);
        assertTalk(ends);
        assertThat(choosy.statistics().opened()).isZero();
    }

    /** No failure of this side, and no other failure by RDMA, makes the channel one over TCP. */
    @ParameterizedTest
    @CsvSource({"rdma_connect, 110, UNREACHABLE", "rdma_create_qp, 12, FAILED", "rdma_resolve_route, 12, FAILED"})
    void failureByRdmaIsNotHidden(String function, int errno, EndReason reason) throws Exception {
        assumeRdma();
        Node client = open(Kind.AUTO);
        Node server = open(Kind.AUTO);
        Fenced.fail(function, 1, errno);
        assertThat(refusal(client, server))
                .hasMessageContaining(function)
                .satisfies(told -> assertThat(told.reason()).isEqualTo(reason));
        Fenced.calm();
        NodePair.Ends ends = connect(client, server);
        assertThat(ends.client().transport()).isEqualTo(Transport.RDMA);
        assertTalk(ends);
    }

    @ParameterizedTest
    @ValueSource(ints = {ENOMEM, EADDRINUSE})
    void deviceThatCanNotBeUsedIsNotHidden(int errno) throws Exception {
        int before = Fenced.liveObjects();
        InetSocketAddress own = new InetSocketAddress(HERE.getAddress(), Listening.freePort());
        Fenced.fail("rdma_bind_addr", 1, errno);
        try (VerbsArena other = VerbsArena.ofShared()) {
            NodeOptions options = SMALL.transport(Transport.AUTO);
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> Node.open(own, options, other))
                    .satisfies(told -> assertThat(told.errno()).isEqualTo(errno));
            assertThat(Fenced.liveObjects()).isEqualTo(before);
            assertThat(Node.open(own, options, other).address()).isEqualTo(own); // the TCP port is free again
        }
    }

    @NotOnIwarp(ONE_PORT)
    @Test
    void connectingWhereNobodyListensIsUnreachable() throws Exception {
        assumeRdma();
        Node client = open(Kind.AUTO);
        InetSocketAddress nobody = new InetSocketAddress(HERE.getAddress(), Listening.freePort());
        assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(() -> client.connect(nobody, DEADLINE))
                .satisfies(told -> {
                    assertThat(told.reason()).isEqualTo(EndReason.UNREACHABLE);
                    assertThat(told.getSuppressed()).singleElement().asString().contains("refused");
                });
        assertThat(client.toString()).contains("(0 of");
    }

    // What is not final

    /** The route of RDMA to the peer fails at its first step, or nobody listens. */
    @NotOnIwarp(ONE_PORT)
    @ParameterizedTest
    @ValueSource(strings = {"resolved", "rdma_resolve_addr"})
    void peerThatNoDeviceLeadsToIsReachedByTcp(String step) throws Exception {
        Node client = open(Kind.AUTO);
        Node server = open(Kind.AUTO);
        Fenced.fail(step, 1, EHOSTUNREACH);
        NodePair.Ends ends = connect(client, server);
        assertThat(ends.client().transport()).isEqualTo(Transport.TCP);
        assertThat(ends.server().transport()).isEqualTo(Transport.TCP);
        assertTalk(ends);
    }

    /** Reads a greeting. Returns true if its side connects only if the peer has no RDMA. */
    private static boolean readGreeting(Socket socket) throws IOException {
        socket.getInputStream().readNBytes(TcpFrame.BYTES + Wire.HEADER_BYTES);
        return Wire.asks(MemorySegment.ofArray(socket.getInputStream().readNBytes(Wire.GREETING_BYTES)));
    }

    /** The peer says that it has RDMA, and does not listen there. The second greeting does not ask for RDMA. */
    @NotOnIwarp(ONE_PORT)
    @Test
    void peerThatDoesNotListenByRdmaIsReachedByTcp() throws Exception {
        assumeRdma();
        Node client = open(Kind.AUTO);
        try (ServerSocket fake = new ServerSocket(0, 2, HERE.getAddress())) {
            Future<Boolean> second = threads.submit(() -> {
                try (Socket socket = fake.accept()) {
                    assertThat(readGreeting(socket)).isTrue();
                    socket.getOutputStream()
                            .write(TcpFrame.goodbye(Wire.USE_RDMA).array());
                    assertThat(socket.getInputStream().read()).as("end").isEqualTo(-1);
                }
                try (Socket socket = fake.accept()) {
                    boolean asks = readGreeting(socket);
                    socket.getOutputStream()
                            .write(TcpFrame.goodbye(EndReason.STALLED.code).array());
                    return asks;
                }
            });
            NodePair.failure(
                    EndReason.STALLED,
                    () -> client.connect((InetSocketAddress) fake.getLocalSocketAddress(), DEADLINE));
            assertThat(end(second)).isFalse();
        }
    }

    /** A firewall drops the packets to the TCP port, or another program has the port. */
    @NotOnIwarp(ONE_PORT)
    @Test
    void silentTcpPortDoesNotKeepNodesFromRdma() throws Exception {
        Node client = open(Kind.AUTO);
        try (ServerSocket silent = new ServerSocket(0, 2, InetAddress.getByName("127.0.0.1"))) {
            Node server = Node.open((InetSocketAddress) silent.getLocalSocketAddress(), SMALL, arena);
            NodePair.Ends ends = connect(client, server);
            assertThat(ends.client().transport()).isEqualTo(Transport.RDMA);
            assertTalk(ends);
            assertThatExceptionOfType(VerbsTimeoutException.class)
                    .isThrownBy(() -> client.connect(server.address(), Duration.ofMillis(50)));
        }
    }

    @NotOnIwarp(ONE_PORT)
    @Test
    void portThatIsTakenByRdmaIsNotChosen() throws Exception {
        int before = Fenced.liveObjects();
        try (VerbsArena other = VerbsArena.ofShared()) {
            Fenced.fail("rdma_bind_addr", 1, EADDRINUSE);
            Node server = Node.open(HERE, SMALL.transport(Transport.AUTO), other);
            for (Kind kind : List.of(Kind.RDMA, Kind.TCP)) {
                assertTalk(connect(open(kind), server));
            }
        }
        arena.close();
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    // Memory

    /** One export, one registration of the client: reads, writes and atomics by both transports. */
    @Test
    void memoryIsUsedByBothTransports() throws Exception {
        Fenced.assumeWindows();
        Node server = open(Kind.AUTO);
        Node tcp = open(Kind.TCP);
        Node client = open(Kind.AUTO);
        MemorySegment table = arena.allocate(SIZE, 8);
        MemoryRegion own = client.register(arena.allocate(SIZE, 8), AccessFlag.LOCAL_WRITE);
        LocalMemory local = own;
        long expected = 0;
        List<Channel> channels = new ArrayList<>();
        for (Node each : List.of(server, tcp)) {
            Export export = each.export(
                    "table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);
            assertThat(export.hasKeysOfChannels()).isTrue();
            Channel channel = connect(client, each).client();
            channels.add(channel);
            RemoteMemory remote = channel.remote("table", DEADLINE);
            assertThat(channel.fetchAndAdd(remote.slice(8, 8), 3, DEADLINE)).isEqualTo(expected);
            expected += 3;
            channel.read(local.slice(0, 16), remote.slice(0, 16), DEADLINE);
            assertThat(local.segment().get(ValueLayout.JAVA_LONG, 8)).isEqualTo(expected);
            local.segment().set(ValueLayout.JAVA_LONG, 64, expected);
            channel.write(local.slice(64, 8), remote.slice(72, 8), DEADLINE);
            assertThat(table.get(ValueLayout.JAVA_LONG, 72)).isEqualTo(expected);
        }
        assertThat(channels).extracting(Channel::transport).containsExactly(Transport.RDMA, Transport.TCP);
        RemoteMemory last = channels.getLast().remote("table", DEADLINE);
        own.close();
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> channels.getLast().tryRead(local, last));
        assertThat(channels.getLast().isOpen()).isTrue();
    }

    @NotOnIwarp(ONE_PORT)
    @Test
    void closedExportIsDeniedToPeersOfBothKinds() throws Exception {
        Node server = open(Kind.AUTO);
        server.listen((channel, message) -> {});
        Export export = server.export("table", arena.allocate(SIZE, 8), AccessFlag.REMOTE_READ);
        List<Channel> channels = new ArrayList<>();
        List<RemoteMemory> memories = new ArrayList<>();
        List<LocalMemory> locals = new ArrayList<>();
        for (Kind kind : List.of(Kind.AUTO, Kind.TCP)) {
            Node client = open(kind);
            Channel channel = client.connect(server.address(), DEADLINE);
            RemoteMemory remote = channel.remote("table", DEADLINE);
            LocalMemory local = client.register(arena.allocate(SIZE, 8), AccessFlag.LOCAL_WRITE);
            channel.read(local, remote, DEADLINE);
            channels.add(channel);
            memories.add(remote);
            locals.add(local);
        }
        export.close();
        for (int i = 0; i < 2; i++) {
            Channel channel = channels.get(i);
            RemoteMemory remote = memories.get(i);
            LocalMemory local = locals.get(i);
            NodePair.failure(EndReason.ACCESS_DENIED, () -> channel.read(local, remote, DEADLINE));
        }
    }

    /** A program may send the description of registered memory itself. Its rights and its end hold for TCP too. */
    @NotOnIwarp(ONE_PORT)
    @Test
    void registeredMemoryIsOpenToPeersOverTcpAsItsRightsSay() throws Exception {
        Node server = open(Kind.AUTO);
        Node client = open(Kind.TCP);
        server.listen((channel, message) -> {});
        MemorySegment memory = arena.allocate(SIZE, 8).fill((byte) 3);
        MemoryRegion shown = server.register(memory, AccessFlag.REMOTE_READ);
        MemoryRegion hidden = server.register(memory, AccessFlag.LOCAL_WRITE);
        RemoteMemory seen = shown.remote();
        RemoteMemory notSeen = hidden.remote();
        LocalMemory local = client.register(arena.allocate(SIZE, 8), AccessFlag.LOCAL_WRITE);
        Channel first = client.connect(server.address(), DEADLINE);
        first.read(local, seen, DEADLINE);
        assertThat(local.segment().mismatch(memory)).isEqualTo(-1);
        assertDenied(first, () -> first.write(local, seen, DEADLINE));
        Channel second = client.connect(server.address(), DEADLINE);
        assertDenied(second, () -> second.read(local, notSeen, DEADLINE));
        Channel third = client.connect(server.address(), DEADLINE);
        shown.close();
        assertDenied(third, () -> third.read(local, seen, DEADLINE));
    }

    private interface Use {
        void run() throws InterruptedException;
    }

    private static void assertDenied(Channel channel, Use use) {
        NodePair.failure(EndReason.ACCESS_DENIED, use::run);
        assertThat(channel.isOpen()).isFalse();
    }

    /** Transfers register memory only where their channel needs it. */
    @NotOnIwarp(ONE_PORT)
    @Test
    void transfersWorkByBothTransports() throws Exception {
        Node server = open(Kind.AUTO);
        byte[] data = new byte[3 << 20];
        for (int i = 0; i < data.length; i++) {
            data[i] = (byte) (i * 31 >>> 3);
        }
        for (Kind kind : List.of(Kind.AUTO, Kind.TCP)) {
            NodePair.Ends ends = connect(open(kind), server);
            Future<byte[]> taken = threads.submit(() -> {
                byte[] target = new byte[data.length];
                try (Message message = ends.server().receive(DEADLINE);
                        Transfer transfer = message.transfer()) {
                    transfer.accept(MemorySegment.ofArray(target), DEADLINE);
                }
                return target;
            });
            int before = Fenced.liveObjects();
            ends.client().offer(MemorySegment.ofArray(data), new byte[0], DEADLINE);
            assertThat(end(taken)).isEqualTo(data);
            assertThat(Fenced.liveObjects()).isEqualTo(before);
        }
    }

    // Peers that ask

    @NotOnIwarp(ONE_PORT)
    @Test
    void peersThatAskAndStayKeepNoPlace() throws Exception {
        assumeRdma();
        Node server = open(Kind.AUTO, SMALL.maxWaiting(1));
        try (TcpPeer peer = new TcpPeer(server.address())) {
            peer.ask(4);
            assertThat(peer.awaitGoodbye()).isEqualTo(Wire.USE_RDMA);
            assertThat(peer.read(1)).as("end").isEmpty();
            assertTalk(connect(open(Kind.AUTO), server));
        }
    }

    /** A peer that has said half of what it has to say counts, until its time is over. */
    @NotOnIwarp(ONE_PORT)
    @Test
    void peersThatSayTooLittleAreForgotten() throws Exception {
        Node server = open(Kind.AUTO, SMALL.maxWaiting(1).handshakeTimeout(DEADLINE));
        try (TcpPeer peer = new TcpPeer(server.address())) {
            peer.write((byte) TcpFrame.SEND);
            Await.until("the peer has come", () -> server.toString().contains("1 waiting"));
            new NodeClock(server)
                    .passUntil(
                            "the node has forgotten it",
                            DEADLINE,
                            () -> server.toString().contains("0 waiting"));
            peer.awaitEndOfBytes();
        }
        assertTalk(connect(open(Kind.TCP), server));
    }
}
