package dev.verbena.net;

import dev.verbena.internal.wire.Totals;
import dev.verbena.internal.wire.Wire;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The connections of a node's channels: by the numbers in their requests, those that channels have lost, and those of peers
 * that claim a channel. The lock of the table of channels guards changes of the numbers.
 */
final class Rails {
    /** A peer that may go on with a channel, and what it says. */
    private record Claimed(Rail rail, Totals.Said said) {}

    private final Engine engine;

    /** The connections by number: the first one of a channel has that of the channel. */
    private final AtomicReferenceArray<@Nullable Rail> byNumber;

    private int generation;

    /** The channels that peers may go on with over another connection. */
    private final Map<UUID, Session> claimable = new ConcurrentHashMap<>();

    private final ConcurrentLinkedQueue<Claimed> claims = new ConcurrentLinkedQueue<>();

    /**
     * The largest number of connections that are freed before others make progress: the time of their attempts to connect
     * again runs meanwhile.
     */
    private static final int MOST_FREED = 4;

    /** The first one of the connections that channels have lost, which are linked. The table's lock guards the links. */
    private volatile @Nullable Rail retired;

    /** The first one of those that C has refused to free. */
    private volatile @Nullable Rail refused;

    Rails(Engine engine, int places) {
        this.engine = engine;
        this.byNumber = new AtomicReferenceArray<>(places);
    }

    // By number

    /** Returns the connection of a request's id; null if it is closed. */
    @Nullable
    Rail find(long id) {
        int place = place(id);
        Rail rail = place < byNumber.length() ? byNumber.get(place) : null;
        return rail == null || (id ^ rail.key) >>> 16 != 0 ? null : rail;
    }

    static int place(long key) {
        return (int) (key >>> 16) & 0xffff;
    }

    /** Returns a key that no request has had. */
    long nextKey(int place) {
        generation++;
        return (long) generation << 32 | (long) place << 16;
    }

    boolean has(int place) {
        return byNumber.get(place) != null;
    }

    void add(Rail rail) {
        byNumber.set(place(rail.key), rail);
    }

    void remove(Rail rail) {
        byNumber.compareAndSet(place(rail.key), rail, null);
    }

    /** Makes another connection for a channel. */
    Rail lay(Session session) {
        try (var _ = engine.table.held()) {
            int place = engine.freePlace();
            if (place == byNumber.length()) {
                throw new IllegalStateException(engine + " has no room for another connection");
            }
            Rail made = new Rail(session, engine, nextKey(place), false, true);
            add(made);
            return made;
        }
    }

    // Those that were lost

    /** Notes that a channel needs a connection no more. The caller holds the channel's lock. Allocates nothing. */
    void retire(Rail rail) {
        try (var _ = engine.table.held()) {
            remove(rail);
            rail.nextRetired = retired;
            retired = rail;
        }
        engine.someEnded = true;
        engine.carrier.wake();
    }

    /** Frees some of the connections that channels need no more. One that C refuses to free is tried again later. */
    void freeRetired() {
        for (int i = 0; i < MOST_FREED && retired != null; i++) {
            freeNext();
        }
        if (retired != null) {
            engine.someEnded = true;
            engine.carrier.wake();
        }
    }

    /** Frees all connections that channels need no more, except those that C refuses to free. */
    void freeAllRetired() {
        while (retired != null) {
            freeNext();
        }
    }

    private void freeNext() {
        Rail rail = takeRetired();
        if (rail == null) {
            return;
        }
        try {
            rail.free();
        } catch (RuntimeException | Error failed) {
            putBack(rail);
        }
        rail.session.tick(System.nanoTime()); // looks for another one at once
    }

    /** Returns true if there are connections that could not be freed, which are then tried again. */
    boolean mustFree() {
        if (refused == null) {
            return retired != null; // without the lock
        }
        try (var _ = engine.table.held()) {
            for (Rail next = refused; next != null; next = refused) {
                refused = next.nextRetired;
                next.nextRetired = retired;
                retired = next;
            }
            return retired != null;
        }
    }

    private @Nullable Rail takeRetired() {
        try (var _ = engine.table.held()) {
            Rail first = retired;
            retired = first == null ? null : first.nextRetired;
            return first;
        }
    }

    private void putBack(Rail rail) {
        try (var _ = engine.table.held()) {
            rail.nextRetired = refused;
            refused = rail;
        }
    }

    // Claims of peers

    /** Lets a peer claim a channel later. Returns false if another one has its name. */
    boolean remember(Session session, Healing as) {
        return claimable.putIfAbsent(as.id, session) == null;
    }

    void forget(Session session, Healing as) {
        claimable.remove(as.id, session);
    }

    /** Returns the channel of a name that a peer claims; null if there is none. */
    @Nullable
    Session claimed(@Nullable UUID id) {
        return id == null ? null : claimable.get(id);
    }

    /** Notes that a peer which may do so claims a channel. The caller holds the lock of the peer's own channel. */
    void claimed(Rail by, Totals.Said said) {
        claims.add(new Claimed(by, said));
    }

    /** Gives the connections of peers that claim channels to these. The caller makes progress, and holds no other lock. */
    void handleClaims() {
        for (Claimed next = claims.poll(); next != null; next = claims.poll()) {
            try {
                handle(next.rail, next.said);
            } catch (RuntimeException | Error failed) {
                next.rail.fail(failed);
            }
        }
    }

    private void handle(Rail rail, Totals.Said said) {
        Session visitor = rail.session;
        Wire.Claim claim = rail.greetings.claimed();
        Session session = claim == null ? null : claimed(claim.id());
        Healing healing = session == null ? null : session.healing;
        String wrong = healing == null ? null : healing.wrongClaim(rail, said);
        if (healing == null || wrong != null) {
            visitor.refuseClaim(wrong);
        } else if (visitor.givesAway(rail)) {
            engine.arrivals.remove(visitor);
            rail.session = healing.session;
            try {
                healing.claim(rail, said);
            } finally {
                engine.giveUp(visitor);
            }
        }
    }
}
