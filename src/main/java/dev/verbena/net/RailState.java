package dev.verbena.net;

import dev.verbena.internal.wire.Wire;
import org.jspecify.annotations.Nullable;

/** The states of a rail, in the order in which a rail goes through them, and the table of their changes: {@link #after}. */
enum RailState {
    /** The connection is being made. */
    CONNECTING,

    /** The peer's greeting is awaited. */
    GREETING,

    /** The peer, which has connected, has greeted under the secret. Another thread makes the answer. */
    ANSWERING,

    /**
     * Both sides have greeted under their secret. The peer's first sealed message is awaited: only who has made the greeting
     * now, and has not recorded an old one, can send it.
     */
    PROVING,

    /** The peer, which has connected, has greeted and is admitted. The memory for its messages is being made. */
    PREPARING,

    /** Messages travel in both directions. */
    UP,

    /** No connection is left. */
    DOWN;

    /** The events that change the state of a rail. */
    enum Event {
        /** The connection was made, and all receives are posted. */
        CONNECTED,

        /** The peer, which has connected, has greeted under the secret, and gets an answer. */
        ASKED,

        /** The greetings under a secret were exchanged. */
        INTRODUCED,

        /** The peer, which has connected, has greeted, and this side admits it. */
        ADMITTED,

        /** The peer has greeted, and messages can travel. */
        GREETED,

        /** The channel has ended, or the connection has. */
        ENDED
    }

    /** Returns the state after an event; null if the event changes nothing in this state. */
    @Nullable
    RailState after(Event event) {
        return switch (event) {
            case CONNECTED -> this == CONNECTING ? GREETING : null;
            case ASKED -> this == GREETING ? ANSWERING : null;
            case INTRODUCED -> this == GREETING || this == ANSWERING ? PROVING : null;
            case ADMITTED -> this == GREETING || this == PROVING ? PREPARING : null;
            case GREETED -> this == GREETING || this == PROVING || this == PREPARING ? UP : null;
            case ENDED -> this == DOWN ? null : DOWN;
        };
    }

    /** Returns true until the peer has greeted, and has proved that the greeting is its own. */
    boolean isHalfOpen() {
        return compareTo(PROVING) <= 0;
    }

    /** Returns true if the peer may send a message of a kind. Once the rail is up, the channel decides. */
    boolean allows(int kind) {
        return switch (this) {
            case CONNECTING, ANSWERING, PREPARING ->
                kind == Wire.GOODBYE; // before the event that the connection was made
            case GREETING, PROVING -> kind == Wire.GREETING || kind == Wire.GOODBYE;
            case UP -> true;
            case DOWN -> false;
        };
    }
}
