package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.NotOnIwarp;
import dev.verbena.support.Resources;
import dev.verbena.tools.Peer;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.WorkCompletion;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Tests what becomes of connections on a device when their peer leaves or is killed. */
@DeviceTest
@IwarpToo
class ConnectionEndTest extends ConnectionEnds {
    private static final int EARLY_PEERS = 10;

    ConnectionEndTest() {
        super(CmAddress.four(0));
    }

    private static List<String> resources() throws IOException {
        return Resources.ofThisProcess().stream()
                .filter(entry -> !entry.startsWith("cm_id"))
                .toList();
    }

    @Test
    @NotOnIwarp("a peer that leaves is seen in other ways")
    void peersThatLeaveEarlyLeaveNothingBehind() throws Exception {
        List<String> before = resources();
        for (int i = 0; i < EARLY_PEERS; i++) {
            ends.requesting().close();
            assertThatExceptionOfType(ConnectionException.class)
                    .isThrownBy(() -> listener.accept(DEADLINE))
                    .withMessageContaining("peer");
        }
        assertThat(resources()).isEqualTo(before);
        connected(); // the listener goes on
    }

    /** The peer sends one message, and waits for an answer. */
    @Test
    void awaitCompletionEndsWhenThePeerIsKilled() throws Exception {
        InetSocketAddress address = listener.address();
        try (Peer.Process client =
                Peer.c("rping -c -a " + address.getAddress().getHostAddress() + " -p " + address.getPort())) {
            Connection server = listener.awaitConnection(DEADLINE);
            MemoryRegion buffer = buffer(server);
            server.queuePair().postReceive(1, buffer.slice(0, 16));
            server.queuePair().postReceive(2, buffer.slice(16, 16));
            server.accept(DEADLINE);
            assertThat(server.awaitCompletion(DEADLINE).orThrow().id()).isEqualTo(1);
            assertThat(server.isOpen()).isTrue();
            Future<WorkCompletion> waiting = waiting(server);
            client.kill();
            assertThatThrownBy(() -> end(waiting)).cause().isInstanceOfSatisfying(ConnectionException.class, ended -> {
                assertThat(ended.event()).isEqualTo(CmEvent.Type.DISCONNECTED);
                assertThat(ended.peer()).isEqualTo(server.peer());
            });
            assertThat(server.isOpen()).isFalse();
            assertThat(server.queuePair().state()).isEqualTo(QueuePairState.ERR);
        }
    }

    @Test
    void awaitCompletionEndsInAConfinedArena() throws Exception {
        try (VerbsArena confined = VerbsArena.ofConfined()) {
            Listener here = Listener.open(CmAddress.four(0), confined);
            InetSocketAddress address = here.address();
            Future<Connection> opened = ends.start(() -> Connection.open(address, DEADLINE, ends.arena));
            Connection server = here.accept(DEADLINE);
            server.queuePair().postReceive(1, server.register(confined.allocate(64), LOCAL_WRITE));
            end(opened).close();
            assertThatThrownBy(() -> server.awaitCompletion(DEADLINE)).isInstanceOf(ConnectionException.class);
        }
    }

    @Test
    void isOpenAndPeerFollowTheConnection() throws Exception {
        AcceptingListener.Ends both = connected();
        assertThat(both.client().isOpen()).isTrue();
        assertThat(both.server().isOpen()).isTrue();
        assertThat(both.client().peer()).contains(listener.address());
        assertThat(both.server().peer()).isEqualTo(both.client().id().localAddress());
        assertThatThrownBy(() -> both.server().awaitCompletion(Duration.ofMillis(10)))
                .isInstanceOf(VerbsTimeoutException.class);
        both.server().close();
        assertThat(both.server().isOpen()).isFalse();
        Await.until("the end of the connection", () -> !both.client().isOpen());
        assertThat(both.server().peer()).isPresent();
    }
}
