package dev.verbena.net;

import dev.verbena.VerbsException;

/**
 * The end of an atomic that was under way when the channel lost its connection. Nobody knows whether the peer's adapter has
 * carried it out, and it can't be repeated. The channel goes on over another connection: see {@link NodeOptions#heal}. To
 * learn what happened, read the number.
 */
public final class OutcomeUnknownException extends VerbsException {
    private static final long serialVersionUID = 1L;

    OutcomeUnknownException(String operation, String channel) {
        super(
                "channel",
                operation + ", channel " + channel,
                0,
                "The connection was lost while it was under way. The peer's adapter may have carried it out or not: read the"
                        + " number");
    }
}
