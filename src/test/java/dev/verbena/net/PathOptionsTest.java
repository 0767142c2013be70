package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsException;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.link.TcpCarrier;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.IwarpToo.NotOnIwarp;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.device.Mtu;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The options as C gets them for a fleet whose switches have several queues: class, level, MTU and completion vector. */
@FencedTest
class PathOptionsTest extends ConnectedTest {
    private static final int CLASS = 26 << 2;
    private static final String OWN_SIZE = "the connection finds the path MTU itself";

    /** Sends a message in each direction, reads the server's memory, and ends the channel while a wait goes on. */
    private void assertChannelWorks() throws Exception {
        NodePair.send(ends.client(), 7);
        assertThat(NodePair.receive(ends.server())).isEqualTo(7);
        NodePair.send(ends.server(), 8);
        assertThat(NodePair.receive(ends.client())).isEqualTo(8);
        nodes.server.export("memory", nodes.arena.allocate(64), AccessFlag.REMOTE_READ);
        LocalMemory into = nodes.client.register(nodes.arena.allocate(64), AccessFlag.LOCAL_WRITE);
        ends.client().read(into, ends.client().remote("memory", DEADLINE), DEADLINE);
        Future<ChannelException> waits = nodes.start(() -> NodePair.endOf(ends.server()));
        ends.client().close();
        assertThat(end(waits).reason()).isEqualTo(EndReason.CLOSED_BY_PEER);
        ends.server().close();
    }

    @Test
    void trafficClassReachesTheIdThatConnects() throws Exception {
        use(SMALL.trafficClass(CLASS), SMALL);
        assertThat(Fenced.noted("rdma_set_option.tos")).isEqualTo(CLASS);
        assertChannelWorks();
    }

    @NotOnIwarp(OWN_SIZE)
    @ParameterizedTest
    @CsvSource({"BYTES_1024, BYTES_1024", "BYTES_4096, BYTES_4096"})
    void serviceLevelAndPathMtuReachBothQueuePairs(Mtu wanted, Mtu found) throws Exception {
        use(SMALL.serviceLevel(3).pathMtu(wanted));
        for (Channel end : List.of(ends.client(), ends.server())) {
            QueuePairAttributes path = end.queuePair().query();
            assertThat(path.pathMtu()).isEqualTo(found);
            assertThat(path.addressVector().serviceLevel()).isEqualTo(3);
        }
        assertChannelWorks();
    }

    private static NodeOptions limited(@Nullable Mtu most) {
        return most == null ? SMALL : SMALL.pathMtu(most);
    }

    private void assertPathMtu(Mtu expected) {
        for (Channel end : List.of(ends.client(), ends.server())) {
            assertThat(end.queuePair().query().pathMtu()).isEqualTo(expected);
        }
    }

    /** Both queue pairs need the same one: a port drops packets that are larger than it expects. */
    @NotOnIwarp(OWN_SIZE)
    @ParameterizedTest
    @CsvSource({
        "BYTES_1024, BYTES_512, BYTES_512",
        "BYTES_512, BYTES_1024, BYTES_512",
        ", BYTES_1024, BYTES_1024",
        "BYTES_1024, , BYTES_1024"
    })
    void smallerPathMtuOfTwoNodesHoldsAtBothEnds(@Nullable Mtu client, @Nullable Mtu server, Mtu smaller)
            throws Exception {
        use(limited(client), limited(server));
        assertPathMtu(smaller);
        assertChannelWorks();
        ends = nodes.connect(); // the node that connects knows the peer's by now
        assertPathMtu(smaller);
    }

    @NotOnIwarp(OWN_SIZE)
    @Test
    void smallerPathMtuOfTwoNodesHoldsOverTheNextConnection() throws Exception {
        use(SMALL.heal(DEADLINE), SMALL.heal(DEADLINE).pathMtu(Mtu.BYTES_1024));
        Link before = ends.client().session().rail.link();
        HealTest.cut(ends.client());
        NodePair.send(ends.client(), 7);
        assertThat(NodePair.receive(ends.server())).isEqualTo(7);
        HealTest.awaitPath(ends);
        assertThat(ends.client().session().rail.link()).isNotSameAs(before);
        assertPathMtu(Mtu.BYTES_1024);
        assertChannelWorks();
    }

    @Test
    void pathOfOneNodeNeedsNoPathOfTheOther() throws Exception {
        use(SMALL.serviceLevel(3), SMALL);
        assertChannelWorks();
        use(SMALL, SMALL.serviceLevel(3));
        assertChannelWorks();
    }

    @Test
    void completionVectorReachesTheQueue() {
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> NodePair.open(SMALL.completionVector(3), nodes.arena))
                .withMessageContaining("1 completion vectors");
        assertThat(Fenced.noted("ibv_create_cq.comp_vector")).isEqualTo(3);
    }

    @FencedTest
    @Over(Over.Wire.IWARP)
    static class OverIwarp extends ConnectedTest {
        OverIwarp() {
            super(SMALL.serviceLevel(3).pathMtu(Mtu.BYTES_1024), SMALL);
        }

        @Test
        void serviceLevelAndPathMtuAreIgnored() throws Exception {
            NodePair.send(ends.client(), 7);
            assertThat(NodePair.receive(ends.server())).isEqualTo(7);
            assertThat(ends.client().queuePair().query().pathMtu()).isNotEqualTo(Mtu.BYTES_1024);
        }
    }

    @FencedTest
    @Over(Over.Wire.TCP)
    static class OverTcp extends ConnectedTest {
        OverTcp() {
            super(
                    SMALL.trafficClass(CLASS),
                    SMALL.serviceLevel(3).pathMtu(Mtu.BYTES_1024).completionVector(3));
        }

        private static int typeOfService(Node node) throws Exception {
            for (SelectionKey key : ((TcpCarrier) node.engine().carrier).selector.keys()) {
                if (key.channel() instanceof SocketChannel socket) {
                    return socket.getOption(StandardSocketOptions.IP_TOS);
                }
            }
            throw new AssertionError("no socket");
        }

        @Test
        void trafficClassIsThatOfTheNodesOwnSocket() throws Exception {
            assertThat(typeOfService(nodes.client)).isEqualTo(CLASS);
            assertThat(typeOfService(nodes.server)).isZero();
            NodePair.send(ends.client(), 7);
            assertThat(NodePair.receive(ends.server())).isEqualTo(7);
        }
    }
}
