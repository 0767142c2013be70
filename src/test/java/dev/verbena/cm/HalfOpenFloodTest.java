package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.Await;
import dev.verbena.support.CmAddress;
import dev.verbena.support.LongTest;
import dev.verbena.support.OpenFileLimit;
import dev.verbena.support.Resources;
import dev.verbena.verbs.QueueCapabilities;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * A flood of peers that ask to connect and never confirm the answer, and honest clients among them. {@code
 * -Ddev.verbena.load.peers=N} sets the number of peers.
 */
@LongTest
class HalfOpenFloodTest {
    private static final int PEERS = Integer.getInteger("dev.verbena.load.peers", 10_000);
    private static final int HONEST = 5;
    private static final int BACKLOG = 16;
    /** Numbers of queue pairs that do not exist: peers with the same number would be one peer that connects again. */
    private static final int UNUSED = 0x400000;

    private static final int ACCEPTORS = 4;
    private static final Duration HANDSHAKE = Duration.ofSeconds(2);
    private static final ConnectionResources SMALL = ConnectionResources.of(QueueCapabilities.of(4, 4));

    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final AtomicInteger accepted = new AtomicInteger();

    @Test
    void honestClientsGetInAmongHalfOpenPeers() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ListenerOptions limits = ListenerOptions.defaults().backlog(BACKLOG).handshakeTimeout(HANDSHAKE);
            Listener listener = Listener.open(CmAddress.four(0), limits, arena);
            List<Thread> acceptors = new ArrayList<>();
            for (int i = 0; i < ACCEPTORS; i++) {
                acceptors.add(Thread.ofPlatform().daemon().start(() -> accept(listener, arena)));
            }
            EventChannel channel = EventChannel.create(arena);
            long began = System.nanoTime();
            int tries = 0;
            long pairs = 0;
            List<ConnectionId> peers = new ArrayList<>();
            for (int i = 1; i <= PEERS; i++) {
                ConnectionId peer = channel.createId(PortSpace.TCP);
                peer.resolveAddress(listener.address(), DEADLINE);
                peer.resolveRoute(DEADLINE);
                peer.beginConnect(ConnectionParameters.defaults().queuePair(UNUSED + i, false));
                peers.add(peer);
                if (i % (PEERS / HONEST) == PEERS / HONEST / 2) {
                    tries += connect(listener.address(), arena);
                    pairs = Math.max(pairs, Resources.queuePairs());
                    System.out.printf(
                            "%d peers in %.0f s, %d queue pairs, %d KiB resident, %d files%n",
                            i,
                            (System.nanoTime() - began) / 1e9,
                            pairs,
                            Resources.residentKib(),
                            OpenFileLimit.count());
                }
            }
            long rejected =
                    peers.stream().filter(HalfOpenFloodTest::wasRejected).count();
            System.out.printf(
                    "%d half-open peers in %.0f s, %d of them were rejected; %d honest clients got in, with %d tries%n",
                    PEERS, (System.nanoTime() - began) / 1e9, rejected, accepted.get(), tries);
            Throwable thrown = failure.get();
            if (thrown != null) {
                throw new AssertionError(thrown);
            }
            Await.until("the honest clients", () -> accepted.get() == HONEST);
            assertThat(PEERS - rejected).as("peers that were answered").isGreaterThan(ACCEPTORS);
            // Both ends of the honest ones, and the ends that threads are accepting.
            assertThat(pairs).as("queue pairs").isLessThanOrEqualTo(2 * HONEST + ACCEPTORS);
            assertThat(rejected).as("peers beyond the backlog").isPositive();
            listener.close();
            for (Thread acceptor : acceptors) {
                Await.end(acceptor);
            }
        }
        assertThat(Resources.ofThisProcess()).isEmpty();
    }

    private static boolean wasRejected(ConnectionId peer) {
        CmEvent event = peer.pollEvent();
        return event != null && event.type() == CmEvent.Type.REJECTED;
    }

    private void accept(Listener listener, VerbsArena arena) {
        while (listener.id().isOpen()) {
            try {
                listener.accept(Duration.ofHours(3), SMALL, arena);
                accepted.incrementAndGet();
            } catch (ConnectionException peerHasGivenUp) {
                assert peerHasGivenUp.event() != null;
            } catch (IllegalStateException closed) {
                return;
            } catch (Throwable t) {
                failure.compareAndSet(null, t);
                return;
            }
        }
    }

    /** Connects as a patient client does: again when the listener has no room. Returns the number of tries. */
    private static int connect(InetSocketAddress address, VerbsArena arena) throws InterruptedException {
        long end = System.nanoTime() + DEADLINE.toNanos();
        for (int tries = 1; ; tries++) {
            try {
                Connection.open(address, DEADLINE, SMALL, arena);
                return tries;
            } catch (ConnectionException rejected) {
                assertThat(rejected.event()).isEqualTo(CmEvent.Type.REJECTED);
                assertThat(System.nanoTime()).isLessThan(end);
                Thread.onSpinWait();
            }
        }
    }
}
