package dev.verbena;

import dev.verbena.access.ObjectLifetime;
import java.util.Objects;

/**
 * Something of the verbs API that must be destroyed: a device context, a protection domain, a queue pair.
 *
 * <p>It belongs to the {@link VerbsArena} that was named when it was made, which destroys it when it closes, after
 * everything that was made later. {@link #close()} destroys it earlier. It knows the objects that depend on it, and
 * is not destroyed before them.
 *
 * <p>An object of a confined arena may be used by the arena's thread only; one of a shared arena by all threads, also
 * while another closes it: calls under way are waited for, and later ones get an {@link IllegalStateException}.
 */
public abstract class VerbsObject implements AutoCloseable {
    static {
        ObjectLifetime.install(object -> object.lifetime);
    }

    private final ObjectLifetime lifetime;

    /**
     * Begins an object of this library: programs cannot extend this class.
     *
     * @param lifetime the object's lifetime
     * @hidden
     */
    @SuppressWarnings({"exports", "this-escape"}) // programs cannot name the type, and so cannot extend this class
    protected VerbsObject(ObjectLifetime lifetime) {
        this.lifetime = Objects.requireNonNull(lifetime);
        lifetime.begin(this);
    }

    /**
     * Returns the arena that destroys this object.
     *
     * @return the arena named when the object was made
     */
    public final VerbsArena arena() {
        return lifetime.arenaOfObject();
    }

    /**
     * Returns true if this object can still be used.
     *
     * @return false once the object was destroyed
     */
    public final boolean isOpen() {
        return !lifetime.isClosed();
    }

    /**
     * Destroys this object without waiting for its arena. Closing it twice does nothing.
     *
     * @throws ResourceBusyException if other objects depend on this one: they are named, and this object stays open
     * @throws VerbsException if C refused: this object stays open, and closing can be tried again
     * @throws WrongThreadException if this object is confined to another thread
     */
    @Override
    public final void close() {
        lifetime.close();
    }
}
