package dev.verbena.tools;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Listener;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.Resources;
import dev.verbena.tools.pingpong.Rping;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.WorkCompletionException;
import dev.verbena.verbs.WorkStatus;
import java.util.concurrent.ExecutionException;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;

/** Tests that the end of a killed peer is noticed, and that no objects remain. */
@DeviceTest
@IwarpToo
class KilledPeerTest {
    private final String host = CmAddress.four(0).getAddress().getHostAddress();

    /** {@code NodeOnDeviceTest} has a JVM that is killed: the kernel ends the connections of both alike. */
    @Test
    void connectionEndsWhenItsPeerIsKilled() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Listener listener = Listener.open(CmAddress.four(0), arena);
            try (Peer.Process peer =
                    Peer.c("rping -c -a " + host + " -p " + listener.address().getPort())) {
                Connection connection = listener.awaitConnection(DEADLINE);
                MemoryRegion buffer = connection.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
                connection.queuePair().postReceive(1, buffer.slice(0, 16));
                connection.queuePair().postReceive(2, buffer.slice(16, 16));
                connection.accept(DEADLINE);
                connection.completionQueue().await(DEADLINE).orThrow();
                peer.kill();
                assertThatThrownBy(() -> connection.awaitCompletion(DEADLINE))
                        .isInstanceOfSatisfying(ConnectionException.class, ended -> {
                            assertThat(ended.event()).isEqualTo(CmEvent.Type.DISCONNECTED);
                            assertThat(ended.peer()).isEqualTo(connection.peer());
                        });
                assertThat(connection.id().isDisconnected()).isTrue();
                assertThat(connection.isOpen()).isFalse();
                assertThat(connection.queuePair().state()).isEqualTo(QueuePairState.ERR);
            }
        }
        assertThat(Resources.ofThisProcess()).isEmpty();
    }

    @Test
    void rpingEndsWhenItsPeerIsKilled() throws Exception {
        int port = 18_174;
        try (Peer server = Peer.java(Rping::run, "-s", "-v", "-a", host, "-p", "" + port)) {
            server.awaitListener(port);
            try (Peer.Process client = Peer.c("rping -c -a " + host + " -p " + port)) {
                server.awaitOutput("rdma-ping-3: ");
                client.kill();
                assertEnds(server);
            }
        }
    }

    /** A server ends without a failure, or with that of a read: the kernel may take memory away before the queue pair. */
    private static void assertEnds(Peer server) throws Exception {
        try {
            server.assertSucceeds();
        } catch (ExecutionException e) {
            assertThat(e.getCause())
                    .asInstanceOf(InstanceOfAssertFactories.type(WorkCompletionException.class))
                    .extracting(failed -> failed.completion().status())
                    .isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
        }
    }
}
