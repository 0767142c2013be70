package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.access.ObjectLifetime;

/** What a work request names by a pointer, which C follows while it posts: it must not be destroyed meanwhile. */
abstract sealed class RequestPart extends VerbsObject permits AddressHandle, MemoryRegion, MemoryWindow {
    final ObjectLifetime lifetime;

    RequestPart(ObjectLifetime lifetime) {
        super(lifetime);
        this.lifetime = lifetime;
        lifetime.destroyedBy(this::destroy);
    }

    /** Calls C to destroy the object. */
    abstract void destroy();

    /** Begins a post that names this object. */
    final int beginPost() {
        return lifetime.enter();
    }

    /** Ends what {@link #beginPost} began. */
    final void endPost(int way) {
        lifetime.exit(way);
    }
}
