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
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
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

    /** A request to go on with a channel counts as no new one. So its peer may begin none. */
    @Test
    void peerThatAsksToGoOnCanNotBeginAChannel() throws Exception {
        byte[] name = new byte[22];
        MemorySegment request = MemorySegment.ofArray(name);
        request.copyFrom(MemorySegment.ofArray(new byte[] {'V', 'B', 'N', 'A', Wire.VERSION, 1}));
        Wire.writeName(UUID.randomUUID(), request.asSlice(6));
        NodeOptions options = NodePair.SMALL.heal(DEADLINE).maxChannels(1);
        try (NodePair nodes = new NodePair(options);
                RawPeer honest = new RawPeer(nodes.server.address());
                RawPeer other = new RawPeer(nodes.server.address(), 8, PrivateData.of(name))) {
            honest.greet(4);
            assertThat(nodes.server.accept(DEADLINE).isOpen()).isTrue();
            other.greet(4);
            assertThat(EndReason.of(other.awaitGoodbye())).isEqualTo(EndReason.PROTOCOL_ERROR);
            Await.until(
                    "the node has one channel", () -> nodes.server.toString().contains("(1 of "));
        }
    }
}
