package dev.verbena.net;

import dev.verbena.internal.link.AutoCarrier;
import dev.verbena.internal.link.Carrier;
import dev.verbena.internal.link.TcpCarrier;
import dev.verbena.support.Await;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * The time of a node as a test wants it: when the test says so, the node looks at a clock that is ahead of the real one. What
 * has to end then ends after a limit of hours, and a busy machine ends nothing else.
 */
final class NodeClock {
    /** A time between signs of life that only this clock brings to an end. */
    static final Duration ALIVE = Duration.ofHours(1);

    private final Node node;
    private long now = System.nanoTime();

    NodeClock(Node node) {
        this.node = node;
    }

    /** Has the node look at the clock after some more time. */
    void pass(Duration time) {
        now += time.toNanos();
        Carrier carrier = node.engine().carrier;
        if (carrier instanceof AutoCarrier both) {
            tick(both.tcp);
        } else if (carrier instanceof TcpCarrier tcp) {
            tick(tcp);
        }
        node.engine().tick(now);
    }

    private void tick(TcpCarrier tcp) {
        long then = now;
        tcp.run(() -> tcp.tick(then));
    }

    /** Lets time pass until something happens. The node may not look at a channel that is busy. */
    void passUntil(String what, Duration step, BooleanSupplier happens) {
        Await.until(what, () -> {
            if (!happens.getAsBoolean()) {
                pass(step);
            }
            return happens.getAsBoolean();
        });
    }

    /** Lets a channel of the node wait for more than one sign of life, and the peer's adapter answer each. */
    void idle(Channel channel) {
        for (int i = 0; i < 6; i++) {
            Await.until("all is acknowledged", () -> channel.toString().contains(" 0 under way"));
            pass(ALIVE.multipliedBy(2));
        }
    }
}
