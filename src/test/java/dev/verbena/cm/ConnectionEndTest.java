package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.CmAddress;
import dev.verbena.support.CmPeer;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.NotOnIwarp;
import dev.verbena.support.Resources;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests connections whose peer leaves: before it is accepted, and afterwards. */
@DeviceTest
@IwarpToo
class ConnectionEndTest {
    private static final int EARLY_PEERS = 10;
    private static final QueueCapabilities TOO_LARGE =
            QueueCapabilities.of(4, 4).sendSge(100_000);

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private VerbsArena arena;
    private Listener listener;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofShared();
        listener = Listener.open(CmAddress.four(0), arena);
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
        arena.close();
    }

    private record Ends(Connection client, Connection server) {}

    private Ends connected() throws Exception {
        Future<Connection> accepted = threads.submit(() -> listener.accept(DEADLINE));
        Connection client = Connection.open(listener.address(), DEADLINE, arena);
        return new Ends(client, accepted.get(DEADLINE.toSeconds(), SECONDS));
    }

    private MemoryRegion buffer(Connection of) {
        return of.register(arena.allocate(64), LOCAL_WRITE);
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
            Connection client = Connection.to(listener.address(), DEADLINE, arena);
            client.id().beginConnect(ConnectionParameters.defaults());
            client.close();
            assertThatExceptionOfType(ConnectionException.class)
                    .isThrownBy(() -> listener.accept(DEADLINE))
                    .withMessageContaining("peer");
        }
        assertThat(resources()).isEqualTo(before);
        connected(); // the listener goes on
    }

    @Test
    @NotOnIwarp("a peer that leaves is seen in other ways")
    void acceptBlamesThePeerThatHasLeft() throws Exception {
        try (VerbsArena clients = VerbsArena.ofShared()) {
            Connection client = Connection.to(listener.address(), DEADLINE, clients);
            client.id().beginConnect(ConnectionParameters.defaults());
            Connection server = listener.awaitConnection(DEADLINE);
            assertThat(server.peer().map(peer -> peer.getAddress()))
                    .contains(listener.address().getAddress());
            client.close();
            assertThatExceptionOfType(ConnectionException.class)
                    .isThrownBy(() -> server.accept(DEADLINE))
                    .satisfies(left -> assertThat(left.peer()).isEqualTo(server.peer()));
            server.close();
        }
    }

    @Test
    void ownFaultIsNotBlamedOnThePeer() throws Exception {
        List<String> before = resources();
        try (VerbsArena clients = VerbsArena.ofShared()) {
            Connection client = Connection.to(listener.address(), DEADLINE, clients);
            client.id().beginConnect(ConnectionParameters.defaults());
            assertThatThrownBy(() -> listener.awaitConnection(DEADLINE, TOO_LARGE, arena))
                    .isInstanceOf(VerbsException.class)
                    .isNotInstanceOf(ConnectionException.class)
                    .isNotInstanceOf(VerbsTimeoutException.class)
                    .hasMessageContaining("rdma_create_qp");
        }
        assertThat(resources()).isEqualTo(before);
    }

    @Test
    void awaitCompletionEndsWhenThePeerIsKilled() throws Exception {
        try (CmPeer client = CmPeer.start("connected", listener.address())) {
            Connection server = listener.accept(DEADLINE.multipliedBy(5)); // a JVM starts on a busy machine
            assertThat(client.nextLine()).isEqualTo("connected");
            assertThat(server.isOpen()).isTrue();
            server.queuePair().postReceive(1, buffer(server));
            Future<WorkCompletion> waiting = threads.submit(() -> server.awaitCompletion(DEADLINE));
            client.kill();
            assertThatThrownBy(() -> waiting.get(DEADLINE.toSeconds(), SECONDS))
                    .cause()
                    .isInstanceOfSatisfying(ConnectionException.class, ended -> {
                        assertThat(ended.event()).isEqualTo(CmEventType.DISCONNECTED);
                        assertThat(ended.peer()).isEqualTo(server.peer());
                    });
            assertThat(server.isOpen()).isFalse();
            assertThat(server.queuePair().state()).isEqualTo(QueuePairState.ERR);
        }
    }

    /** Nothing is posted, so that no completion can end the wait. */
    @Test
    void awaitCompletionEndsWithoutRequests() throws Exception {
        Ends ends = connected();
        Future<WorkCompletion> waiting = threads.submit(() -> ends.server.awaitCompletion(DEADLINE));
        ends.client.close();
        assertThatThrownBy(() -> waiting.get(DEADLINE.toSeconds(), SECONDS))
                .hasCauseInstanceOf(ConnectionException.class);
        assertThatThrownBy(() -> ends.server.awaitCompletion(DEADLINE)).isInstanceOf(ConnectionException.class);
        assertThat(ends.client.isOpen()).isFalse();
        assertThatThrownBy(() -> ends.client.awaitCompletion(DEADLINE)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void awaitCompletionEndsInAConfinedArena() throws Exception {
        try (VerbsArena confined = VerbsArena.ofConfined()) {
            Listener here = Listener.open(CmAddress.four(0), confined);
            InetSocketAddress address = here.address();
            Future<Connection> opened = threads.submit(() -> Connection.open(address, DEADLINE, arena));
            Connection server = here.accept(DEADLINE);
            server.queuePair().postReceive(1, server.register(confined.allocate(64), LOCAL_WRITE));
            opened.get(DEADLINE.toSeconds(), SECONDS).close();
            assertThatThrownBy(() -> server.awaitCompletion(DEADLINE)).isInstanceOf(ConnectionException.class);
        }
    }

    @Test
    void queueWaitsEndWhenThePeerDisconnects() throws Exception {
        Ends ends = connected();
        ends.server.queuePair().postReceive(7, buffer(ends.server));
        Future<WorkCompletion> waiting =
                threads.submit(() -> ends.server.completionQueue().await(DEADLINE));
        ends.client.close();
        WorkCompletion flushed = waiting.get(DEADLINE.toSeconds(), SECONDS);
        assertThat(flushed.id()).isEqualTo(7);
        assertThat(flushed.status()).isEqualTo(WorkStatus.WORK_REQUEST_FLUSHED);
    }

    @Test
    void awaitCompletionReturnsMessagesBeforeTheEnd() throws Exception {
        Ends ends = connected();
        MemoryRegion sink = buffer(ends.server);
        ends.server.queuePair().postReceive(1, sink.slice(0, 32));
        ends.server.queuePair().postReceive(2, sink.slice(32, 32));
        ends.client.queuePair().postSend(3, buffer(ends.client).slice(0, 32));
        ends.client.awaitCompletion(DEADLINE).orThrow();
        ends.client.close();
        Await.until("the end of the connection", () -> !ends.server.isOpen());
        assertThat(ends.server.awaitCompletion(DEADLINE).orThrow().id()).isEqualTo(1);
        assertThatThrownBy(() -> ends.server.awaitCompletion(DEADLINE)).isInstanceOf(ConnectionException.class);
    }

    @Test
    void isOpenAndPeerFollowTheConnection() throws Exception {
        Ends ends = connected();
        assertThat(ends.client.isOpen()).isTrue();
        assertThat(ends.server.isOpen()).isTrue();
        assertThat(ends.client.peer()).contains(listener.address());
        assertThat(ends.server.peer()).isEqualTo(ends.client.id().localAddress());
        assertThatThrownBy(() -> ends.server.awaitCompletion(Duration.ofMillis(10)))
                .isInstanceOf(VerbsTimeoutException.class);
        ends.server.close();
        assertThat(ends.server.isOpen()).isFalse();
        Await.until("the end of the connection", () -> !ends.client.isOpen());
        assertThat(ends.server.peer()).isPresent();
    }
}
