package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Peers that ask to connect and never confirm the answer: the listener's limits, and the peers that do confirm. */
@FencedTest
class HalfOpenPeersTest {
    private static final Duration LONG = ChronoUnit.FOREVER.getDuration();
    private static final Duration SHORT = Duration.ofMillis(20);

    /** Short, but long enough for an honest peer on a busy machine. */
    private static final Duration ENOUGH = Duration.ofMillis(500);

    private static final int FLOOD = 10_000;
    private static final int FLOOD_OF_A_CHANNEL = 250;
    private static final int HONEST = 5;

    @AutoClose
    private final FencedIds ids = new FencedIds();

    private Listener listener(ListenerOptions limits) {
        return Listener.open(FencedIds.OWN, limits, ids.arena);
    }

    /** Asks to connect with a queue pair that the connection manager does not know: only establish() would confirm. */
    private static ConnectionId halfOpen(EventChannel channel, Listener listener) {
        ConnectionId client = channel.createId(PortSpace.TCP);
        client.beginResolveAddress(null, listener.address(), DEADLINE);
        client.beginConnect(ConnectionParameters.defaults().queuePair(7, false));
        return client;
    }

    private static CmEvent.Type answer(ConnectionId client) throws InterruptedException {
        CmEvent.Type type = client.awaitEvent(DEADLINE).type();
        return type == CmEvent.Type.ADDRESS_RESOLVED
                ? client.awaitEvent(DEADLINE).type()
                : type;
    }

    @Test
    void acceptClosesPeersWhoseTimeIsOver() throws Exception {
        Listener listener = listener(ListenerOptions.defaults().handshakeTimeout(ENOUGH));
        ConnectionId late = halfOpen(ids.channel, listener);
        Future<Connection> accepted = ids.start(() -> listener.accept(DEADLINE));
        assertThat(answer(late)).isEqualTo(CmEvent.Type.CONNECT_RESPONSE);
        Connection honest = Connection.open(listener.address(), DEADLINE, ids.arena);
        assertThat(FencedIds.end(accepted).peer()).isEqualTo(honest.id().localAddress());
        assertThat(late.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.DISCONNECTED);
    }

    @Test
    void acceptThrowsWhenItsOwnTimeIsOverFirst() {
        Listener listener = listener(ListenerOptions.defaults().handshakeTimeout(LONG));
        ConnectionId late = halfOpen(ids.channel, listener);
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> listener.accept(ENOUGH))
                .withMessageContaining("rdma_accept");
        assertThat(late.isDisconnected()).isTrue();
    }

    @Test
    void acceptThrowsWhenAPeerGivesUpAndGoesOn() throws Exception {
        Listener listener = listener(ListenerOptions.defaults().handshakeTimeout(LONG));
        ConnectionId leaving = halfOpen(ids.channel, listener);
        Future<Connection> accepted = ids.start(() -> listener.accept(DEADLINE));
        assertThat(answer(leaving)).isEqualTo(CmEvent.Type.CONNECT_RESPONSE);
        leaving.close();
        assertThatThrownBy(() -> FencedIds.end(accepted)).hasCauseInstanceOf(ConnectionException.class);
        Future<Connection> next = ids.start(() -> listener.accept(DEADLINE));
        Connection.open(listener.address(), DEADLINE, ids.arena);
        assertThat(FencedIds.end(next).isOpen()).isTrue();
    }

    @Test
    void honestClientsGetInAmongTenThousandHalfOpenPeers() throws Exception {
        Listener listener = listener(ListenerOptions.defaults().backlog(16).handshakeTimeout(SHORT));
        AtomicInteger accepted = new AtomicInteger();
        Future<?> server = ids.start(() -> {
            while (accepted.get() < HONEST) {
                listener.accept(LONG);
                accepted.incrementAndGet();
            }
            return null;
        });
        EventChannel channel = ids.channel;
        for (int i = 0; i < FLOOD; i++) {
            if (i % FLOOD_OF_A_CHANNEL == 0) {
                channel = EventChannel.create(ids.arena); // the provider looks through all events of a channel
            }
            halfOpen(channel, listener);
            if (i % (FLOOD / HONEST) == FLOOD / HONEST / 2) {
                connect(listener, accepted);
            }
        }
        FencedIds.end(server);
        assertThat(accepted).hasValue(HONEST);
    }

    /**
     * Connects as a patient client does: again when the listener has no room, or has closed the connection, because a
     * busy machine has let the time of a handshake pass.
     */
    private void connect(Listener listener, AtomicInteger accepted) throws Exception {
        int before = accepted.get();
        long end = System.nanoTime() + DEADLINE.toNanos();
        while (accepted.get() == before) {
            assertThat(System.nanoTime()).isLessThan(end);
            try {
                Connection client = Connection.open(listener.address(), DEADLINE, ids.arena);
                Await.until(
                        "it is accepted or closed",
                        () -> accepted.get() > before || client.id().isDisconnected());
            } catch (ConnectionException rejected) {
                assertThat(rejected.event()).isEqualTo(CmEvent.Type.REJECTED);
                Thread.onSpinWait();
            }
        }
    }

    @Test
    void listenerOptionsRefuseLimitsThatAllowNothing() {
        ListenerOptions limits = ListenerOptions.defaults();
        assertThatIllegalArgumentException().isThrownBy(() -> limits.backlog(0)).withMessageContaining("got 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> limits.handshakeTimeout(Duration.ZERO))
                .withMessageContaining("handshake timeout must be more than 0");
        assertThat(limits.backlog(5).handshakeTimeout(SHORT)).hasToString("backlog 5, handshake timeout PT0.02S");
    }
}
