package dev.verbena.net;

import dev.verbena.VerbsException;
import org.jspecify.annotations.Nullable;

/** The end of a {@link Channel}, or a failure to make one. Each thread that the end concerns gets an exception of its own. */
public final class ChannelException extends VerbsException {
    private static final long serialVersionUID = 1L;

    private final EndReason reason;
    private final String channel;
    private final String details;

    ChannelException(EndReason reason, String channel, String details, @Nullable Throwable cause) {
        super("channel", channel, 0, reason.words + (details.isEmpty() ? "" : ". " + details));
        this.reason = reason;
        this.channel = channel;
        this.details = details;
        if (cause != null) {
            initCause(cause);
        }
    }

    /** Makes the exception for one more thread. */
    ChannelException again() {
        return new ChannelException(reason, channel, details, getCause());
    }

    String details() {
        return details;
    }

    /**
     * Returns the reason of the end.
     *
     * @return the reason
     */
    public EndReason reason() {
        return reason;
    }
}
