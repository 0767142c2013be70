package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.internal.lifetime.ObjectLifetime;

/**
 * An object that a work request names by a pointer. C follows the pointer while it posts the request. The constructors of
 * subclasses set {@link #destroy} as the destroyer, once the pointer is set.
 */
abstract sealed class RequestPart extends VerbsObject permits AddressHandle, MemoryRegion, MemoryWindow {
    /** An argument for {@link #endPost} that ends nothing. */
    static final int NOT_BEGUN = 0;

    final ObjectLifetime lifetime;

    RequestPart(ObjectLifetime lifetime) {
        super(lifetime);
        this.lifetime = lifetime;
    }

    /** Calls C to destroy the object. */
    abstract void destroy();

    /** Begins a post that names this object. */
    final int beginPost() {
        return lifetime.enter();
    }

    /** Ends a post that {@link #beginPost} began; nothing for {@link #NOT_BEGUN}. */
    final void endPost(int way) {
        if (way != NOT_BEGUN) {
            lifetime.exit(way);
        }
    }
}
