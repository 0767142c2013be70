package dev.verbena.net;

import dev.verbena.internal.Recorder;
import org.jspecify.annotations.Nullable;

/** The times in which a channel has a message to send, and the peer no receive for it. The channel's lock guards an instance. */
final class Stalls {
    private final Session session;

    /** True since a message could not be sent for lack of a credit, and no credit has come. */
    private boolean stalled;

    private long since;
    private @Nullable CreditStallEvent event;
    private long count;

    /** The time of the stalls that have ended. */
    private long nanos;

    Stalls(Session session) {
        this.session = session;
    }

    /** Notes that a message could not be sent. */
    void begin() {
        if (stalled) {
            return;
        }
        stalled = true;
        since = System.nanoTime();
        count++;
        try {
            if (Recorder.isPresent()) {
                CreditStallEvent begun = new CreditStallEvent();
                begun.begin();
                event = begun;
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return;
        }
    }

    /** Notes that the peer has granted credits, or that the channel has ended. */
    void end() {
        if (!stalled) {
            return;
        }
        stalled = false;
        nanos += System.nanoTime() - since;
        CreditStallEvent over = event;
        if (over != null) {
            event = null;
            try {
                over.end();
                if (over.shouldCommit()) {
                    over.channel = session.toText();
                    over.commit();
                }
            } catch (OutOfMemoryError lost) {
                return;
            }
        }
    }

    /** Returns true if the peer has made no room for too long. */
    boolean isSince(long tooLong, long now) {
        return stalled && now - since > tooLong;
    }

    long count() {
        return count;
    }

    /** Returns the time of all stalls until now. */
    long nanos() {
        return stalled ? nanos + System.nanoTime() - since : nanos;
    }
}
