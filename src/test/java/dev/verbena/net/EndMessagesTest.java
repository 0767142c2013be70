package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PrivateData;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The messages of ended channels: no sentence contradicts another, and no cause repeats one. */
@FencedTest
@Timeout(120)
class EndMessagesTest {
    private static ChannelException failure(Callable<?> call) {
        ChannelException[] told = new ChannelException[1];
        assertThatExceptionOfType(ChannelException.class).isThrownBy(call::call).satisfies(thrown -> told[0] = thrown);
        return told[0];
    }

    private static ChannelException connectFailure(Node client, InetSocketAddress server) {
        return failure(() -> client.connect(server, DEADLINE));
    }

    private static void assertCausesSaySomethingElse(Throwable thrown) {
        for (Throwable cause = thrown.getCause(); cause != null; cause = cause.getCause()) {
            assertThat(cause.getMessage()).isNotEqualTo(thrown.getMessage());
            if (cause instanceof ChannelException known && thrown instanceof ChannelException top) {
                assertThat(known.reason()).isNotEqualTo(top.reason());
            }
        }
    }

    @Test
    void peerWithoutListenerHasNotRejectedAnything() throws Exception {
        try (NodePair nodes = new NodePair()) {
            InetSocketAddress nobody = new InetSocketAddress(NodePair.OWN.getAddress(), 9);
            assertThat(connectFailure(nodes.client, nobody))
                    .hasMessage("channel(to 10.9.9.1:9): No node answers at the peer's address. "
                            + "RDMA_CM_EVENT_REJECTED (status 8): no program listens on this port");
        }
    }

    @Test
    void programThatIsNoNodeAndRejectsWasReached() throws Exception {
        try (NodePair nodes = new NodePair();
                VerbsArena arena = VerbsArena.ofShared()) {
            Listener listener = Listener.open(NodePair.OWN, arena);
            Future<?> rejected = nodes.start(() -> {
                listener.awaitConnection(DEADLINE).reject(PrivateData.NONE);
                return null;
            });
            assertThat(connectFailure(nodes.client, listener.address()))
                    .hasMessageContaining("No node answers at the peer's address. RDMA_CM_EVENT_REJECTED")
                    .hasMessageContaining("the peer's program has rejected the connection")
                    .hasMessageNotContaining("can't be reached");
            NodePair.end(rejected);
        }
    }

    /** Both nodes answer by TCP that they have RDMA, which is no failure to be told of. */
    @Test
    void failureByRdmaDoesNotSayThatNobodyAnsweredByTcp() {
        Fenced.assumeNoLimit("has no connection manager");
        InetSocketAddress here = new InetSocketAddress("127.0.0.1", 0);
        NodeOptions auto = NodePair.SMALL.transport(Transport.AUTO);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node client = Node.open(here, auto, arena);
            Node server = Node.open(here, auto, arena);
            Fenced.fail("rdma_resolve_route", 1, 12);
            ChannelException told = connectFailure(client, server.address());
            assertThat(told.reason()).isEqualTo(EndReason.FAILED);
            assertThat(told.getSuppressed()).isEmpty();
        }
    }

    @Test
    void eachThreadGetsTheEndWithoutARepetitionAsItsCause() throws Exception {
        try (NodePair nodes = new NodePair()) {
            NodePair.Ends ends = nodes.connect();
            ends.server().close();
            for (int thread = 0; thread < 2; thread++) {
                ChannelException told = failure(() -> ends.client().receive(DEADLINE));
                assertThat(told.reason()).isEqualTo(EndReason.CLOSED_BY_PEER);
                assertThat(told).hasNoCause();
            }
        }
    }

    @Test
    void causeOfAFailedSideIsNamedOnce() throws Exception {
        try (NodePair nodes = new NodePair()) {
            NodePair.Ends ends = nodes.connect();
            IllegalStateException thrown = new IllegalStateException("of the program");
            ends.client().listen((channel, message) -> {
                throw thrown;
            });
            NodePair.send(ends.server(), 1);
            Await.until("the end", () -> !ends.client().isOpen());
            ChannelException told = failure(() -> ends.client().message(DEADLINE));
            assertThat(told.reason()).isEqualTo(EndReason.FAILED);
            assertThat(told.getCause()).isSameAs(thrown);
        }
    }

    @Test
    void removedDeviceIsNamedOnce(@TempDir Path folder) throws Exception {
        Fenced.devicePath(Files.createDirectory(folder.resolve("uverbs0")).toString());
        try (NodePair nodes = new NodePair()) {
            NodePair.Ends ends = nodes.connect();
            Fenced.removeDevice(0);
            ChannelException ofChannel = failure(() -> ends.client().receive(DEADLINE));
            assertThat(ofChannel.reason()).isIn(EndReason.DEVICE_REMOVED, EndReason.LOST); // the peer may be faster
            assertCausesSaySomethingElse(ofChannel);
            ChannelException ofNode = failure(() -> nodes.client.accept(DEADLINE));
            assertThat(ofNode.reason()).isEqualTo(EndReason.DEVICE_REMOVED);
            assertCausesSaySomethingElse(ofNode);
        }
    }
}
