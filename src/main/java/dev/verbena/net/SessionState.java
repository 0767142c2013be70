package dev.verbena.net;

import dev.verbena.internal.wire.Wire;
import org.jspecify.annotations.Nullable;

/**
 * The states of a channel, in the order in which a channel goes through them, and the table of their changes:
 * {@link #after}. {@link Session} tells what happens on the way, and {@link RailState} has the states of the connection.
 */
enum SessionState {
    /** The connection is being made, or the greetings are exchanged. */
    OPENING,

    /** Messages travel in both directions. */
    OPEN,

    /** The connection is lost, and another one is awaited. */
    HEALING,

    /** This side has said goodbye, and awaits the peer's goodbye. */
    CLOSING,

    /** The peer has said goodbye too. Its adapter has not acknowledged everything. */
    DRAINING,

    /** The peer has said goodbye first, and this side has answered. The answer is not acknowledged. */
    LEFT,

    /** This side has told the peer why it ends the channel. This is not acknowledged. */
    PARTING,

    /** The connection has ended, or never was. */
    PARTED,

    /** The program has closed the channel, whose objects may be destroyed. */
    RELEASED;

    /** The events that change the state of a channel. */
    enum Event {
        /** The peer has greeted, and messages can travel. */
        OPENED,

        /** The program closes the channel. */
        CLOSED,

        /** The peer has said goodbye, without a failure. */
        PEER_LEFT,

        /** This side ends the channel for a reason to tell the peer. */
        ABORTED,

        /** The connection is lost, and the channel may have another one. */
        PATH_LOST,

        /** The channel has another connection. */
        HEALED,

        /** The connection, the peer or this side has failed, and the peer is not told. */
        LOST,

        /** All that was said is acknowledged, or the connection has ended after a goodbye. */
        DONE,

        /** Nobody waits for the end of the connection any more. */
        RELEASED
    }

    /** Returns the state after an event; null if the event changes nothing in this state. */
    @Nullable
    SessionState after(Event event) {
        return switch (this) {
            case OPENING ->
                switch (event) {
                    case OPENED -> OPEN;
                    case PEER_LEFT -> LEFT;
                    case ABORTED -> PARTING;
                    case CLOSED, LOST -> PARTED;
                    default -> null;
                };
            case OPEN ->
                switch (event) {
                    case CLOSED -> CLOSING;
                    case PEER_LEFT -> LEFT;
                    case ABORTED -> PARTING;
                    case LOST -> PARTED;
                    case PATH_LOST -> HEALING;
                    default -> null;
                };
            case HEALING ->
                switch (event) {
                    case HEALED -> OPEN;
                    case ABORTED, LOST -> PARTED;
                    default -> null;
                };
            case CLOSING ->
                switch (event) {
                    case PEER_LEFT -> DRAINING;
                    case PATH_LOST -> HEALING;
                    case ABORTED, LOST -> PARTED;
                    default -> null;
                };
            case DRAINING, LEFT, PARTING ->
                switch (event) {
                    case DONE, LOST -> PARTED;
                    case ABORTED -> this == DRAINING ? PARTED : null;
                    default -> null;
                };
            case PARTED -> event == Event.RELEASED ? RELEASED : null;
            case RELEASED -> null;
        };
    }

    /** Returns true for a channel that was opened and has not ended. */
    boolean isLive() {
        return this == OPEN || this == HEALING || isClosing();
    }

    /** Returns true while an end would lose messages that this side has accepted before it was closed. */
    boolean isClosing() {
        return this == CLOSING || this == DRAINING;
    }

    /** Returns true for a channel that has ended, for whatever reason. */
    boolean hasEnded() {
        return compareTo(LEFT) >= 0;
    }

    /** Returns true if no connection is left. */
    boolean hasParted() {
        return compareTo(PARTED) >= 0;
    }

    /** Returns true if the peer may send a message of a kind. Before the channel is open, its rail decides. */
    boolean allows(int kind) {
        return switch (this) {
            case OPENING -> true;
            case OPEN, CLOSING -> kind != Wire.GREETING;
            default -> false;
        };
    }
}
