package dev.verbena.verbs;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;

/** What a work request names by a pointer, which C follows while it posts: it must not be destroyed meanwhile. */
abstract sealed class RequestPart extends VerbsObject permits AddressHandle, MemoryRegion, MemoryWindow {
    RequestPart(VerbsArena arena) {
        super(arena);
    }

    /** Begins a post that names this object. */
    final int beginPost() {
        return enter();
    }

    /** Ends what {@link #beginPost} began. */
    final void endPost(int way) {
        exit(way);
    }
}
