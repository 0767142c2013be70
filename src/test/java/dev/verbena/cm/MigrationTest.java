package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.support.CmAddress;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.QueuePair;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Ids that change their event channel. */
@FencedTest
class MigrationTest {
    private VerbsArena arena;
    private EventChannel old;
    private EventChannel other;
    private ConnectionId listener;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofShared();
        old = EventChannel.create(arena);
        listener = old.createId(PortSpace.TCP);
        listener.bind(CmAddress.four(0));
        listener.listen(4);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private ConnectionId client() throws InterruptedException {
        ConnectionId client = old.createId(PortSpace.TCP);
        client.resolveAddress(listener.localAddress().orElseThrow(), DEADLINE);
        client.resolveRoute(DEADLINE);
        client.createQueuePair(
                client.context().allocateProtectionDomain(),
                QueuePair.rc(client.context().createCompletionQueue(4)));
        return client;
    }

    private ConnectionId served(ConnectionId client) throws InterruptedException {
        client.beginConnect(ConnectionParameters.defaults());
        ConnectionId server = listener.awaitRequest(DEADLINE).claim();
        server.createQueuePair(
                client.queuePair().orElseThrow().domain(),
                QueuePair.rc(server.context().createCompletionQueue(4)));
        return server;
    }

    @Test
    void migrateMovesTheDependencyToTheNewChannel() throws Exception {
        ConnectionId client = client();
        ConnectionId server = served(client);
        other = EventChannel.create(arena);
        client.migrate(other);
        server.migrate(other);
        listener.close();
        old.close();
        assertThatThrownBy(other::close).isInstanceOf(ResourceBusyException.class);
        server.beginAccept(ConnectionParameters.defaults());
        assertThat(client.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
        // the kernel sends nothing to the peer for an end that comes before this event
        assertThat(server.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
        server.beginDisconnect();
        client.disconnect(DEADLINE);
    }

    @Test
    void arenaClosesAMigratedIdBeforeItsChannel() throws Exception {
        ConnectionId client = client();
        other = EventChannel.create(arena);
        client.migrate(other);
        assertThat(client.channel()).isSameAs(other);
    }

    @Test
    void migrateKeepsWaitingThreads() throws Exception {
        ConnectionId client = client();
        ConnectionId server = served(client);
        CountDownLatch starts = new CountDownLatch(1);
        FutureTask<CmEvent> waiting = new FutureTask<>(() -> {
            starts.countDown();
            return client.awaitEvent(DEADLINE);
        });
        Thread.startVirtualThread(waiting);
        assertThat(starts.await(DEADLINE.toSeconds(), SECONDS)).isTrue();
        other = EventChannel.create(arena);
        client.migrate(other);
        server.migrate(other);
        listener.close();
        old.close();
        server.beginAccept(ConnectionParameters.defaults());
        assertThat(waiting.get(DEADLINE.toSeconds(), SECONDS).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
    }

    @Test
    void migrateOfAListenerNeedsClaimedRequests() throws Exception {
        ConnectionId first = client();
        ConnectionId second = client();
        first.beginConnect(ConnectionParameters.defaults());
        ConnectRequest request = listener.awaitRequest(DEADLINE);
        other = EventChannel.create(arena);
        assertThatThrownBy(() -> listener.migrate(other))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("requests to connect");
        request.reject(PrivateData.NONE);
        listener.migrate(other);
        second.beginConnect(ConnectionParameters.defaults());
        assertThat(listener.awaitRequest(DEADLINE).claim().channel()).isSameAs(other);
    }

    @Test
    void migrateIsSafeDuringConnect() throws Exception {
        other = EventChannel.create(arena);
        for (int round = 0; round < 20; round++) {
            ConnectionId client = client();
            client.beginConnect(ConnectionParameters.defaults());
            client.migrate(other);
            ConnectionId server = listener.awaitRequest(DEADLINE).claim();
            server.migrate(other);
            server.createQueuePair(
                    client.queuePair().orElseThrow().domain(),
                    QueuePair.rc(server.context().createCompletionQueue(4)));
            FutureTask<Void> moving = new FutureTask<>(() -> {
                client.migrate(old);
                server.migrate(old);
                client.migrate(other);
                return null;
            });
            Thread.startVirtualThread(moving);
            server.beginAccept(ConnectionParameters.defaults());
            assertThat(client.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
            assertThat(server.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
            moving.get(DEADLINE.toSeconds(), SECONDS);
            server.beginDisconnect();
            client.disconnect(DEADLINE);
            client.queuePair().orElseThrow().close();
            server.queuePair().orElseThrow().close();
            client.close();
            server.close();
        }
    }

    @Test
    void migrateGivesConnectionsTheirOwnChannels() throws Exception {
        Listener many = Listener.open(CmAddress.four(0), arena);
        FutureTask<Connection> accepting = new FutureTask<>(() -> many.accept(DEADLINE));
        Thread.startVirtualThread(accepting);
        Connection client = Connection.open(many.address(), DEADLINE, arena);
        Connection server = accepting.get(DEADLINE.toSeconds(), SECONDS);
        server.id().migrate(EventChannel.create(arena));
        many.close();
        client.close();
        assertThat(server.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.DISCONNECTED);
        server.close();
    }
}
