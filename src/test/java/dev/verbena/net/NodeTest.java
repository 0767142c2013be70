package dev.verbena.net;

import static dev.verbena.net.NodePair.OWN;
import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.net.NodePair.receive;
import static dev.verbena.net.NodePair.send;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Opening and closing nodes, with and without memory. */
@FencedTest
@Timeout(120)
class NodeTest {
    private static final int NO_MEMORY = 12;
    private static final int ENETUNREACH = 101;
    private static final int ETIMEDOUT = 110;
    private static final int ENOMEM = 12;
    private static final int ECONNREFUSED = 111;
    private static final int EHOSTUNREACH = 113;

    @Test
    void wildcardAddressIsRefused() {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Node.open(new InetSocketAddress(0), arena))
                    .withMessageContaining("open a node for each device");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Node.open(InetSocketAddress.createUnresolved("host.invalid", 1), arena))
                    .withMessageContaining("host.invalid");
        }
    }

    @Test
    void nodeTowardsAPeerNeedsAnAddressThatNetworksReach() {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            assertThatIllegalArgumentException().isThrownBy(() -> Node.openTowards(new InetSocketAddress(7174), arena));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Node.openTowards(new InetSocketAddress("10.9.9.1", 0), arena));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Node.openTowards(InetSocketAddress.createUnresolved("host.invalid", 1), arena))
                    .withMessageContaining("host.invalid");
            NodePair.failure(
                    EndReason.UNREACHABLE, () -> Node.openTowards(new InetSocketAddress("255.255.255.255", 1), arena));
        }
    }

    @Test
    @NotOver("TCP")
    void moreChannelsThanTheDeviceHasRoomForAreRefused() {
        int before = Fenced.liveObjects();
        try (VerbsArena arena = VerbsArena.ofShared()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(
                            () -> Node.open(OWN, SMALL.window(4095).sends(4095).maxChannels(0xffff), arena))
                    .withMessageContaining("number of channels must be at most");
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    @Test
    void closingTheArenaClosesChannelsAndEndsWaits() throws Exception {
        int before = Fenced.liveObjects();
        NodePair nodes = new NodePair();
        NodePair.Ends ends = nodes.connect();
        Future<?> receiving = nodes.start(() -> ends.server().receive(DEADLINE));
        Future<?> accepting = nodes.start(() -> nodes.server.accept(DEADLINE));
        nodes.arena.close();
        assertThat(receiving).failsWithin(DEADLINE);
        assertThat(accepting)
                .failsWithin(DEADLINE)
                .withThrowableThat()
                .withCauseInstanceOf(IllegalStateException.class);
        assertThat(nodes.client.isOpen()).isFalse();
        assertThatIllegalStateException().isThrownBy(nodes.client::progress);
        assertThatIllegalStateException()
                .isThrownBy(() -> nodes.client.connect(NodePair.own(), DEADLINE))
                .withMessageContaining("closed");
        assertThat(nodes.client.toString())
                .startsWith("node " + NodePair.own().getAddress().getHostAddress() + ":");
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    @Test
    void closingANodeTwiceDoesNothing() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Node node = Node.open(OWN, arena);
            node.close();
            node.close();
            assertThat(node.isOpen()).isFalse();
        }
    }

    @Test
    void acceptEndsWhenItsTimeIsOver() {
        try (NodePair nodes = new NodePair()) {
            assertThatExceptionOfType(VerbsTimeoutException.class)
                    .isThrownBy(() -> nodes.server.accept(Duration.ofMillis(10)));
            assertThat(nodes.server.pollAccept()).isNull();
        }
    }

    /** Peers of a node that has no program of its own come, use its memory, are told that it answers no calls, and leave. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void nodeThatAcceptsAllServesItsMemoryAlone(boolean early) throws Exception {
        try (NodePair nodes = new NodePair()) {
            MemorySegment table = nodes.arena.allocate(64, 8);
            nodes.server
                    .export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)
                    .inTheClear();
            if (early) {
                nodes.server.acceptAll();
            }
            List<Channel> peers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                peers.add(nodes.client.connect(nodes.server.address(), DEADLINE));
            }
            if (!early) {
                nodes.server.acceptAll();
            }
            assertThatIllegalStateException().isThrownBy(() -> nodes.server.accept(DEADLINE));
            assertThatIllegalStateException().isThrownBy(nodes.server::acceptAll);
            for (int i = 0; i < 3; i++) {
                Channel peer = peers.get(i);
                RemoteMemory place = peer.remote("table", DEADLINE).slice(8L * i, 8);
                peer.writeLong(place, 5 + i, DEADLINE);
                LocalMemory local = nodes.client.register(nodes.arena.allocate(8), AccessFlag.LOCAL_WRITE);
                peer.read(local, place, DEADLINE);
                assertThat(local.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(5 + i);
                for (int more = 0; more < 3 * SMALL.window(); more++) { // are dropped, and their credits come back
                    send(peer, more);
                }
                assertThatExceptionOfType(CallException.class)
                        .isThrownBy(() -> peer.call(peer.message(DEADLINE).length(8), DEADLINE))
                        .withMessageContaining("answers reads and writes of its exports only");
                assertThatExceptionOfType(CallException.class)
                        .isThrownBy(() -> peer.offer(MemorySegment.ofArray(new byte[8]), new byte[0], DEADLINE))
                        .withMessageContaining("answers reads and writes of its exports only");
            }
            assertThat(nodes.server.toString()).contains("(3 of");
            peers.forEach(Channel::close);
            Await.until("all have left", () -> nodes.server.toString().contains("(0 of"));
            assertThat(nodes.server.handlerFailures()).isZero();
        }
    }

    @Test
    void failedConnectGivesItsPlaceBack() throws Exception {
        try (NodePair nodes = new NodePair(SMALL.maxChannels(1))) {
            for (int i = 0; i < 3; i++) {
                assertThatExceptionOfType(ChannelException.class)
                        .isThrownBy(() -> nodes.client.connect(
                                new InetSocketAddress(NodePair.own().getAddress(), 9), DEADLINE));
            }
            NodePair.Ends ends = nodes.connect();
            assertThatIllegalStateException()
                    .isThrownBy(() -> nodes.client.connect(nodes.server.address(), DEADLINE))
                    .withMessageContaining("has its 1 channels");
            send(ends.client(), 5);
            assertThat(receive(ends.server())).isEqualTo(5);
            ends.client().close();
            ends.server().close();
            nodes.connect();
        }
    }

    private static void assertIsOneTooMany(NodePair nodes) {
        NodePair.failure(EndReason.TOO_MANY_CHANNELS, () -> nodes.client.connect(nodes.server.address(), DEADLINE));
    }

    @Test
    void peersOfOneAddressHaveALimit() throws Exception {
        try (NodePair nodes = new NodePair(SMALL.maxChannelsPerPeer(1))) {
            NodePair.Ends first = nodes.connect();
            assertIsOneTooMany(nodes);
            first.client().close();
            first.server().close();
            nodes.connect();
        }
    }

    @Test
    void nodeThatConnectsAdmitsWhomItConnectsTo() throws Exception {
        try (NodePair nodes = new NodePair(SMALL.admit((peer, token) -> false), SMALL)) {
            nodes.connect();
        }
    }

    /** A peer that has greeted does not give way. */
    @Test
    void peersThatWaitToBeAcceptedHaveALimit() throws Exception {
        try (NodePair nodes = new NodePair(SMALL.maxWaiting(1))) {
            nodes.client.connect(nodes.server.address(), DEADLINE);
            assertIsOneTooMany(nodes);
            assertThat(nodes.server.accept(DEADLINE).isOpen()).isTrue();
            nodes.connect();
        }
    }

    /** They keep no place of those that wait, and the program does not see them. */
    @ParameterizedTest
    @EnumSource(NodeOptions.Progress.class)
    void peersThatLeaveBeforeTheyAreAcceptedAreForgotten(NodeOptions.Progress progress) throws Exception {
        try (NodePair nodes = new NodePair(SMALL, SMALL.maxWaiting(1).progress(progress))) {
            int live = Fenced.liveObjects();
            for (int i = 0; i < 3; i++) {
                comeAndGo(nodes, Channel::isOpen);
            }
            assertThat(nodes.server.pollAccept()).isNull();
            Await.until("no trace is left", () -> {
                nodes.server.progress();
                return nodes.server.toString().contains("(0 of 64 channels, 0 waiting)")
                        && Fenced.liveObjects() == live;
            });
            Future<?> last = comes(nodes, channel -> send(channel, 5));
            assertLeaves(nodes, 5);
            end(last);
            assertThat(nodes.server.statistics())
                    .returns(1L, NodeStatistics::received)
                    .returns(4L, NodeStatistics::opened)
                    .returns(4L, NodeStatistics::ended);
        }
    }

    /** Messages that peers have left can be received, until another peer needs the place. */
    @ParameterizedTest
    @EnumSource(NodeOptions.Progress.class)
    void peersThatLeaveMessagesGiveWay(NodeOptions.Progress progress) throws Exception {
        try (NodePair nodes = new NodePair(SMALL, SMALL.maxWaiting(2).progress(progress))) {
            for (int i = 0; i < 3; i++) {
                int number = i;
                comeAndGo(nodes, channel -> send(channel, number));
            }
            assertLeaves(nodes, 1);
            assertLeaves(nodes, 2);
            assertThat(nodes.server.pollAccept()).isNull();
            Await.until("no trace is left", () -> {
                nodes.server.progress();
                return nodes.server.toString().contains("(0 of 64 channels, 0 waiting)");
            });
        }
    }

    private interface Say {
        void on(Channel channel) throws Exception;
    }

    /** Has a peer connect, say something, and leave. */
    private static Future<?> comes(NodePair nodes, Say what) {
        return nodes.run(() -> {
            try (Channel channel = nodes.client.connect(nodes.server.address(), DEADLINE)) {
                what.on(channel);
            }
        });
    }

    private static void comeAndGo(NodePair nodes, Say what) throws Exception {
        Future<?> gone = comes(nodes, what);
        while (!gone.isDone()) {
            nodes.server.progress();
        }
        end(gone);
    }

    /** The next peer to be accepted has sent a number, and leaves. */
    private static void assertLeaves(NodePair nodes, long number) throws InterruptedException {
        try (Channel channel = nodes.server.accept(DEADLINE)) {
            assertThat(receive(channel)).isEqualTo(number);
            NodePair.endOf(channel, EndReason.CLOSED_BY_PEER);
        }
    }

    /** On iWARP, the call itself returns what other devices report by an event. */
    @ParameterizedTest
    @ValueSource(ints = {ECONNREFUSED, ENETUNREACH, EHOSTUNREACH, ETIMEDOUT})
    @NotOver("TCP")
    void connectThatIsRefusedAtOnceIsUnreachable(int errno) throws Exception {
        try (NodePair nodes = new NodePair()) {
            Fenced.fail("rdma_connect", 1, errno);
            assertThatExceptionOfType(ChannelException.class)
                    .isThrownBy(() -> nodes.client.connect(nodes.server.address(), DEADLINE))
                    .withMessageContaining("rdma_connect")
                    .satisfies(told -> assertThat(told.reason()).isEqualTo(EndReason.UNREACHABLE));
            NodePair.Ends ends = nodes.connect();
            send(ends.client(), 5);
            assertThat(receive(ends.server())).isEqualTo(5);
        }
    }

    /** The greeting of the side that connects is the first message, that of the other side the second. */
    @Test
    @NotOver("TCP")
    void failureThatKeepsAPeerOutIsKeptForTheNode() throws Exception {
        try (NodePair nodes = new NodePair()) {
            assertThat(nodes.server.admitFailure()).isEmpty();
            Fenced.fail("ibv_post_send", 2, ENOMEM);
            assertThatExceptionOfType(ChannelException.class)
                    .isThrownBy(() -> nodes.client.connect(nodes.server.address(), DEADLINE))
                    .satisfies(told -> assertThat(told.reason()).isIn(EndReason.PEER_FAILED, EndReason.LOST));
            assertThat(nodes.server.admitFailure())
                    .containsInstanceOf(ChannelException.class)
                    .hasValueSatisfying(failed -> assertThat(failed).hasMessageContaining("ENOMEM"));
            assertThat(nodes.client.admitFailure()).isEmpty();
        }
    }

    @Test
    void channelsComeAndGoWithoutATrace() throws Exception {
        try (NodePair nodes = new NodePair(SMALL.maxChannels(2))) {
            NodePair.Ends first = nodes.connect();
            int live = Fenced.liveObjects();
            for (int i = 0; i < 50; i++) {
                NodePair.Ends ends = nodes.connect();
                send(ends.client(), i);
                assertThat(receive(ends.server())).isEqualTo(i);
                Channel closed = i % 2 == 0 ? ends.client() : ends.server();
                Channel other = i % 2 == 0 ? ends.server() : ends.client();
                closed.close();
                other.close();
            }
            assertThat(Fenced.liveObjects()).isEqualTo(live);
            send(first.client(), 7);
            assertThat(receive(first.server())).isEqualTo(7);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "rdma_create_event_channel, 1",
        "rdma_create_id, 1",
        "rdma_bind_addr, 1",
        "ibv_alloc_pd, 1",
        "ibv_alloc_pd, 2",
        "ibv_create_comp_channel, 1",
        "ibv_create_cq, 1",
        "rdma_listen, 1",
        "rdma_get_devices, 1"
    })
    @NotOver("TCP")
    void openWithoutMemoryLeavesNothingBehind(String function, int nth) {
        int before = Fenced.liveObjects();
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Fenced.fail(function, nth, NO_MEMORY);
            assertThatExceptionOfType(VerbsException.class).isThrownBy(() -> Node.open(OWN, arena));
            Fenced.calm();
            Node.open(OWN, arena).close();
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    /** A step of either side fails: one side is told, the other one sees an end, and both nodes go on. */
    @ParameterizedTest
    @CsvSource({
        "rdma_create_id, 1", "rdma_resolve_addr, 1", "rdma_resolve_route, 1", "ibv_reg_mr_iova2, 1",
                "ibv_reg_mr_iova2, 2",
        "rdma_create_qp, 1", "rdma_create_qp, 2", "ibv_create_qp, 1", "ibv_create_qp, 2", "ibv_post_recv, 1",
        "ibv_post_recv, 5", "ibv_post_recv, 9", "ibv_post_recv, 16", "rdma_connect, 1", "rdma_accept, 1",
        "ibv_post_send, 1", "ibv_post_send, 2", "resolved, 1"
    })
    @NotOver("TCP")
    void connectWithoutMemoryLeavesNothingBehind(String function, int nth) throws Exception {
        int before = Fenced.liveObjects();
        try (NodePair nodes = new NodePair(SMALL.handshakeTimeout(Duration.ofSeconds(1)))) {
            Fenced.fail(function, nth, NO_MEMORY);
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> nodes.client.connect(nodes.server.address(), DEADLINE));
            Fenced.calm();
            NodePair.Ends ends = nodes.connect();
            send(ends.client(), 1);
            assertThat(receive(ends.server())).isEqualTo(1);
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }
}
