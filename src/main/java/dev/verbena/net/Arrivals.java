package dev.verbena.net;

import dev.verbena.internal.link.Admission;
import dev.verbena.internal.link.Carrier;
import dev.verbena.internal.link.LinkHost;
import dev.verbena.internal.wire.Wire;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The peers that have connected to a node, until its program accepts them. One that has left meanwhile keeps nobody out. */
final class Arrivals {
    private final Engine engine;

    /** The channels of peers that have not greeted yet. */
    private final Set<Session> greeting = ConcurrentHashMap.newKeySet();

    /** The channels of peers that have, in their order. */
    private final ConcurrentLinkedQueue<Session> greeted = new ConcurrentLinkedQueue<>();

    /** The number of both, but for those that go on with a channel. */
    private final AtomicInteger waiting = new AtomicInteger();

    /** The number of those that say so. New peers keep none of them out. */
    private final AtomicInteger returning = new AtomicInteger();

    /** Those that name a channel of this node in their request, one for each: nobody keeps them out. They don't count. */
    private final Map<Session, Session> named = new ConcurrentHashMap<>();

    /** The number of peers that have connected and are no channels yet. */
    private final AtomicInteger visitors = new AtomicInteger();

    Arrivals(Engine engine) {
        this.engine = engine;
    }

    /** Counts a peer that has connected, and is no channel yet. */
    void comes() {
        visitors.incrementAndGet();
    }

    /** Notes that a peer that was counted by {@link #comes} becomes a channel, or has left. */
    void hasCome() {
        visitors.decrementAndGet();
    }

    /** Returns the number of peers that have connected and were not accepted. */
    int count() {
        return waiting.get() + visitors.get() + returning.get() + named.size();
    }

    /**
     * Makes a channel for a peer that connects. If there are as many as may be, one gives way: the oldest one whose peer has
     * left or was refused, or else the oldest one whose peer has not greeted. Returns null if there is none.
     *
     * @param claims true if the peer says that it goes on with a channel, which counts already
     * @param claimed the channel, if the peer has named one that this node has; else null
     */
    @Nullable
    Session admit(InetSocketAddress peer, boolean claims, @Nullable Session claimed) {
        boolean resumes = claims && engine.options.heals();
        Session session = claimed == null ? null : enterAgain(peer, claimed);
        if (session == null) {
            session = enter(peer, resumes);
        }
        while (session == null && makesRoom(hasRoomOf(peer, resumes) ? null : peer.getAddress(), resumes)) {
            session = enter(peer, resumes);
        }
        return session;
    }

    /** Answers a peer that has greeted over TCP. One that is refused by its greeting has cost no channel. */
    Admission admit(Carrier over, InetSocketAddress peer, MemorySegment greeting) {
        NodeOptions options = engine.options;
        EndReason refusal = Greetings.refusal(options, greeting);
        Introduction begun = null;
        if (refusal == null && options.protection() != Protection.NONE) {
            begun = Greetings.begin(engine, peer, Transport.TCP, Greetings.place(options, over, 0), greeting);
            refusal = begun == null ? EndReason.WRONG_SECRET : null;
        }
        Session session = refusal == null ? admit(peer, Wire.resumes(greeting), null) : null;
        if (session == null) {
            return Admission.refused((refusal == null ? EndReason.TOO_MANY_CHANNELS : refusal).code);
        }
        session.rail.greetings.goOn(begun);
        return Admission.to(session.rail);
    }

    private boolean hasRoomOf(InetSocketAddress peer, boolean resumes) {
        return resumes || engine.hasRoomOf(peer.getAddress());
    }

    /** Lets a peer in that goes on with a channel. Returns null if another one claims the same channel. */
    private @Nullable Session enterAgain(InetSocketAddress peer, Session claimed) {
        try (var _ = engine.table.held()) {
            Session session = named.containsKey(claimed) ? null : engine.enter(peer, true, true);
            if (session != null) {
                session.claims = claimed;
                session.returns = true;
                try {
                    named.put(claimed, session);
                    greeting.add(session);
                } catch (Throwable shortage) {
                    named.remove(claimed);
                    engine.giveUp(session);
                    throw shortage;
                }
            }
            return session;
        }
    }

    private @Nullable Session enter(InetSocketAddress peer, boolean resumes) {
        // connections of both transports may come at once
        try (var _ = engine.table.held()) {
            AtomicInteger number = resumes ? returning : waiting;
            boolean hasRoom = number.get() < engine.options.maxWaiting() && hasRoomOf(peer, resumes);
            Session session = hasRoom ? engine.enter(peer, true, resumes) : null;
            if (session != null) {
                session.returns = resumes;
                try {
                    greeting.add(session);
                } catch (Throwable shortage) {
                    engine.giveUp(session);
                    throw shortage;
                }
                number.incrementAndGet();
            }
            return session;
        }
    }

    /** Has a channel give way, of one address or of any, to one of its kind. Returns false if there is none. */
    private boolean makesRoom(@Nullable InetAddress of, boolean resumes) {
        for (Session session : greeted) {
            if (!resumes && session.state().hasEnded() && isOf(of, session)) {
                forget(session);
                return true;
            }
        }
        Session oldest = leastWelcome(of, resumes);
        if (oldest == null) {
            return false;
        }
        oldest.giveWay();
        if (oldest.state().hasEnded() && greeting.remove(oldest)) { // else it has greeted meanwhile
            close(oldest);
        }
        return true;
    }

    private static boolean isOf(@Nullable InetAddress address, Session session) {
        return address == null || session.peer.getAddress().equals(address);
    }

    /**
     * Returns the oldest channel whose peer was refused or has left; or else the oldest one that has no greeting, of one address
     * or of the one that has the most.
     */
    private @Nullable Session leastWelcome(@Nullable InetAddress of, boolean resumes) {
        List<Session> all = new ArrayList<>(greeting);
        all.removeIf(session ->
                session.returns != resumes || session.claims != null || !session.canGiveWay() || !isOf(of, session));
        all.sort((one, other) -> Long.signum(one.rail.begun - other.rail.begun));
        for (Session session : all) {
            if (session.state().hasEnded()) {
                return session;
            }
        }
        return LinkHost.oldestOfMost(all, session -> session.peer.getAddress());
    }

    /** Notes that a channel is open. Returns true if the program has to accept it. */
    boolean opened(Session session) {
        return greeting.remove(session) && greeted.add(session);
    }

    /** Forgets the channel of a peer whose connection another channel has got, or that has ended. */
    void remove(Session session) {
        if (greeting.remove(session)) {
            left(session);
        }
    }

    /** Frees the place of a channel that does not wait any more. */
    private void left(Session session) {
        Session claimed = session.claims;
        if (claimed == null) {
            (session.returns ? returning : waiting).decrementAndGet();
        } else {
            named.remove(claimed);
        }
    }

    /** Returns true for a channel that the program has not accepted. */
    boolean has(Session session) {
        return greeting.contains(session) || greeted.contains(session);
    }

    /** Takes the channel that has waited longest, without those of peers that came and went; null if there is none. */
    @Nullable
    Session next() {
        if (greeted.isEmpty()) {
            return null; // a program that polls makes no iterator
        }
        for (Session session : greeted) {
            if (!hasLeftNothing(session) && greeted.remove(session)) {
                waiting.decrementAndGet();
                return session;
            }
        }
        return null;
    }

    /** Returns true if the peer has left, and no message of it is there to receive: none comes after the end. */
    private static boolean hasLeftNothing(Session session) {
        return session.state().hasEnded() && session.messages.arrivedCount() == 0;
    }

    /** Closes the channels that have ended, unless the program has to receive the last messages. */
    void bury() {
        for (Session session : List.copyOf(greeting)) {
            if (session.cause() != null && engine.buried(session)) {
                remove(session);
            }
        }
        for (Session session : greeted) {
            if (hasLeftNothing(session)) {
                forget(session);
            }
        }
    }

    /** Closes the channel of a peer that has left, unless the program accepts it just now. */
    private void forget(Session session) {
        if (greeted.remove(session)) {
            close(session);
        }
    }

    private void close(Session session) {
        left(session);
        if (!engine.buried(session)) {
            engine.bury(session);
        }
    }
}
