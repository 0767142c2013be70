package dev.verbena.net;

import dev.verbena.VerbsException;

/**
 * The failure of the peer's program to answer a {@link Channel#call}. The channel goes on. The message has the text that the
 * peer's program gave to {@link Message#refuse}.
 */
public final class CallException extends VerbsException {
    private static final long serialVersionUID = 1L;

    private final String reason;

    CallException(String channel, String reason) {
        super("call", channel, 0, why(reason));
        this.reason = reason;
    }

    /** Returns the text of the peer, or what its program has done in place of a text. */
    static String why(String reason) {
        return reason.isEmpty() ? "The peer's program has closed the request without a reply" : reason;
    }

    /**
     * Returns the text of the peer.
     *
     * @return the text; empty if the peer's program has closed the request, or its reply, without sending
     */
    public String reason() {
        return reason;
    }
}
