package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.cm.PrivateData;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The places of peers that connect to a node, of which few may wait at once. */
@FencedTest
class RoomForPeersTest {
    /** While the node makes no progress, each peer takes the place of another one. */
    @ParameterizedTest(name = "{0} threads, room for {1}")
    @CsvSource({"6, 1", "64, 32"})
    void peersThatGaveWayToOthersConnectLater(int threads, int room) throws Exception {
        NodeOptions options = NodePair.SMALL.maxChannels(2 * threads).closeTimeout(Duration.ZERO);
        try (NodePair nodes = new NodePair(options, options.maxWaiting(room).progress(NodeOptions.Progress.CALLER))) {
            List<Future<Channel>> all = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                all.add(nodes.start(() -> nodes.client.connect(nodes.server.address(), DEADLINE)));
            }
            Await.until("peers have given way", () -> Fenced.calls("rdma_accept") >= 2 * threads);
            Await.until("all connects have ended", () -> {
                nodes.server.progress();
                nodes.server.pollAccept();
                return all.stream().allMatch(Future::isDone);
            });
            for (Future<Channel> each : all) {
                assertThat(NodePair.end(each).isOpen()).isTrue();
            }
        }
    }

    /** Over TCP, a peer has no place before its greeting. Under a secret, it keeps that until it has proved the greeting. */
    @Test
    void peersOverTcpThatGaveWayToOthersConnectLater() throws Exception {
        NodeOptions options = NodePair.SMALL.maxChannels(64);
        NodePair.over(Transport.TCP);
        NodePair.protect(Protection.SEALED);
        try (NodePair nodes = new NodePair(options, options.maxWaiting(1))) {
            List<Future<Channel>> all = new ArrayList<>();
            for (int i = 0; i < 32; i++) {
                all.add(nodes.start(() -> nodes.client.connect(nodes.server.address(), DEADLINE)));
            }
            Await.until("all connects have ended", () -> {
                nodes.server.pollAccept();
                return all.stream().allMatch(Future::isDone);
            });
            for (Future<Channel> each : all) {
                try {
                    assertThat(NodePair.end(each).isOpen()).isTrue();
                } catch (ExecutionException refused) { // while a channel waits for accept, which does not give way
                    assertThat(refused)
                            .cause()
                            .isInstanceOfSatisfying(
                                    ChannelException.class,
                                    end -> assertThat(end.reason()).isEqualTo(EndReason.TOO_MANY_CHANNELS));
                }
            }
        } finally {
            NodePair.over(Transport.RDMA);
            NodePair.protect(Protection.NONE);
        }
    }

    @Test
    void peerWithAnotherSecretIsToldSo() {
        NodeOptions options = NodePair.SMALL.handshakeTimeout(DEADLINE);
        try (NodePair nodes = new NodePair(options.secret(new byte[16]), options.secret(new byte[17]))) {
            NodePair.failure(EndReason.WRONG_SECRET, () -> nodes.client.connect(nodes.server.address(), DEADLINE));
            assertThat(nodes.server.attacks().strangers()).isEqualTo(1);
        }
    }

    /** Connects a peer that asks to go on with a channel, and says no more. */
    private static RawPeer asksToGoOn(NodePair nodes, UUID with) throws InterruptedException {
        byte[] name = new byte[22];
        MemorySegment request = MemorySegment.ofArray(name);
        request.copyFrom(MemorySegment.ofArray(new byte[] {'V', 'B', 'N', 'A', Wire.VERSION, 1}));
        Wire.writeName(with, request.asSlice(6));
        return new RawPeer(nodes.server.address(), 8, PrivateData.of(name));
    }

    private static void assertHasEnded(RawPeer peer) throws Exception {
        peer.connection.ended().get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
    }

    private static void assertBeginsNoChannel(RawPeer peer) throws Exception {
        peer.greet(4);
        assertThat(EndReason.of(peer.awaitGoodbye())).isEqualTo(EndReason.PROTOCOL_ERROR);
    }

    /** A request to go on with a channel counts as no new one. So its peer may begin none. */
    @Test
    void peerThatAsksToGoOnCanNotBeginAChannel() throws Exception {
        NodeOptions options = NodePair.SMALL.heal(DEADLINE).maxChannels(1);
        try (NodePair nodes = new NodePair(options);
                RawPeer honest = new RawPeer(nodes.server.address());
                RawPeer other = asksToGoOn(nodes, UUID.randomUUID())) {
            honest.greet(4);
            assertThat(nodes.server.accept(DEADLINE).isOpen()).isTrue();
            assertBeginsNoChannel(other);
            Await.until(
                    "the node has one channel", () -> nodes.server.toString().contains("(1 of "));
        }
    }

    /** One peer at a time may name a channel. It keeps nobody out, nobody keeps it out, and all others share few places. */
    @Test
    void peersThatNameAChannelHaveAPlaceOfTheirOwn() throws Exception {
        NodeOptions options = NodePair.SMALL.heal(DEADLINE).maxWaiting(2).handshakeTimeout(DEADLINE);
        try (NodePair nodes = new NodePair(options)) {
            NodePair.Ends ends = nodes.connect();
            UUID id = Objects.requireNonNull(ends.client().session().healing).id;
            try (Channel left = nodes.client.connect(nodes.server.address(), DEADLINE)) {
                NodePair.send(left, 7); // nobody accepts it before it ends
            }
            try (RawPeer silent = new RawPeer(nodes.server.address());
                    RawPeer first = asksToGoOn(nodes, UUID.randomUUID());
                    RawPeer second = asksToGoOn(nodes, UUID.randomUUID());
                    RawPeer named = asksToGoOn(nodes, id);
                    RawPeer third = asksToGoOn(nodes, id)) {
                assertHasEnded(first);
                try (RawPeer fourth = asksToGoOn(nodes, UUID.randomUUID())) {
                    assertHasEnded(second);
                    Await.until(
                            "all others wait",
                            () -> nodes.server.engine().arrivals.count() == 5);
                    assertBeginsNoChannel(named);
                    named.leave();
                    Await.until(
                            "it has left", () -> nodes.server.engine().arrivals.count() == 4);
                    try (RawPeer last = asksToGoOn(nodes, UUID.randomUUID())) {
                        assertHasEnded(third);
                        HealTest.cut(ends.client());
                        Await.until(
                                "the channel is back",
                                () -> ends.client().statistics().reconnects() == 1);
                        assertBeginsNoChannel(last);
                    }
                    assertBeginsNoChannel(fourth);
                }
                silent.greet(4);
                assertThat(NodePair.receive(nodes.server.accept(DEADLINE))).isEqualTo(7);
                assertThat(nodes.server.accept(DEADLINE).isOpen()).isTrue();
            }
            Await.until("nobody waits", () -> nodes.server.engine().arrivals.count() == 0);
        }
    }
}
