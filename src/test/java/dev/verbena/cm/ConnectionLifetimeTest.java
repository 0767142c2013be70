package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the objects of connections: shared ones, those of peers that leave, and those that can't be made. */
@FencedTest
class ConnectionLifetimeTest {
    private static final int EARLY_PEERS = 40;
    private static final int ROUNDS = 300;
    private static final Duration FOR_EVER = ChronoUnit.FOREVER.getDuration();

    private FencedIds ids;
    private Listener listener;

    @BeforeEach
    void open() {
        ids = new FencedIds();
        listener = Listener.open(FencedIds.OWN, ids.arena);
        listener.id().context(); // made once
    }

    @AfterEach
    void close() {
        ids.close();
    }

    private record Ends(Connection client, Connection server) {}

    private Ends connected() throws Exception {
        Future<Connection> accepted = ids.start(() -> listener.accept(DEADLINE));
        Connection client = Connection.open(listener.address(), DEADLINE, ids.arena);
        return new Ends(client, FencedIds.end(accepted));
    }

    private Connection requesting() throws InterruptedException {
        Connection client = Connection.to(listener.address(), DEADLINE, ids.arena);
        client.id().beginConnect(ConnectionParameters.defaults());
        return client;
    }

    private MemoryRegion buffer(Connection of) {
        return of.register(ids.arena.allocate(64), LOCAL_WRITE, REMOTE_READ);
    }

    @Test
    void peersThatLeaveEarlyLeaveNothingBehind() throws Exception {
        connected().server().close(); // makes the objects that the listener's channel keeps
        int before = Fenced.liveObjects();
        for (int i = 0; i < EARLY_PEERS; i++) {
            requesting().close();
            assertThatExceptionOfType(ConnectionException.class)
                    .isThrownBy(() -> listener.accept(DEADLINE))
                    .withMessageContaining("The peer has left before it was accepted");
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
        connected(); // the listener goes on
    }

    @Test
    void acceptAndRejectBlameThePeerThatHasLeft() throws Exception {
        Connection client = requesting();
        Connection server = listener.awaitConnection(DEADLINE);
        client.close();
        assertThatExceptionOfType(ConnectionException.class)
                .isThrownBy(() -> server.accept(DEADLINE))
                .satisfies(left -> assertThat(left.peer()).isEqualTo(server.peer()));
        assertThatThrownBy(() -> server.reject(PrivateData.NONE)).isInstanceOf(ConnectionException.class);
        assertThat(server.id().isOpen()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"ibv_create_comp_channel", "ibv_create_cq", "ibv_create_qp", "rdma_create_qp"})
    void ownFaultIsNotBlamedOnThePeer(String function) throws Exception {
        connected();
        Connection client = requesting();
        int before = Fenced.liveObjects();
        Fenced.fail(function, 1, Errno.EINVAL);
        assertThatThrownBy(() -> listener.awaitConnection(DEADLINE))
                .isInstanceOf(VerbsException.class)
                .isNotInstanceOf(ConnectionException.class);
        assertThat(client.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEventType.REJECTED);
        assertThat(Fenced.liveObjects()).as("all but the id of the request").isEqualTo(before - 1);
    }

    @Test
    void connectionsOfAListenerHaveOneDomain() throws Exception {
        MemoryRegion shared = listener.id().register(ids.arena.allocate(64), LOCAL_WRITE, REMOTE_READ);
        shared.segment().setString(0, "for all");
        for (int i = 0; i < 2; i++) {
            Ends ends = connected();
            assertThat(ends.server.domain()).isSameAs(listener.id().protectionDomain());
            MemoryRegion sink = buffer(ends.client);
            ends.client.queuePair().postRead(1, sink, shared.remote());
            ends.client.awaitCompletion(DEADLINE).orThrow();
            assertThat(sink.segment().getString(0)).isEqualTo("for all");
        }
    }

    @Test
    void closeLeavesTheDomainAndItsMemory() throws Exception {
        Ends ends = connected();
        MemoryRegion region = buffer(ends.server);
        ends.server.close();
        assertThat(region.isOpen()).isTrue();
        connected().server().queuePair().postReceive(1, region);
    }

    /** Starts a thread that waits, and is asleep when this returns. */
    private Future<WorkCompletion> waiting(Connection connection) {
        AtomicReference<Thread> thread = new AtomicReference<>();
        Future<WorkCompletion> result = ids.start(() -> {
            thread.set(Thread.currentThread());
            return connection.awaitCompletion(FOR_EVER);
        });
        Await.until(
                "a thread that waits",
                () -> thread.get() != null && thread.get().getState() == Thread.State.TIMED_WAITING);
        return result;
    }

    /** The end may come at any moment while the thread looks. */
    @Test
    void awaitCompletionNeverReturnsRequestsThatTheEndFlushed() throws Exception {
        for (int i = 0; i < ROUNDS; i++) {
            Ends ends = connected();
            ends.server.queuePair().postReceive(1, buffer(ends.server));
            Future<WorkCompletion> waiting = ids.start(() -> ends.server.awaitCompletion(DEADLINE));
            ends.client.close();
            assertThatThrownBy(() -> FencedIds.end(waiting)).hasCauseInstanceOf(ConnectionException.class);
            ends.server.close();
        }
    }

    @Test
    void awaitCompletionEndsWhenThePeerDisconnects() throws Exception {
        Ends ends = connected();
        ends.server.queuePair().postReceive(1, buffer(ends.server));
        Future<WorkCompletion> waiting = waiting(ends.server);
        ends.client.close();
        assertThatThrownBy(() -> FencedIds.end(waiting))
                .cause()
                .isInstanceOfSatisfying(ConnectionException.class, ended -> {
                    assertThat(ended.event()).isEqualTo(CmEventType.DISCONNECTED);
                    assertThat(ended.peer()).isEqualTo(ends.server.peer());
                });
        assertThat(ends.server.isOpen()).isFalse();
        assertThat(ends.server.queuePair().state()).isEqualTo(QueuePairState.ERR);
    }

    /** Nothing is posted, so that no completion can end the wait. */
    @Test
    void awaitCompletionEndsWithoutRequests() throws Exception {
        Ends ends = connected();
        Future<WorkCompletion> waiting = waiting(ends.server);
        ends.client.close();
        assertThatThrownBy(() -> FencedIds.end(waiting)).hasCauseInstanceOf(ConnectionException.class);
    }

    @Test
    void queueWaitsEndWhenThePeerDisconnects() throws Exception {
        Ends ends = connected();
        ends.server.queuePair().postReceive(7, buffer(ends.server));
        Future<WorkCompletion> waiting =
                ids.start(() -> ends.server.completionQueue().await(DEADLINE));
        ends.client.close();
        assertThat(FencedIds.end(waiting).status()).isEqualTo(WorkStatus.WORK_REQUEST_FLUSHED);
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
    void endIsSeenAfterTheIdHasMoved() throws Exception {
        Ends ends = connected();
        ends.server.id().migrate(EventChannel.create(ids.arena));
        ends.client.close();
        Await.until("the end of the connection", () -> !ends.server.isOpen());
    }
}
