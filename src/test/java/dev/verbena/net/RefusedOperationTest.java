package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.RemoteMemory;
import java.time.Duration;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * An operation that the peer's memory has refused ends as such if the peer lives, and as the loss of the peer if its process was
 * killed: the kernel takes the memory away before it ends the connection.
 */
@FencedTest
@Timeout(120)
class RefusedOperationTest {
    private static final RemoteMemory GONE = new RemoteMemory(4096, 7, 8);

    /** The program makes progress, so that the test decides when the node sees what has happened. */
    @Test
    void operationOnAKilledPeerEndsAsItsLoss() throws Exception {
        NodeOptions polling =
                NodePair.SMALL.progress(NodeOptions.Progress.CALLER).closeTimeout(Duration.ofMillis(20));
        try (NodePair nodes = new NodePair(NodePair.SMALL, polling)) {
            Node node = nodes.server;
            Future<RawPeer> greeted = nodes.start(() -> RawPeer.greeted(node.address(), 4));
            Channel channel = node.accept(DEADLINE);
            RawPeer peer = NodePair.end(greeted);
            MemoryRegion local = node.register(nodes.arena.allocate(8), AccessFlag.LOCAL_WRITE);
            assertThat(channel.tryRead(local, GONE)).isNotZero();
            Await.until(
                    "the adapter has refused",
                    () -> peer.connection.queuePair().query().state() == QueuePairState.ERR);
            peer.connection.id().beginDisconnect();
            Future<RawPeer> next = nodes.start(() -> new RawPeer(node.address()));
            Await.until("a later event was handled", () -> node.toString().contains("(2 of"));
            Await.until("the end is seen", () -> {
                node.progress();
                return !channel.isOpen();
            });
            assertThat(channel.cause().orElseThrow())
                    .hasMessageContaining("Its memory was gone before")
                    .isInstanceOfSatisfying(
                            ChannelException.class,
                            told -> assertThat(told.reason()).isEqualTo(EndReason.LOST));
            peer.close();
            NodePair.end(next).close();
        }
    }

    @Test
    void operationThatALivingPeerRefusesEndsAsRefused() throws Exception {
        try (NodePair nodes = new NodePair()) {
            NodePair.Ends ends = nodes.connect();
            MemoryRegion local = nodes.client.register(nodes.arena.allocate(8), AccessFlag.LOCAL_WRITE);
            assertThatExceptionOfType(ChannelException.class)
                    .isThrownBy(() -> ends.client().read(local, GONE, DEADLINE))
                    .satisfies(told -> assertThat(told.reason()).isEqualTo(EndReason.ACCESS_DENIED));
            assertThatExceptionOfType(ChannelException.class)
                    .isThrownBy(() -> ends.server().receive(DEADLINE))
                    .satisfies(told -> assertThat(told.reason()).isEqualTo(EndReason.LOST));
            ends.server().close(); // after the peer has disconnected
            NodePair.Ends next = nodes.connect();
            NodePair.send(next.client(), 3);
            assertThat(NodePair.receive(next.server())).isEqualTo(3);
        }
    }
}
