package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.ResourceBusyException;
import dev.verbena.support.FencedTest;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Ids that change their event channel. */
@FencedTest
class MigrationTest {
    @AutoClose
    private final FencedIds ids = new FencedIds();

    private final EventChannel other = EventChannel.create(ids.arena);
    private final ConnectionId listener = ids.listener(4);
    private final EventChannel old = listener.channel();

    private ConnectionId client() throws InterruptedException {
        return ids.client(old, listener);
    }

    private ConnectionId served(ConnectionId client) throws InterruptedException {
        client.beginConnect(ConnectionParameters.defaults());
        ConnectionId server = listener.awaitRequest(DEADLINE).claim();
        server.createQueuePair(FencedIds.SIZES);
        return server;
    }

    @Test
    void migrateMovesTheDependencyToTheNewChannel() throws Exception {
        ConnectionId client = client();
        ConnectionId server = served(client);
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
        client.migrate(other);
        assertThat(client.channel()).isSameAs(other);
    }

    @Test
    void migrateIsSafeDuringConnect() throws Exception {
        for (int round = 0; round < 20; round++) {
            ConnectionId client = client();
            client.beginConnect(ConnectionParameters.defaults());
            client.migrate(other);
            ConnectionId server = listener.awaitRequest(DEADLINE).claim();
            server.migrate(other);
            server.createQueuePair(FencedIds.SIZES);
            Future<?> moving = ids.start(() -> {
                client.migrate(old);
                server.migrate(old);
                client.migrate(other);
            });
            server.beginAccept(ConnectionParameters.defaults());
            assertThat(client.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
            assertThat(server.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
            FencedIds.end(moving);
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
        Listener many = Listener.open(FencedIds.OWN, ids.arena);
        Future<Connection> accepting = ids.start(() -> many.accept(DEADLINE));
        Connection client = Connection.open(many.address(), DEADLINE, ids.arena);
        Connection server = FencedIds.end(accepting);
        server.id().migrate(EventChannel.create(ids.arena));
        many.close();
        client.close();
        assertThat(server.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.DISCONNECTED);
        server.close();
    }
}
