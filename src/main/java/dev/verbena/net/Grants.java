package dev.verbena.net;

import dev.verbena.internal.link.Link;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The exports that a channel's peer has asked for, with their keys. The channel's lock guards it. */
final class Grants {
    private final Session session;
    private final int most;
    private final Map<Export, Link.Key> granted = new HashMap<>();

    /** The number of bindings that have not completed. A key must not be freed before. */
    private int binding;

    /** The keys to free when no binding is under way. */
    private final List<Link.Key> revoked = new ArrayList<>();

    Grants(Session session, int most) {
        this.session = session;
        this.most = most;
    }

    /** Returns true if the peer has as many exports as it may have, and this is another one. */
    boolean isTooMany(Export export) {
        return granted.size() >= most && !granted.containsKey(export);
    }

    /** Gives an export to the peer. The key is valid before all later requests. */
    Link.Shown grant(Link on, Export export) {
        // A thread that revokes an export has ended it before it takes the channel's lock.
        if (!export.isOpen() || !export.region().isOpen()) {
            throw new IllegalStateException("The " + export + " or its arena is closing");
        }
        Link.Key known = granted.get(export);
        if (known != null) {
            return known.shown().get();
        }
        Link.Key key = on.grant(Link.BIND, export.region(), export.access(), export.arena());
        if (key.isPosted()) {
            binding++;
            session.rail.posted();
        }
        granted.put(export, key);
        return key.shown().get();
    }

    /** Notes that a binding has completed. The threads that revoke exports wait for this, and free the keys: C may refuse. */
    void bound() {
        binding--;
    }

    /** Takes an export from the peer. */
    void revoke(Export export) {
        Link.Key key = granted.get(export);
        if (key != null) {
            revoked.add(key);
            granted.remove(export);
        }
        free(); // also what C refused to free before
    }

    /** Takes all exports from the peer, whose queue pair makes no more requests. */
    void revokeAll() {
        binding = 0;
        revoked.addAll(granted.values());
        granted.clear();
        free();
    }

    private void free() {
        while (binding == 0 && !revoked.isEmpty()) {
            revoked.getLast().end().run();
            revoked.removeLast(); // last: C may refuse
        }
    }

    /** Returns true if keys of closed exports are still to be freed. */
    boolean isRevoking() {
        return !revoked.isEmpty();
    }
}
