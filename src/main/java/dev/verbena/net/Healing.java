package dev.verbena.net;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.link.Ways;
import dev.verbena.internal.wire.Totals;
import dev.verbena.internal.wire.Wire;
import java.net.InetSocketAddress;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The search of a channel for another connection. The side that has connected connects again, after pauses that grow, and
 * the other waits for it. Both wait at most for the time of {@link NodeOptions#heal}, each for its own. The channel's lock
 * guards an instance.
 */
final class Healing {
    static final long FIRST_PAUSE_NANOS = 50_000_000;
    private static final long LONGEST_PAUSE_NANOS = 2_000_000_000L;

    /** The shortest and the longest time on another path than the preferred one, before that is tried again. */
    private static final long FIRST_STAY_NANOS = 5_000_000_000L;

    private static final long LONGEST_STAY_NANOS = 300_000_000_000L;

    /**
     * The longest time of one attempt after its last step, unless others take long: the kernel sends a lost request again after
     * four seconds only.
     */
    static final long ATTEMPT_NANOS = 1_500_000_000L;

    /** An attempt takes at most so many times as long as those that succeed, and no longer than the second limit. */
    private static final int SLOWER = 4;

    private static final long SLOWEST_NANOS = 12_000_000_000L;

    /** The longest time of an attempt to take the first path again, while the channel has another one. */
    private static final long PATIENT_ATTEMPT_NANOS = 30_000_000_000L;

    /** The reasons for which the peer refuses another connection for good. */
    private static final Set<EndReason> FINAL = EnumSet.of(
            EndReason.CLOSED_BY_PEER,
            EndReason.OTHER_VERSION,
            EndReason.PROTOCOL_ERROR,
            EndReason.REFUSED,
            EndReason.WRONG_SECRET,
            EndReason.OTHER_PROTECTION,
            EndReason.TAMPERED);

    /** The name of the channel. */
    final UUID id;

    final Session session;
    private final Engine engine;
    private final long longest;

    /** The connection that is being made; null while there is none. */
    private volatile @Nullable Rail next;

    /** The paths to try, for the side that connects. */
    private @Nullable Ways ways;

    /** The path of the next attempt, and the number of paths that were tried since the last pause. */
    private Ways.@Nullable Way way;

    private int tried;

    /** The number of times that the peer has refused for good since the loss. */
    private int refused;

    /** The time since which the channel has this path, and how long it stays there at least if it prefers another one. */
    private long takenAt;

    private long stay = FIRST_STAY_NANOS;

    private long lostAt;
    private long nextAt;
    private long attemptBegan;
    private long attemptEnds;
    private long pause;
    private int attempts;

    /** Why the last attempt has failed. */
    private String failure = "";

    Healing(Session session, Engine engine, UUID id) {
        this.session = session;
        this.engine = engine;
        this.id = id;
        this.longest = Deadline.nanoseconds(engine.options.heal());
    }

    /** Returns the connection that is being made; null if there is none. */
    @Nullable
    Rail next() {
        return next;
    }

    /** Notes, at the greetings, whether a channel can outlive its connection. Returns null, or what is wrong. */
    static @Nullable String greeted(Session session, Wire.@Nullable Claim claim) {
        Engine engine = session.engine;
        if (claim == null || !engine.options.heals()) {
            session.healing = null;
            return null;
        }
        if (session.incoming) {
            Healing made = new Healing(session, engine, claim.id());
            if (!engine.rails.remember(session, made)) {
                return "It claims a channel that another peer has";
            }
            session.healing = made;
        } else {
            Healing known = Objects.requireNonNull(session.healing);
            if (!claim.id().equals(known.id)) {
                return "It speaks of another channel";
            }
            known.choose(claim.own().paths());
        }
        session.devicesOfPeer = claim.own().devices();
        session.messages.keepAll();
        return null;
    }

    /** Notes the paths to the addresses of the peer, for the side that connects. */
    private void choose(List<InetSocketAddress> ofPeer) {
        ways = new Ways(session.rail.with().carrier.addresses(), session.peer, ofPeer);
        takes();
    }

    /** Notes that the channel has its path from now on. */
    private void takes() {
        takenAt = System.nanoTime();
        if (!session.incoming && !isPreferred()) {
            stayLonger();
        }
    }

    private Ways ways() {
        return Objects.requireNonNull(ways);
    }

    /** Begins, if the channel can: the connection is lost. Returns false if it can't. */
    boolean begins(String details) {
        if (!session.happen(SessionState.Event.PATH_LOST, null)) {
            return false;
        }
        lostAt = System.nanoTime();
        nextAt = lostAt;
        attemptEnds = lostAt + ATTEMPT_NANOS; // of one that is under way, for the first path
        if (!session.incoming) {
            chooseFirst();
        }
        pause = FIRST_PAUSE_NANOS;
        attempts = 0;
        lose(details);
        return true;
    }

    private void lose(String details) {
        failure = details;
        session.rail.retire();
        session.messages.pathLost();
        session.operations.pathLost();
        session.changes.wakeAll();
        engine.counts.recordPath(session, "LOST", details);
    }

    /** Begins with the path behind the one that was lost. */
    private void chooseFirst() {
        way = ways().after(session.rail.way());
        tried = 0;
        refused = 0;
        if (isPreferred() && lostAt - takenAt > LONGEST_STAY_NANOS) {
            stay = FIRST_STAY_NANOS;
        }
    }

    /** Looks at the clock. */
    void tick(long now) {
        if (now - lostAt > longest) {
            session.endLocked(
                    SessionState.Event.LOST,
                    EndReason.LOST,
                    "It had no other connection in " + engine.options.heal() + ". " + failure,
                    null);
            return;
        }
        if (session.incoming) {
            return; // the peer connects
        }
        lookAfterAttempt(now);
    }

    private void lookAfterAttempt(long now) {
        Rail trying = next;
        if (trying == null && now - nextAt >= 0) {
            attempt(now);
        } else if (trying != null && now - attemptEnds > 0) {
            failed(EndReason.UNREACHABLE, "The peer has not answered", null);
        }
    }

    private boolean isPreferred() {
        return session.rail.way().equals(ways().preferred());
    }

    /** Tries the preferred path, if the channel has been on another one for a while. */
    void tickOpen(long now) {
        if (session.isOpen() && !session.incoming && ways().count() > 1 && !isPreferred()) {
            lookAfterAttempt(now);
        }
    }

    private void attempt(long now) {
        if (!engine.connector.tryBeginAgain(session, attempts == 0)) {
            return; // others connect
        }
        attempts++;
        attemptBegan = now;
        attemptEnds = now + (session.isHealing() ? pause + patience() : PATIENT_ATTEMPT_NANOS);
        Rail made = null;
        try {
            made = engine.rails.lay(session);
            next = made;
            session.rail.with().carrier.connect(made, Objects.requireNonNull(way));
        } catch (RuntimeException | Error refused) { // for lack of memory or descriptors, for example
            if (made == null) {
                engine.connector.endAgain();
                tryLater();
            } else {
                failed(EndReason.FAILED, String.valueOf(refused.getMessage()), refused);
            }
        }
    }

    private long patience() {
        return Math.clamp(SLOWER * engine.connector.usualNanos(), ATTEMPT_NANOS, SLOWEST_NANOS);
    }

    /** Notes that the attempt has come one step further, for which it gets more time. */
    void comesFurther() {
        long later = System.nanoTime() + patience();
        if (later - attemptEnds > 0) {
            attemptEnds = later;
        }
    }

    /** Ends an attempt, and the channel if no other one can succeed. */
    void failed(EndReason reason, String details, @Nullable Throwable why) {
        giveUp();
        failure = details;
        if (session.isHealing() && FINAL.contains(reason) && ++refused >= ways().count()) {
            session.endLocked(SessionState.Event.LOST, reason, details, why);
        } else {
            tryLater();
        }
    }

    /** Tries the next path at once, and after a pause once all of them were tried. A channel with a path has more time. */
    private void tryLater() {
        if (session.incoming) {
            return; // the peer connects
        }
        if (!session.isHealing()) {
            stayLonger();
            return;
        }
        tried++;
        way = ways().after(Objects.requireNonNull(way));
        nextAt = System.nanoTime();
        if (tried % ways().count() == 0) {
            nextAt += pause;
            pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS);
        }
    }

    /** Tries the preferred path after a while. */
    private void stayLonger() {
        way = ways().preferred();
        nextAt = System.nanoTime() + stay;
        stay = Math.min(2 * stay, LONGEST_STAY_NANOS);
    }

    /** Gives up the attempt that is under way, if there is one. */
    void giveUp() {
        Rail trying = next;
        if (trying != null) {
            next = null;
            engine.connector.endAgain();
            trying.retire();
        }
    }

    // The next connection

    /**
     * Leaves the last connection, if the channel still has it, for one over the preferred path. So the totals in the greeting
     * hold. Returns false if the channel has ended or is being closed.
     */
    boolean leavesLast(Link by) {
        if (!session.isHealing()) {
            Ways.Way last = session.rail.way();
            if (session.state() != SessionState.OPEN || !begins("The channel takes its first path again")) {
                giveUp();
                return false;
            }
            way = ways().before(last); // if this fails, the last path comes next
        }
        session.begin(by);
        return true;
    }

    /** Goes on over a connection that this side has made. */
    void resume(Rail by, Totals.Said said) {
        String wrong = session.messages.totals.resume(said);
        if (wrong == null) {
            next = null;
            engine.connector.endAgain();
            engine.connector.took(System.nanoTime() - attemptBegan);
            goOn(by);
        } else {
            by.abort(EndReason.PROTOCOL_ERROR, wrong);
        }
    }

    /** Returns null if a peer may go on with the channel over a connection, or what is wrong with its claim. */
    @Nullable
    String wrongClaim(Rail by, Totals.Said said) {
        try (var _ = session.lock.held()) {
            if (by.with().carrier != session.rail.with().carrier) {
                return "It goes on over another transport";
            }
            return by.deviceOfPeer < session.devicesOfPeer
                    ? session.messages.totals.wrong(said)
                    : "It has more devices than before";
        }
    }

    /** Goes on over the connection of a peer that claims the channel. The caller is the thread that makes progress. */
    void claim(Rail by, Totals.Said said) {
        try (var _ = session.lock.held()) {
            begins("The peer has made another connection"); // unless this side knew already
            if (!session.isHealing() || session.messages.totals.resume(said) != null) { // it has ended meanwhile
                by.retire();
                return;
            }
            try {
                session.messages.openAgain(Objects.requireNonNull(by.link()), session.memory());
            } catch (RuntimeException | Error refused) { // for lack of memory: the peer tries again
                by.retire();
                throw refused;
            }
            goOn(by);
        }
    }

    /** Goes on, or loses this connection too: nothing may be sent behind what could not be sent again. */
    private void goOn(Rail by) {
        Rail last = session.rail;
        session.rail = by;
        takes();
        last.forget();
        try {
            sendAgain(by);
        } catch (RuntimeException | Error refused) { // for lack of memory, for example
            session.happen(SessionState.Event.PATH_LOST, null);
            if (session.isHealing()) {
                lose(String.valueOf(refused.getMessage()));
                tryLater();
            }
        }
    }

    /** Sends again what the peer does not have, in the order of the first time. */
    private void sendAgain(Rail by) {
        Messages messages = session.messages;
        session.operations.pathLost(); // what was given up meanwhile, or could not be told for lack of memory
        by.up();
        session.happen(SessionState.Event.HEALED, null);
        messages.counts.reconnects++;
        messages.receivedByPeer();
        List<Kept.Again> again = messages.again(by);
        session.operations.addAgain(again, Objects.requireNonNull(by.link()));
        again.sort(Comparator.comparingLong(Kept.Again::order));
        for (Kept.Again each : again) {
            each.post().run();
        }
        engine.counts.recordPath(
                session,
                "BACK",
                "After " + (System.nanoTime() - lostAt) / 1_000_000 + " ms and " + attempts + " attempts" + path());
        messages.pathBack();
        session.operations.sendUnsent();
        session.wakeAll();
        session.control();
        session.closeIfAsked();
    }

    /** Returns the path, for the side that connects. */
    private String path() {
        if (session.incoming) {
            return "";
        }
        Ways.Way over = session.rail.way();
        InetSocketAddress own = session.rail.with().carrier.addresses().get(over.own());
        return ", from " + own.getAddress().getHostAddress() + " to " + IpAddresses.text(over.peer());
    }
}
