package dev.verbena.net;

import dev.verbena.internal.jfr.Recorder;
import org.jspecify.annotations.Nullable;

/** The times in which a channel had a message to send, and no credit. The channel's lock guards an instance. */
final class Stall {
    private final Session session;
    private long count;

    /** True since a message could not be sent for lack of a credit, and no credit has come. */
    private boolean stalled;

    private long since;
    private @Nullable CreditStallEvent event;

    Stall(Session session) {
        this.session = session;
    }

    long count() {
        return count;
    }

    void begin() {
        if (stalled) {
            return;
        }
        stalled = true;
        since = System.nanoTime();
        count++;
        if (Recorder.isPresent()) {
            CreditStallEvent made = new CreditStallEvent();
            made.begin();
            event = made;
        }
    }

    /** Notes that the peer has another connection: it gets all of the time again. */
    void beginAgain() {
        if (stalled) {
            since = System.nanoTime();
        }
    }

    /** Notes that the peer has granted credits, or that the channel has ended. */
    void end() {
        stalled = false;
        CreditStallEvent made = event;
        if (made != null) {
            event = null;
            made.end();
            if (made.shouldCommit()) {
                made.channel = session.toText();
                made.commit();
            }
        }
    }

    /** Returns true if the peer has made no room for too long. */
    boolean lasts(long nanos, long now) {
        return stalled && now - since > nanos;
    }
}
