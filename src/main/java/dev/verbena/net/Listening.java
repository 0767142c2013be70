package dev.verbena.net;

import dev.verbena.internal.link.BiasedLock;
import org.jspecify.annotations.Nullable;

/**
 * The handler of a channel, and what it was told. The channel's lock guards all changes, and the methods take it. One thread at
 * a time calls the handler. It looks without the lock first whether there is anything to tell besides messages, which is rare.
 */
final class Listening {
    /** The last thing that the handler was told of its channel. */
    private enum Told {
        NOTHING,
        OPEN,
        END
    }

    private final Session session;
    private final Messages messages;
    private final BiasedLock lock;
    private volatile @Nullable Handler handler;

    /** True if the node closes the channel for its handler. */
    private boolean owned;

    /** Is set before the handler, and changed by the thread that calls it. */
    private Told told = Told.OPEN;

    /** True while the handler knows that the channel has lost its connection. */
    private boolean toldLost;

    Listening(Session session, Messages messages, BiasedLock lock) {
        this.session = session;
        this.messages = messages;
        this.lock = lock;
    }

    @Nullable
    Handler handler() {
        return handler;
    }

    /** Gives the messages to a handler from now on. Returns false if they have one already. */
    boolean begin(Handler with) {
        try (var _ = lock.held()) {
            if (handler != null) {
                return false;
            }
            handler = with;
            return true;
        }
    }

    /** Gives the channel to a handler, which gets all of its events. */
    void own(Handler with) {
        try (var _ = lock.held()) {
            owned = true;
            told = Told.NOTHING;
            handler = with;
        }
    }

    boolean isOwned() {
        return owned;
    }

    /** Returns true once, if the handler has to know that the channel is open. */
    boolean takeOpened() {
        if (told != Told.NOTHING) {
            return false;
        }
        try (var _ = lock.held()) {
            told = Told.OPEN;
            return !session.isClosing();
        }
    }

    /** Returns true each time that the handler has to know of another state of the path: see {@link #isToldLost}. */
    boolean takePathChange() {
        if (session.healing == null) {
            return false;
        }
        try (var _ = lock.held()) {
            boolean changes = told == Told.OPEN
                    && toldLost != session.isHealing()
                    && !session.state().hasEnded();
            toldLost ^= changes;
            return changes;
        }
    }

    /** Returns true if what the handler was told last is that the connection is lost. */
    boolean isToldLost() {
        return toldLost;
    }

    /** Returns true once, when the channel has ended and the handler has had all messages. */
    boolean takeEnd() {
        if (session.cause() == null || told == Told.END) { // who ends the channel calls for its handler again
            return false;
        }
        try (var _ = lock.held()) {
            if (messages.arrivedCount() > 0 || session.isClosing()) {
                return false;
            }
            told = Told.END;
            return true;
        }
    }
}
