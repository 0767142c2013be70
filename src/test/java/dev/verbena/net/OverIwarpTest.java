package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The tests of the protocol, without what iWARP lacks: immediate data, atomics and memory windows. */
final class OverIwarpTest {
    private OverIwarpTest() {}

    @Over(Over.Wire.IWARP)
    static class MessagesTest extends ChannelTest {}

    @Over(Over.Wire.IWARP)
    static class StylesTest extends StyleTest {}

    @Over(Over.Wire.IWARP)
    static class CallsTest extends CallTest {}

    @Over(Over.Wire.IWARP)
    static class HandlersTest extends HandlerTest {}

    @Over(Over.Wire.IWARP)
    static class ExportsTest extends ExportTest {}

    @Over(Over.Wire.IWARP)
    static class NoticesTest extends NoticeTest {}

    @Over(Over.Wire.IWARP)
    static class TransfersTest extends TransferTest {}

    @Over(Over.Wire.IWARP)
    static class CountersTest extends StatisticsTest {}

    @Over(Over.Wire.IWARP)
    @Timeout(120)
    static class IwarpTest {
        private static final InetSocketAddress HERE = new InetSocketAddress("127.0.0.1", 0);

        @Test
        void atomicsAreRefusedAndTheChannelGoesOn() throws Exception {
            try (NodePair nodes = new NodePair()) {
                NodePair.Ends ends = nodes.connect();
                nodes.server.export("table", nodes.arena.allocate(64, 8), AccessFlag.REMOTE_ATOMIC);
                RemoteMemory number = ends.client().remote("table", DEADLINE).slice(0, 8);
                for (Atomic atomic : List.<Atomic>of(
                        () -> ends.client().fetchAndAdd(number, 1, DEADLINE),
                        () -> ends.client().compareAndSwap(number, 0, 1, DEADLINE))) {
                    assertThatExceptionOfType(UnsupportedVerbException.class)
                            .isThrownBy(atomic::change)
                            .withMessageContaining("iWARP has no atomics");
                }
                NodePair.send(ends.client(), 5);
                assertThat(NodePair.receive(ends.server())).isEqualTo(5);
            }
        }

        private interface Atomic {
            void change() throws InterruptedException;
        }

        /** A device of iWARP has the TCP port: its node is reached by RDMA only, and connects by both. */
        @Test
        void autoNodesConnectByRdmaFirst() throws Exception {
            NodeOptions auto = SMALL.transport(Transport.AUTO);
            try (VerbsArena arena = VerbsArena.ofShared()) {
                Node server = Node.open(HERE, auto, arena);
                Node far = Node.open(HERE, SMALL.transport(Transport.TCP), arena);
                Node client = Node.open(HERE, auto, arena);
                server.listen((channel, message) -> {});
                far.listen((channel, message) -> {});
                assertThat(client.connect(server.address(), DEADLINE).transport())
                        .isEqualTo(Transport.RDMA);
                assertThat(client.connect(far.address(), DEADLINE).transport()).isEqualTo(Transport.TCP);
                NodePair.failure(EndReason.UNREACHABLE, () -> far.connect(server.address(), DEADLINE));
                assertThat(server.toString()).doesNotContain("TCP");
            }
        }
    }
}
