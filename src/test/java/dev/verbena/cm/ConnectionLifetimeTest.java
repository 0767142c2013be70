package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkCompletionException;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the objects of connections: shared ones, those of peers that leave, and those that can't be made. */
@FencedTest
class ConnectionLifetimeTest extends ConnectionEnds {
    private static final int EARLY_PEERS = 40;
    private static final int ROUNDS = 300;

    ConnectionLifetimeTest() {
        super(FencedIds.OWN);
    }

    @Test
    void peersThatLeaveEarlyLeaveNothingBehind() throws Exception {
        connected().server().close(); // makes the objects that the listener's channel keeps
        int before = Fenced.liveObjects();
        for (int i = 0; i < EARLY_PEERS; i++) {
            ends.requesting().close();
            assertThatExceptionOfType(ConnectionException.class)
                    .isThrownBy(() -> listener.accept(DEADLINE))
                    .withMessageContaining("The peer has left before it was accepted");
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
        connected(); // the listener goes on
    }

    @Test
    void acceptAndRejectBlameThePeerThatHasLeft() throws Exception {
        Connection client = ends.requesting();
        Connection server = listener.awaitConnection(DEADLINE);
        assertThat(server.peer().map(peer -> peer.getAddress()))
                .contains(listener.address().getAddress());
        client.close();
        assertThatExceptionOfType(ConnectionException.class)
                .isThrownBy(() -> server.accept(DEADLINE))
                .satisfies(left -> assertThat(left.peer()).isEqualTo(server.peer()));
        assertThatThrownBy(() -> server.reject(PrivateData.NONE)).isInstanceOf(ConnectionException.class);
        assertThat(server.id().isOpen()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"ibv_create_cq", "ibv_create_qp", "rdma_create_qp"})
    void ownFaultIsNotBlamedOnThePeer(String function) throws Exception {
        connected();
        Connection client = ends.requesting();
        int before = Fenced.liveObjects();
        Fenced.fail(function, 1, Errno.EINVAL);
        assertThatThrownBy(() -> listener.awaitConnection(DEADLINE))
                .isInstanceOf(VerbsException.class)
                .isNotInstanceOf(ConnectionException.class)
                .isNotInstanceOf(VerbsTimeoutException.class)
                .hasMessageContaining(function.equals("ibv_create_cq") ? function : "rdma_create_qp");
        assertThat(client.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.REJECTED);
        assertThat(Fenced.liveObjects()).as("all but the id of the request").isEqualTo(before - 1);
    }

    /** Has the device grant queue pairs of 300 sends and 200 receives, whatever was asked for. */
    private void grantMore() {
        Fenced.answer("ibv_create_qp", ends.arena.allocateFrom(ValueLayout.JAVA_INT, 300, 200, 1, 1, 64));
    }

    @Test
    void ownQueueHasRoomForAllRequestsThatTheDeviceGrants() throws Exception {
        Fenced.assumeNoLimit("can't resize completion queues");
        grantMore();
        AcceptingListener.Ends both = connected();
        for (Connection each : List.of(both.client(), both.server())) {
            assertThat(each.queuePair().capabilities().sendDepth()).isEqualTo(300);
            assertThat(each.completionQueue().capacity()).isGreaterThanOrEqualTo(500);
        }
    }

    @Test
    void connectionIsMadeAlthoughItsQueueCannotGrow() throws Exception {
        grantMore();
        Future<Connection> accepted = ends.start(() -> listener.accept(DEADLINE));
        Fenced.fail("ibv_resize_cq", 1, Errno.EOPNOTSUPP);
        Connection client = Connection.open(listener.address(), DEADLINE, ends.arena);
        Connection server = end(accepted);
        assertThat(List.of(
                        client.completionQueue().capacity(),
                        server.completionQueue().capacity()))
                .as("one of them could not grow")
                .anyMatch(capacity -> capacity < 500)
                .allMatch(capacity -> capacity >= 128);
        server.queuePair().postReceive(2, buffer(server));
        client.queuePair().postSend(1, buffer(client));
        assertThat(client.awaitCompletion(DEADLINE).orThrow().id()).isEqualTo(1);
    }

    @Test
    void connectionsOfAListenerHaveOneDomain() throws Exception {
        MemoryRegion shared = listener.id().register(ends.arena.allocate(64), LOCAL_WRITE, REMOTE_READ);
        shared.segment().setString(0, "for all");
        for (int i = 0; i < 2; i++) {
            AcceptingListener.Ends both = connected();
            assertThat(both.server().domain()).isSameAs(listener.id().protectionDomain());
            MemoryRegion sink = buffer(both.client());
            both.client().queuePair().postRead(1, sink, shared.remote());
            both.client().awaitCompletion(DEADLINE).orThrow();
            assertThat(sink.segment().getString(0)).isEqualTo("for all");
        }
    }

    /** The ids of one channel have contexts of two channels after one of them has moved. */
    @Test
    void domainOfAnIdStaysTheSameBesideAnIdThatHasMoved() {
        EventChannel before = EventChannel.create(ends.arena);
        EventChannel after = EventChannel.create(ends.arena);
        ConnectionId moved = before.createId(PortSpace.TCP);
        ConnectionId other = after.createId(PortSpace.TCP);
        moved.bind(FencedIds.OWN);
        other.bind(FencedIds.OWN);
        assertThat(moved.context()).isNotSameAs(other.context());
        moved.migrate(after);
        ProtectionDomain ofMoved = moved.protectionDomain();
        ProtectionDomain ofOther = other.protectionDomain();
        assertThat(moved.protectionDomain()).isSameAs(ofMoved);
        assertThat(other.protectionDomain()).isSameAs(ofOther);
        moved.close();
        other.close();
        after.close();
        assertThat(ofMoved.isOpen()).as("the domain of a closed channel").isFalse();
        assertThat(ofOther.isOpen()).as("the domain of a closed channel").isFalse();
    }

    @Test
    void closeLeavesTheDomainAndItsMemory() throws Exception {
        AcceptingListener.Ends both = connected();
        MemoryRegion region = buffer(both.server());
        both.server().close();
        assertThat(region.isOpen()).isTrue();
        connected().server().queuePair().postReceive(1, region);
    }

    /** The end may come at any moment while the thread looks. */
    @Test
    void awaitCompletionNeverReturnsRequestsThatTheEndFlushed() throws Exception {
        for (int i = 0; i < ROUNDS; i++) {
            AcceptingListener.Ends both = connected();
            both.server().queuePair().postReceive(1, buffer(both.server()));
            Future<WorkCompletion> waiting = ends.start(() -> both.server().awaitCompletion(DEADLINE));
            both.client().close();
            assertThatThrownBy(() -> end(waiting)).hasCauseInstanceOf(ConnectionException.class);
            both.server().close();
        }
    }

    @Test
    void endIsSeenAfterTheIdHasMoved() throws Exception {
        AcceptingListener.Ends both = connected();
        both.server().id().migrate(EventChannel.create(ends.arena));
        both.client().close();
        Await.until("the end of the connection", () -> !both.server().isOpen());
    }

    /** The wait began at the event channel that the id has left. */
    @Test
    void waitOfAMigratedConnectionEnds() throws Exception {
        AcceptingListener.Ends both = connected();
        Future<WorkCompletion> waiting = waiting(both.server());
        both.server().id().migrate(EventChannel.create(ends.arena));
        both.client().close();
        assertThatThrownBy(() -> end(waiting)).hasCauseInstanceOf(ConnectionException.class);
    }

    /** Nothing is posted, so that no completion can end the waits. */
    @Test
    void allWaitsForCompletionsEndWithTheConnection() throws Exception {
        AcceptingListener.Ends both = connected();
        Connection server = both.server();
        List<Future<?>> waiting = List.of(
                waiting(server),
                ends.asleep(() -> server.completionQueue().await(FOR_EVER)),
                ends.asleep(() -> server.completionQueue().awaitSolicited(FOR_EVER)),
                ends.asleep(() -> server.completionQueue().completions(4).await(FOR_EVER)),
                ends.asleep(() -> server.completions(4).await(FOR_EVER)));
        both.client().close();
        for (Future<?> each : waiting) {
            assertThatThrownBy(() -> end(each)).cause().isInstanceOfSatisfying(ConnectionException.class, ended -> {
                assertThat(ended.event()).isEqualTo(CmEvent.Type.DISCONNECTED);
                assertThat(ended.peer()).isEqualTo(server.peer());
            });
        }
        assertThat(server.isOpen()).isFalse();
        assertThat(server.queuePair().state()).isEqualTo(QueuePairState.ERR);
    }

    @Test
    void flushedRequestsNameTheEndOfTheConnection() throws Exception {
        AcceptingListener.Ends both = connected();
        Connection server = both.server();
        Completions cursor = server.completions(4);
        server.queuePair().postReceive(1, buffer(server));
        server.queuePair().postReceive(2, buffer(server));
        both.client().close();
        Await.until("the end of the connection", () -> !server.isOpen());
        assertThatThrownBy(() -> Await.completion(server.completionQueue()).orThrow())
                .isInstanceOf(WorkCompletionException.class)
                .hasMessageContaining("RDMA_CM_EVENT_DISCONNECTED")
                .hasMessageNotContaining("first error")
                .hasCauseInstanceOf(ConnectionException.class);
        Await.until("the second flushed receive", () -> cursor.poll() == 1);
        assertThat(cursor.next()).isTrue();
        assertThatThrownBy(cursor::orThrow).hasCauseInstanceOf(ConnectionException.class);
        assertThatThrownBy(() -> cursor.await(DEADLINE)).isInstanceOf(ConnectionException.class);
    }

    @Test
    void awaitCompletionEndsInAConfinedArena() throws Exception {
        try (VerbsArena confined = VerbsArena.ofConfined()) {
            Listener here = Listener.open(FencedIds.OWN, confined);
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
