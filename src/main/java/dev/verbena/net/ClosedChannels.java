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
    private @Nullable ChannelCore first;

    /** Adds a channel, before any of its objects is destroyed. */
    void add(ChannelCore core) {
        try (var _ = lock.held()) {
            core.nextClosed = first;
            first = core;
        }
    }

    /** Closes the arena of a channel. Waits for another thread that closes it. */
    void closeArena(ChannelCore core) {
        core.revokeAll();
        ArenaLifetime.of(core.arena).closeUnlessClosed();
        try (var _ = lock.held()) {
            ChannelCore before = null;
            ChannelCore each = first;
            while (each != null && each != core) {
                before = each;
                each = each.nextClosed;
            }
            if (before != null && each != null) {
                before.nextClosed = core.nextClosed;
            } else if (each != null) {
                first = core.nextClosed;
            }
        }
    }

    /** Closes the arenas of all channels. */
    void closeArenas() {
        for (ChannelCore core = first(); core != null; core = first()) {
            closeArena(core);
        }
    }

    private @Nullable ChannelCore first() {
        try (var _ = lock.held()) {
            return first;
        }
    }

    /** Takes an export from these channels, which may still have keys of it. */
    void revoke(Export export) {
        List<ChannelCore> all = new ArrayList<>();
        try (var _ = lock.held()) {
            for (ChannelCore core = first; core != null; core = core.nextClosed) {
                all.add(core);
            }
        }
        all.forEach(core -> core.revoke(export));
    }
}
