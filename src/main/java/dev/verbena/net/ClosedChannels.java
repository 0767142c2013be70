package dev.verbena.net;

import dev.verbena.internal.Mutex;
import dev.verbena.internal.lifetime.ArenaLifetime;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The closed channels of a node whose arenas are not closed: a thread does that just now, or memory was missing. All threads
 * may use an instance at once.
 */
final class ClosedChannels {
    private final Mutex lock = new Mutex();

    /** The channels are linked, because memory may be missing. The lock guards the links. */
    private @Nullable Session first;

    /** Adds a channel, before any of its objects is destroyed. */
    void add(Session session) {
        try (var _ = lock.held()) {
            session.nextClosed = first;
            first = session;
        }
    }

    /** Closes the arena of a channel. Waits for another thread that closes it. */
    void closeArena(Session session) {
        session.revokeAll();
        session.rail.closeArena();
        ArenaLifetime.of(session.arena).closeUnlessClosed();
        try (var _ = lock.held()) {
            Session before = null;
            Session each = first;
            while (each != null && each != session) {
                before = each;
                each = each.nextClosed;
            }
            if (before != null && each != null) {
                before.nextClosed = session.nextClosed;
            } else if (each != null) {
                first = session.nextClosed;
            }
        }
    }

    /** Closes the arenas of all channels. */
    void closeArenas() {
        for (Session session = first(); session != null; session = first()) {
            closeArena(session);
        }
    }

    private @Nullable Session first() {
        try (var _ = lock.held()) {
            return first;
        }
    }

    /** Takes an export from these channels, which may still have keys of it. */
    void revoke(Export export) {
        List<Session> all = new ArrayList<>();
        try (var _ = lock.held()) {
            for (Session session = first; session != null; session = session.nextClosed) {
                all.add(session);
            }
        }
        all.forEach(session -> session.revoke(export));
    }
}
