package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.CmAddress;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairState;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests each way to take a peer, and to join a group: at once or waiting, with and without an arena, until it ends. */
@FencedTest
class ListenerTest {
    private static final QueueCapabilities SIZES = QueueCapabilities.of(3, 5);

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final AcceptingListener ends = new AcceptingListener(CmAddress.four(0));
    private final VerbsArena arena = ends.arena;
    private final VerbsArena other = VerbsArena.ofShared();
    private final Listener listener = ends.listener;

    @AfterEach
    void close() {
        threads.shutdownNow();
        if (other.scope().isAlive()) {
            other.close();
        }
        ends.close();
    }

    private Connection requesting() throws InterruptedException {
        Connection client = Connection.to(listener.address(), DEADLINE, arena);
        client.id().beginConnect(ConnectionParameters.defaults().privateData(PrivateData.of("please")));
        return client;
    }

    private interface Poll<T> {
        @Nullable
        T poll();
    }

    private static <T> T polled(Poll<T> from) {
        AtomicReference<@Nullable T> found = new AtomicReference<>();
        Await.until("a request", () -> {
            found.set(from.poll());
            return found.get() != null;
        });
        return Objects.requireNonNull(found.get());
    }

    private static void establish(Connection server, Connection client) throws InterruptedException {
        server.accept(DEADLINE);
        assertThat(client.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
        assertThat(server.queuePair().state()).isEqualTo(QueuePairState.RTS);
    }

    @Test
    void pollConnectionTakesEachPeerOnce() throws Exception {
        assertThat(listener.pollConnection()).isNull();
        Connection client = requesting();
        Connection server = polled(listener::pollConnection);
        assertThat(server.privateData().text()).startsWith("please");
        assertThat(server.id().arena()).isSameAs(arena);
        assertThat(listener.pollConnection()).isNull();
        establish(server, client);
    }

    @Test
    void pollConnectionTakesSizesAndAnArena() throws Exception {
        Connection client = requesting();
        Connection server = polled(() -> listener.pollConnection(ConnectionResources.of(SIZES), other));
        assertThat(server.queuePair().capabilities().sendDepth()).isBetween(SIZES.sendDepth(), 63);
        establish(server, client);
        other.close();
        assertThat(server.id().isOpen()).isFalse();
        assertThat(listener.id().isOpen()).isTrue();
    }

    @Test
    void pollRequestTakesEachRequestOnce() throws Exception {
        assertThat(listener.id().pollRequest()).isNull();
        requesting();
        ConnectRequest request = polled(listener.id()::pollRequest);
        assertThat(request.privateData().text()).startsWith("please");
        assertThat(listener.id().pollRequest()).isNull();
        request.reject(PrivateData.NONE);
        assertThatThrownBy(() -> request.reject(PrivateData.NONE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("claimed or rejected");
    }

    @Test
    void pollRequestRefusesAnIdThatDoesNotListen() throws Exception {
        ConnectionId id = Connection.to(listener.address(), DEADLINE, arena).id();
        assertThatThrownBy(id::pollRequest)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("does not listen");
    }

    @Test
    void acceptTakesSizesAndAnArena() throws Exception {
        Future<Connection> accepted =
                threads.submit(() -> listener.accept(DEADLINE, ConnectionResources.of(SIZES), other));
        Connection client = Connection.open(listener.address(), DEADLINE, arena);
        Connection server = accepted.get(DEADLINE.toSeconds(), SECONDS);
        assertThat(server.queuePair().capabilities().receiveDepth()).isBetween(SIZES.receiveDepth(), 63);
        assertThat(server.id().arena()).isSameAs(other);
        other.close();
        Await.until("the end of the connection", () -> !client.isOpen());
    }

    @Test
    void acceptMakesTheCallersQueuePairReady() throws Exception {
        Future<Connection> opening = threads.submit(() -> Connection.open(listener.address(), DEADLINE, arena));
        ConnectionId server = listener.id().awaitRequest(DEADLINE).claim();
        CompletionQueue queue = server.context().createCompletionQueue(4);
        QueuePair own = server.context().allocateProtectionDomain().createQueuePair(QueuePair.rc(queue));
        server.accept(own, ConnectionParameters.defaults(), DEADLINE);
        assertThat(own.state()).isEqualTo(QueuePairState.RTS);
        assertThat(opening.get(DEADLINE.toSeconds(), SECONDS).isOpen()).isTrue();
    }

    @Test
    void acceptWithoutClientEndsAtItsTimeout() {
        assertThatThrownBy(() -> listener.accept(Duration.ofMillis(1))).isInstanceOf(VerbsTimeoutException.class);
    }

    @Test
    void closeEndsTheWaitOfAnotherThread() throws Exception {
        Future<Connection> accepted = threads.submit(() -> listener.accept(DEADLINE));
        // Whether it waits already or not, it must end.
        listener.close();
        assertThatThrownBy(() -> accepted.get(DEADLINE.toSeconds(), SECONDS))
                .hasCauseInstanceOf(IllegalStateException.class);
    }

    @Test
    void interruptEndsTheWait() throws Exception {
        Future<Connection> accepted = threads.submit(() -> listener.accept(DEADLINE));
        threads.shutdownNow();
        assertThatThrownBy(() -> accepted.get(DEADLINE.toSeconds(), SECONDS))
                .hasCauseInstanceOf(InterruptedException.class);
    }

    @Test
    void acceptKeepsASecondRequest() throws Exception {
        List<Connection> clients = List.of(requesting(), requesting());
        List<Connection> servers = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            servers.add(listener.awaitConnection(DEADLINE));
            servers.get(i).accept(DEADLINE);
        }
        for (Connection client : clients) {
            assertThat(client.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
        }
        assertThat(servers)
                .extracting(server -> server.id().peerAddress())
                .containsExactlyInAnyOrderElementsOf(clients.stream()
                        .map(client -> client.id().localAddress())
                        .toList());
    }

    @Test
    void listenerServesAHundredClientsAtOnce() throws Exception {
        assertThat(ends.connectedAtOnce(100)).hasSize(100);
    }

    @Test
    void confinedListenerTakesLaterRequests() throws Exception {
        CompletableFuture<InetSocketAddress> address = new CompletableFuture<>();
        Thread[] serving = new Thread[1];
        Future<?> server = threads.submit(() -> {
            serving[0] = Thread.currentThread();
            try (VerbsArena confined = VerbsArena.ofConfined()) {
                Listener own = Listener.open(CmAddress.four(0), confined);
                address.complete(own.address());
                own.accept(DEADLINE);
            }
            return null;
        });
        InetSocketAddress to = address.get(DEADLINE.toSeconds(), SECONDS);
        Await.until("a thread that waits", () -> Await.isAsleep(serving[0]));
        Connection.open(to, DEADLINE, arena);
        server.get(DEADLINE.toSeconds(), SECONDS);
    }

    @Test
    void joinTakesAnArenaThatLeavesTheGroup() throws Exception {
        InetSocketAddress group = new InetSocketAddress("239.1.1.9", 0);
        ConnectionId id = listener.id().channel().createId(PortSpace.UDP);
        id.resolveAddress(CmAddress.four(0), group, DEADLINE);
        ProtectionDomain domain = id.context().allocateProtectionDomain();
        id.createQueuePair(domain, QueuePair.ud(id.context().createCompletionQueue(4)));
        MulticastMembership plain = id.join(group, DEADLINE, other);
        assertThat(plain.arena()).isSameAs(other);
        assertThat(plain.group()).isEqualTo(group);
        other.close();
        assertThat(plain.isOpen()).isFalse();
        try (VerbsArena another = VerbsArena.ofShared()) {
            MulticastMembership again = id.join(group, MulticastMembership.Kind.FULL_MEMBER, DEADLINE, another);
            assertThat(again.arena()).isSameAs(another);
        }
        assertThat(id.join(group, MulticastMembership.Kind.FULL_MEMBER, DEADLINE)
                        .arena())
                .isSameAs(arena);
    }
}
