package dev.verbena.net;

import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.link.Carrier;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Connects a node to others. At most {@link NodeOptions#connecting} threads connect at once, and all others wait. All threads
 * may use an instance.
 */
final class Connector {
    private final Engine engine;
    private final AtomicInteger underWay = new AtomicInteger();
    private final Waiters places = new Waiters();
    private final Supplier<@Nullable Boolean> takePlace = this::takePlace;

    Connector(Engine engine) {
        this.engine = engine;
    }

    private @Nullable Boolean takePlace() {
        engine.checkUsable();
        return tryBegin() ? Boolean.TRUE : null;
    }

    /** Begins to connect without a thread. Returns false if as many connects as may be are under way. */
    boolean tryBegin() {
        if (underWay.incrementAndGet() <= engine.options.connecting()) {
            return true;
        }
        underWay.decrementAndGet();
        return false;
    }

    /** Notes the end of a connect. */
    void end() {
        underWay.decrementAndGet();
        engine.wake(places);
    }

    /** Has all threads that wait for others to connect look again. */
    void wakeAll() {
        places.wakeAll();
    }

    Channel connect(InetSocketAddress peer, Duration timeout) throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout");
        Deadline deadline = Deadline.after(timeout);
        if (engine.await(places, takePlace, timeout) == null) {
            throw new VerbsTimeoutException(
                    "connect",
                    "to " + IpAddresses.text(peer),
                    timeout,
                    "As many connects are under way as NodeOptions.connecting() allows");
        }
        try {
            return connect(peer, deadline, timeout);
        } finally {
            end();
        }
    }

    private Channel connect(InetSocketAddress peer, Deadline deadline, Duration timeout) throws InterruptedException {
        VerbsException before = null;
        Carrier.Attempt attempt = engine.carrier.attempt();
        while (true) {
            engine.checkUsable();
            Session session = engine.enterToConnect(peer);
            try {
                return open(session, attempt, deadline, timeout);
            } catch (VerbsException failure) {
                engine.giveUp(session);
                if (before != null && before != failure) {
                    failure.addSuppressed(before);
                }
                Carrier.Connection with = session.rail.connection();
                before = with != null && with.isRedirected() ? before : failure;
                boolean late = failure instanceof VerbsTimeoutException;
                attempt = late && deadline.isOver() ? null : attempt.next(with, late, isUnreachable(session));
                if (attempt == null) {
                    throw failure;
                }
            } catch (Throwable failure) {
                engine.giveUp(session);
                throw failure;
            }
        }
    }

    /** Returns true if no way leads to the peer, or if C has refused to begin. */
    private static boolean isUnreachable(Session session) {
        ChannelException why = session.cause();
        return why == null || why.reason() == EndReason.UNREACHABLE;
    }

    private static Channel open(Session session, Carrier.Attempt attempt, Deadline deadline, Duration timeout)
            throws InterruptedException {
        attempt.begin(session.rail, session.peer);
        Duration left = deadline.left();
        Duration patience = attempt.patience();
        if (!session.channel.awaitOpen(left.compareTo(patience) < 0 ? left : patience)) {
            throw new VerbsTimeoutException(
                    session.rail.transport() == Transport.RDMA ? "rdma_connect" : "connect",
                    "to " + IpAddresses.text(session.peer),
                    timeout,
                    "The peer's node may be slow, or makes no progress");
        }
        return session.channel;
    }
}
