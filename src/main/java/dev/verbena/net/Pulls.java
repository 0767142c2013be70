package dev.verbena.net;

import dev.verbena.internal.Waiters;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.wire.Wire;
import org.jspecify.annotations.Nullable;

/**
 * The pieces of transfers on a sealed channel. The receiver of an offer asks for a piece, the other side seals it into its
 * staging memory and says so, and the receiver reads it. An offer has one piece asked for at a time. The request comes in the
 * receive that is kept for the reply to the offer, and the answer in one that is kept for that. Both are posted again before
 * the peer may send the next such message, so neither needs a credit. The channel's lock guards an instance. Methods for the
 * program take it; all others are called under it.
 */
final class Pulls {
    /** A transfer of the peer, by the number of its call. */
    private static final class Incoming {
        final Waiters come = new Waiters();
        boolean asked;
        boolean ready;
    }

    /** Waits for room to send a message about a piece. */
    final Waiters room = new Waiters();

    private final Session session;
    private final Engine engine;
    private final Messages messages;
    private final Calls calls;

    /** The transfers by number, made when first used. */
    private final @Nullable Incoming[] incoming;

    Pulls(Session session, Engine engine, Messages messages, Calls calls) {
        this.session = session;
        this.engine = engine;
        this.messages = messages;
        this.calls = calls;
        this.incoming = new Incoming[engine.options.isSealed() ? engine.options.calls() : 0];
    }

    /** Handles a message about a piece. Returns null, or what is wrong with it. */
    @Nullable
    String received(Link on, Buffer buffer, int bytes, int kind, int number) {
        if (incoming.length == 0 || bytes != 0) {
            return "Message of kind " + kind + " with " + bytes + " bytes out of order";
        }
        if (kind == Wire.PULL) {
            return pulled(on, buffer, number);
        }
        Incoming transfer = number < incoming.length ? incoming[number] : null;
        if (transfer == null || !transfer.asked) {
            return "Piece of offer " + number + ", which was not asked for";
        }
        messages.post(on, buffer);
        transfer.asked = false;
        if (kind == Wire.PIECE) {
            transfer.ready = true;
            engine.wake(transfer.come);
        } else {
            session.endLocked(
                    SessionState.Event.LOST, EndReason.ACCESS_DENIED, "The peer has taken an offer back", null);
        }
        return null;
    }

    private @Nullable String pulled(Link on, Buffer buffer, int number) {
        Calls.Call call = calls.answered(number);
        if (call == null || !call.offers || call.pulled) {
            return "It asked for a piece of offer " + number + ", which has none";
        }
        messages.post(on, buffer);
        call.pulled = true;
        if (call.state == Calls.Call.State.FORGOTTEN) {
            giveUp(call);
        } else {
            engine.wake(call.done);
        }
        return null;
    }

    /** Tells the peer that it gets no more pieces, if it waits for one. */
    void giveUp(Calls.Call call) {
        if (call.pulled && session.linkIfOpen() != null) {
            call.pulled = false;
            if (!session.rail.trySendAboutPiece(Wire.WITHDRAWN, call.number)) {
                session.abort(EndReason.FAILED, "An offer was given up");
            }
        }
    }

    void wakeForRoom() {
        if (incoming.length > 0) {
            engine.wake(room);
        }
    }

    void wakeWaits() {
        room.wakeAll();
        for (Incoming each : incoming) {
            if (each != null) {
                each.come.wakeAll();
            }
        }
    }

    // For the program: the side that offers

    /** Returns true if the peer waits for the next piece, false if it has answered, and null before. */
    @Nullable
    Boolean next(Calls.Call call) {
        try (var _ = session.lock.held()) {
            session.checkNotClosed();
            if (call.pulled) {
                return Boolean.TRUE;
            }
            if (call.state != Calls.Call.State.DONE) {
                session.checkNotEnded();
                return null;
            }
            return Boolean.FALSE;
        }
    }

    /** Tells the peer that the piece is ready. Returns null if there is no room for that now. */
    @Nullable
    Boolean tryOffer(Calls.Call call) {
        try (var _ = session.lock.held()) {
            session.checkCanSend();
            if (!session.rail.trySendAboutPiece(Wire.PIECE, call.number)) {
                return null;
            }
            call.pulled = false;
            return Boolean.TRUE;
        }
    }

    // For the program: the side that receives

    /** Asks for the next piece. Returns null if there is no room for that now. */
    @Nullable
    Boolean tryPull(int number) {
        try (var _ = session.lock.held()) {
            session.checkCanSend();
            if (!session.rail.trySendAboutPiece(Wire.PULL, number)) {
                return null;
            }
            of(number).asked = true;
            return Boolean.TRUE;
        }
    }

    /** Returns what wakes the thread that waits for a piece. */
    Waiters come(int number) {
        try (var _ = session.lock.held()) {
            return of(number).come;
        }
    }

    /** Notes that the thread has seen that its piece is ready. Returns null if the piece is not. */
    @Nullable
    Boolean takePiece(int number) {
        try (var _ = session.lock.held()) {
            session.checkNotClosed();
            Incoming transfer = of(number);
            if (!transfer.ready) {
                session.checkNotEnded();
                return null;
            }
            transfer.ready = false;
            return Boolean.TRUE;
        }
    }

    private Incoming of(int number) {
        Incoming known = incoming[number];
        if (known == null) {
            known = new Incoming();
            incoming[number] = known;
        }
        return known;
    }
}
