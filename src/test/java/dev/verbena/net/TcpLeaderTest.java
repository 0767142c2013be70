package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.link.Carrier;
import dev.verbena.support.Await;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The threads that work at the sockets of a node, one at a time: one that has worked wakes the next. These threads wait at
 * the carrier itself. In a channel's waits, ticks would make up for a thread that was not woken.
 */
class TcpLeaderTest extends TcpTest {
    private static final int ROUNDS = 4;

    private Carrier carrier;

    @BeforeEach
    void useCallers() throws Exception {
        use(NodePair.SMALL.progress(NodeOptions.Progress.CALLER));
        var connecting = nodes.start(() -> nodes.client.connect(nodes.server.address(), DEADLINE));
        nodes.server.accept(DEADLINE);
        carrier = NodePair.end(connecting).session().engine.carrier;
    }

    private Thread waiting(AtomicBoolean enough) {
        return Thread.ofPlatform().daemon().start(() -> {
            try {
                carrier.await(() -> enough.get() ? Boolean.TRUE : null, Duration.ofHours(1));
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
    }

    private static boolean works(Thread thread) {
        return Await.isIn(thread, "dev.verbena.internal.link.TcpCarrier", "turn");
    }

    @Test
    void threadThatHasWorkedWakesTheNext() throws Exception {
        AtomicBoolean enough = new AtomicBoolean();
        AtomicBoolean never = new AtomicBoolean();
        Thread first = waiting(enough);
        Await.until("the first thread works", () -> works(first));
        Thread second = waiting(never);
        Await.until("the second thread waits, or works in its turn", () -> Await.isAsleep(second) || works(second));
        enough.set(true);
        Await.end(first);
        Await.until("the second thread works", () -> works(second));
        never.set(true);
        Await.end(second);
    }

    @Test
    void threadOfTheSocketsWakesTheNext() throws Exception {
        Thread sockets = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().contains("sockets") && carrierHas(thread))
                .findAny()
                .orElseThrow();
        for (int i = 0; i < ROUNDS; i++) {
            Await.until("the thread of the sockets works", () -> works(sockets));
            AtomicBoolean enough = new AtomicBoolean();
            Thread next = waiting(enough);
            Await.until("the next thread works", () -> works(next));
            enough.set(true);
            Await.end(next);
        }
    }

    private boolean carrierHas(Thread thread) {
        return thread.getName().endsWith(IpAddresses.text(carrier.address()));
    }
}
