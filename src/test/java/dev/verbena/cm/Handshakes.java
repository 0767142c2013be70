package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.CmAddress;
import dev.verbena.verbs.QueueCapabilities;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Sides that go away, at any moment of the handshake: nothing hangs, and the listener serves the next one. */
abstract class Handshakes {
    private static final QueueCapabilities SIZES = QueueCapabilities.of(4, 4);

    private VerbsArena listening;
    private VerbsArena serving;
    private VerbsArena calling;
    private ConnectionId listener;
    private volatile ConnectionId client;
    private volatile ConnectRequest request;
    private volatile ConnectionId server;

    /** What a handshake has come to. */
    enum Phase {
        CREATED,
        ADDRESS_BEGUN,
        ADDRESS_RESOLVED,
        ROUTE_BEGUN,
        ROUTE_RESOLVED,
        QUEUE_PAIR,
        CONNECT_BEGUN,
        REQUESTED,
        CLAIMED,
        SERVER_QUEUE_PAIR,
        ACCEPT_BEGUN,
        CLIENT_ESTABLISHED,
        ESTABLISHED,
        DISCONNECT_BEGUN,
        DISCONNECTED
    }

    @BeforeEach
    void open() {
        begin();
        listening = VerbsArena.ofShared();
        listener = EventChannel.create(listening).createId(PortSpace.TCP);
        listener.bind(CmAddress.four(0));
        listener.listen(16);
    }

    @AfterEach
    void close() {
        closeBoth();
        listening.close();
    }

    private void closeBoth() {
        for (VerbsArena side : List.of(calling, serving)) {
            if (side.scope().isAlive()) {
                side.close();
            }
        }
    }

    private void begin() {
        serving = VerbsArena.ofShared();
        calling = VerbsArena.ofShared();
    }

    private void step(Phase phase) throws InterruptedException {
        switch (phase) {
            case CREATED -> client = EventChannel.create(calling).createId(PortSpace.TCP);
            case ADDRESS_BEGUN ->
                client.beginResolveAddress(null, listener.localAddress().orElseThrow(), DEADLINE);
            case ADDRESS_RESOLVED -> expect(client, CmEvent.Type.ADDRESS_RESOLVED);
            case ROUTE_BEGUN -> client.beginResolveRoute(DEADLINE);
            case ROUTE_RESOLVED -> expect(client, CmEvent.Type.ROUTE_RESOLVED);
            case QUEUE_PAIR -> client.createQueuePair(SIZES);
            case CONNECT_BEGUN -> client.beginConnect(ConnectionParameters.defaults());
            case REQUESTED -> request = listener.awaitRequest(DEADLINE);
            case CLAIMED -> server = request.claim(serving);
            case SERVER_QUEUE_PAIR -> server.createQueuePair(SIZES);
            case ACCEPT_BEGUN -> server.beginAccept(ConnectionParameters.defaults());
            case CLIENT_ESTABLISHED -> expect(client, CmEvent.Type.ESTABLISHED);
            case ESTABLISHED -> expect(server, CmEvent.Type.ESTABLISHED);
            case DISCONNECT_BEGUN -> client.beginDisconnect();
            case DISCONNECTED -> expect(server, CmEvent.Type.DISCONNECTED);
        }
    }

    private static void expect(ConnectionId id, CmEvent.Type type) throws InterruptedException {
        assertThat(id.awaitEvent(DEADLINE).type()).isEqualTo(type);
    }

    private void goTo(Phase last) throws InterruptedException {
        for (Phase phase : Phase.values()) {
            step(phase);
            if (phase == last) {
                return;
            }
        }
    }

    /** All that came before is over. */
    private void nextOneIsServed() throws InterruptedException {
        closeBoth();
        begin();
        step(Phase.CREATED);
        for (Phase phase : Phase.values()) {
            if (phase.compareTo(Phase.CREATED) > 0 && phase.compareTo(Phase.REQUESTED) < 0) {
                step(phase);
            }
        }
        // Of one that is gone a request may be left.
        do {
            request = listener.awaitRequest(DEADLINE);
            if (!request.peer().equals(client.localAddress())) {
                request.claim(serving).close();
            }
        } while (!request.peer().equals(client.localAddress()));
        for (Phase phase : Phase.values()) {
            if (phase.compareTo(Phase.REQUESTED) > 0) {
                step(phase);
            }
        }
    }

    void clientCloses(Phase phase) throws Exception {
        goTo(phase);
        calling.close();
        nextOneIsServed();
    }

    void serverCloses(Phase phase) throws Exception {
        goTo(phase);
        serving.close();
        if (phase.compareTo(Phase.CLIENT_ESTABLISHED) < 0) {
            // By what has reached the client already.
            assertThat(client.awaitEvent(DEADLINE).type())
                    .isIn(
                            CmEvent.Type.REJECTED,
                            CmEvent.Type.CONNECT_ERROR,
                            CmEvent.Type.ESTABLISHED,
                            CmEvent.Type.UNREACHABLE);
        }
        nextOneIsServed();
    }

    void listenerCloses(Phase phase) throws Exception {
        goTo(phase);
        listener.close();
        if (phase == Phase.CONNECT_BEGUN || phase == Phase.REQUESTED) {
            expect(client, CmEvent.Type.REJECTED);
        }
        if (phase == Phase.REQUESTED) {
            assertThatThrownBy(request::claim).isInstanceOf(IllegalStateException.class);
        }
        for (Phase later : Phase.values()) {
            if (later.compareTo(phase) > 0 && phase.compareTo(Phase.REQUESTED) > 0) {
                step(later); // what was claimed goes on
            }
        }
    }

    private void shakeHands(CountDownLatch begun) throws InterruptedException {
        for (Phase phase : Phase.values()) {
            try {
                step(phase);
            } catch (IllegalStateException | VerbsException | NullPointerException | AssertionError gone) {
                return; // or is told of something else
            }
            begun.countDown();
        }
    }

    /** Closed while the other thread is at it: one of them may find that it can't go on, but neither hangs. */
    void sidesClose(int rounds) throws Exception {
        Random random = new Random(7);
        for (int round = 0; round < rounds; round++) {
            CountDownLatch begun = new CountDownLatch(1 + random.nextInt(Phase.values().length));
            FutureTask<Void> shaking = new FutureTask<>(() -> {
                try {
                    shakeHands(begun);
                } finally {
                    while (begun.getCount() > 0) {
                        begun.countDown();
                    }
                }
                return null;
            });
            Thread thread = Thread.startVirtualThread(shaking);
            assertThat(begun.await(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            (random.nextBoolean() ? calling : serving).close();
            thread.interrupt(); // what it waits for may never come
            try {
                shaking.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
            } catch (ExecutionException interrupted) {
                assertThat(interrupted).hasCauseInstanceOf(InterruptedException.class);
            }
            closeBoth();
            begin();
        }
        nextOneIsServed();
    }
}
