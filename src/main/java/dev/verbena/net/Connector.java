package dev.verbena.net;

import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.link.Carrier;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.SequencedSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Connects a node to others. At most {@link NodeOptions#connecting} threads connect at once, and all others wait. So do
 * channels that have lost their connections, of which fewer connect at once: if many do, each takes so long that its time is
 * over when the peer answers. All threads may use an instance.
 */
final class Connector {
    /** The largest number of channels that connect again at once, and of those among them that have a connection. */
    private static final int MOST_AGAIN = 16;

    private static final int MOST_PREFERRING = MOST_AGAIN / 2;

    /** The number of further tries at a peer that has ended the connection before its greeting: others may have needed the place. */
    private static final int MOST_TURNED_AWAY = 30;

    private static final long FIRST_PAUSE_NANOS = 20_000_000;
    private static final long LONGEST_PAUSE_NANOS = 500_000_000;

    /** The weight of one connect in the time that others may take. */
    private static final int WEIGHT = 8;

    private final Engine engine;
    private final AtomicInteger underWay = new AtomicInteger();

    private final Mutex lock = new Mutex();

    // The lock guards the fields below.

    /** The channels that wait to connect again, in their order: those that have not tried yet come before the others. */
    private final SequencedSet<Session> untried = new LinkedHashSet<>();

    private final SequencedSet<Session> tried = new LinkedHashSet<>();

    /** True while channels wait. A thread that makes progress reads it without the lock: a lock for each poll takes 20 ns. */
    private volatile boolean awaited;

    /** The number of channels that connect again. */
    private int again;

    /** The time that the last ones of them took, on average. */
    private long usualNanos;

    private final Waiters places = new Waiters();
    private final Supplier<@Nullable Boolean> takePlace = this::takePlace;

    Connector(Engine engine) {
        this.engine = engine;
    }

    private @Nullable Boolean takePlace() {
        engine.checkUsable();
        return tryBegin() ? Boolean.TRUE : null;
    }

    /**
     * Begins to connect again, for a channel. If as many connects as may be are under way, returns false. A channel without a
     * connection looks at its clock when one of them has ended.
     *
     * @param first true if the channel has not tried yet
     */
    boolean tryBeginAgain(Session session, boolean first) {
        boolean heals = session.isHealing();
        try (var _ = lock.held()) {
            boolean begins = again < (heals ? MOST_AGAIN : MOST_PREFERRING) && tryBegin();
            if (begins) {
                again++;
            } else if (heals) {
                (first ? untried : tried).add(session);
                awaited = true;
            }
            return begins;
        }
    }

    /** Notes the end of a connect of a channel. */
    void endAgain() {
        boolean othersWait;
        try (var _ = lock.held()) {
            again--;
            othersWait = awaited;
        }
        end();
        if (othersWait) {
            engine.carrier.wake();
        }
    }

    /** Notes the time in which a channel has connected again. */
    void took(long nanos) {
        try (var _ = lock.held()) {
            usualNanos += (nanos - usualNanos) / WEIGHT;
        }
    }

    /** Returns the time that the last channels took to connect again, on average. */
    long usualNanos() {
        try (var _ = lock.held()) {
            return usualNanos;
        }
    }

    /** Has channels that wait connect, if they may. The caller makes progress, and holds no other lock. */
    void beginWaiting() {
        for (Session next = next(); next != null; next = next()) {
            next.tick(System.nanoTime());
        }
    }

    /** Takes the next channel that waits; null if none does, or none may connect. */
    private @Nullable Session next() {
        if (!awaited) {
            return null;
        }
        try (var _ = lock.held()) {
            if (!awaited || again >= MOST_AGAIN || underWay.get() >= engine.options.connecting()) {
                return null;
            }
            Session next = (untried.isEmpty() ? tried : untried).removeFirst();
            awaited = !untried.isEmpty() || !tried.isEmpty();
            return next;
        }
    }

    /** Takes a place to connect. Returns false if as many connects as may be are under way. */
    boolean tryBegin() {
        if (underWay.incrementAndGet() <= engine.options.connecting()) {
            return true;
        }
        underWay.decrementAndGet();
        return false;
    }

    private void end() {
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
        int turnedAway = 0;
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
                boolean isBusy = isTurnedAway(failure, session) || (turnedAway > 0 && isRefusedForOthers(failure));
                if (isBusy && turnedAway < MOST_TURNED_AWAY && !deadline.isOver()) {
                    pause(turnedAway++, deadline);
                    continue;
                }
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

    /**
     * Returns true if the peer has accepted the connection and ended it before its greeting. A node does that if more peers
     * than {@link NodeOptions#maxWaiting} come at once.
     */
    private boolean isTurnedAway(VerbsException failure, Session session) {
        return failure instanceof ChannelException ended
                && ended.reason() == EndReason.LOST
                && session.rail.hasConnected()
                && (session.rail.transport() == Transport.RDMA || hasTwoSteps());
    }

    /** Returns true if a greeting has to be proved. Until then, also a peer over TCP may have to leave its place to others. */
    private boolean hasTwoSteps() {
        return engine.options.protection() != Protection.NONE;
    }

    private static boolean isRefusedForOthers(VerbsException failure) {
        return failure instanceof ChannelException ended && ended.reason() == EndReason.TOO_MANY_CHANNELS;
    }

    /** Lets others connect, for a random time: peers that come at once would come at once again. */
    private void pause(int times, Deadline deadline) throws InterruptedException {
        long most = Math.min(FIRST_PAUSE_NANOS << Math.min(times, 8), LONGEST_PAUSE_NANOS);
        Duration left = deadline.left();
        Duration pause = Duration.ofNanos(ThreadLocalRandom.current().nextLong(most));
        engine.await(new Waiters(), () -> (Boolean) null, pause.compareTo(left) < 0 ? pause : left);
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
