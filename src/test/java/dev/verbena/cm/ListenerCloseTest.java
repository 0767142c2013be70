package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Listeners with a backlog, and listeners that close while clients arrive. */
@FencedTest
class ListenerCloseTest {
    private static final int ROUNDS = 50;
    private static final int CLIENTS = 3;

    @AutoClose
    private final FencedIds ids = new FencedIds();

    private static CmEvent.Type answer(ConnectionId client) throws InterruptedException {
        return client.awaitEvent(DEADLINE).type();
    }

    @Test
    void listenerCloseRejectsRequestsThatArriveMeanwhile() throws Exception {
        ConnectionId listener = ids.listener(4);
        EventChannel channel = listener.channel();
        ConnectionId client = ids.client(ids.channel, listener);
        Fenced.stop("rdma_destroy_id");
        Future<?> closing = ids.start(listener::close);
        Fenced.awaitStopped("rdma_destroy_id", 1);
        client.beginConnect(ConnectionParameters.defaults());
        Future<?> taking = ids.start(() -> channel.pollEvent());
        Await.until(
                "a request that was taken or refused", () -> taking.isDone() || Fenced.stopped("rdma_destroy_id") == 2);
        Fenced.goOn("rdma_destroy_id");
        FencedIds.end(closing);
        FencedIds.end(taking);
        assertThat(answer(client)).isEqualTo(CmEvent.Type.REJECTED);
        assertThat(channel.isUnused()).isTrue();
    }

    @Test
    void listenerThatCannotCloseGoesOnListening() throws Exception {
        ConnectionId listener = ids.listener(4);
        ConnectionId client = ids.client(ids.channel, listener);
        Fenced.fail("rdma_destroy_id", 1, Errno.EIO);
        assertThatThrownBy(listener::close).isInstanceOf(VerbsException.class).hasMessageContaining("rdma_destroy_id");
        client.beginConnect(ConnectionParameters.defaults());
        assertThat(listener.awaitRequest(DEADLINE).peer()).isEqualTo(client.localAddress());
    }

    @Test
    void listenerCloseLeavesNoClientWaiting() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            Listener listener = Listener.open(FencedIds.OWN, ids.arena);
            EventChannel channel = listener.id().channel();
            CountDownLatch start = new CountDownLatch(1);
            List<ConnectionId> clients = new ArrayList<>();
            List<Future<?>> work = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                ConnectionId client = ids.client(ids.channel, listener.id());
                clients.add(client);
                work.add(ids.start(() -> {
                    start.await();
                    client.beginConnect(ConnectionParameters.defaults());
                    return null;
                }));
            }
            work.add(ids.start(() -> {
                start.await();
                while (channel.isOpen()) {
                    try {
                        channel.pollEvent();
                    } catch (IllegalStateException closedMeanwhile) {
                        return null;
                    }
                }
                return null;
            }));
            start.countDown();
            listener.close();
            for (Future<?> each : work) {
                FencedIds.end(each);
            }
            for (ConnectionId client : clients) {
                assertThat(answer(client)).isEqualTo(CmEvent.Type.REJECTED);
                client.queuePair().orElseThrow().close();
                client.close();
            }
            assertThat(channel.isOpen()).isFalse();
        }
    }

    @Test
    void listenerLeavesRequestsBeyondItsBacklogToCToRefuse() throws Exception {
        ConnectionId listener = ids.listener(2);
        List<ConnectionId> clients = List.of(
                ids.client(ids.channel, listener),
                ids.client(ids.channel, listener),
                ids.client(ids.channel, listener));
        clients.forEach(client -> client.beginConnect(ConnectionParameters.defaults()));
        assertThat(answer(clients.getLast())).isEqualTo(CmEvent.Type.REJECTED);
        assertThat(listener.pollRequest()).isNotNull();
        assertThat(listener.pollRequest()).isNotNull();
        assertThat(listener.pollRequest()).isNull();
    }

    @Test
    void listenerRefusesRequestsBeyondItsBacklogThatWereTakenFromC() throws Exception {
        ConnectionId listener = ids.listener(2);
        List<ConnectionId> clients = List.of(
                ids.client(ids.channel, listener),
                ids.client(ids.channel, listener),
                ids.client(ids.channel, listener));
        for (ConnectionId client : clients) {
            client.beginConnect(ConnectionParameters.defaults());
            listener.isDisconnected(); // takes the events of the channel from C
        }
        assertThat(answer(clients.getLast())).isEqualTo(CmEvent.Type.REJECTED);
        assertThat(listener.pollRequest()).isNotNull();
        ConnectionId late = ids.client(ids.channel, listener);
        late.beginConnect(ConnectionParameters.defaults());
        assertThat(listener.pollRequest()).isNotNull();
        assertThat(Objects.requireNonNull(listener.pollRequest()).peer()).isEqualTo(late.localAddress());
    }
}
