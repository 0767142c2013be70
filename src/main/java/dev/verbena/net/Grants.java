package dev.verbena.net;

import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.MemoryWindowType;
import dev.verbena.verbs.RemoteMemory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The exports that a channel's peer has asked for, with the windows through which it sees them. The channel's lock guards it. */
final class Grants {
    private final ChannelCore core;
    private final Exports exports;
    private final int most;
    private final Map<Export, @Nullable MemoryWindow> granted = new HashMap<>();

    /** The number of bindings that have not completed. A window must not be freed before. */
    private int binding;

    /** The windows to free when no binding is under way. */
    private final List<MemoryWindow> revoked = new ArrayList<>();

    Grants(ChannelCore core, Exports exports, int most) {
        this.core = core;
        this.exports = exports;
        this.most = most;
    }

    /** Returns true if the peer has as many exports as it may have, and this is another one. */
    boolean isTooMany(Export export) {
        return granted.size() >= most && !granted.containsKey(export);
    }

    /** Gives an export to the peer. The binding of the window is posted, and takes effect before all later requests. */
    RemoteMemory grant(Link on, Export export) {
        if (!export.hasKeysOfChannels()) {
            granted.put(export, null);
            return export.region().remote();
        }
        MemoryWindow known = granted.get(export);
        if (known != null) {
            return known.remote();
        }
        if (!export.region().isOpen()) {
            throw new IllegalStateException("The arena of the " + export + " is closing");
        }
        MemoryWindow window = exports.domain().allocateMemoryWindow(MemoryWindowType.TYPE_2, export.arena());
        try {
            on.bind(core.key() | ChannelCore.BIND, window, export.region(), export.access());
        } catch (RuntimeException | Error refused) {
            exports.free(window);
            throw refused;
        }
        binding++;
        core.transmitted();
        granted.put(export, window);
        return window.remote();
    }

    /** Notes that a binding has completed. */
    void bound() {
        binding--;
        free();
    }

    /** Takes an export from the peer. */
    void revoke(Export export) {
        MemoryWindow window = granted.remove(export);
        if (window != null) {
            revoked.add(window);
            free();
        }
    }

    /** Takes all exports from the peer, whose queue pair makes no more requests. */
    void revokeAll() {
        binding = 0;
        for (MemoryWindow window : granted.values()) {
            if (window != null) {
                revoked.add(window);
            }
        }
        granted.clear();
        free();
    }

    private void free() {
        while (binding == 0 && !revoked.isEmpty()) {
            exports.free(revoked.removeLast());
        }
    }

    /** Returns true if windows of closed exports are still to be freed. */
    boolean isRevoking() {
        return !revoked.isEmpty();
    }
}
