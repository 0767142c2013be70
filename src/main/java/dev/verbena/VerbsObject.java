package dev.verbena;

import dev.verbena.internal.lifetime.ObjectLifetime;
import java.util.Objects;

/**
 * A verbs object that must be destroyed, such as a device context, a protection domain or a queue pair.
 *
 * <p>Each object belongs to the {@link VerbsArena} that was named at its creation. The arena destroys its objects when it
 * closes, the youngest first. {@link #close()} destroys an object earlier. An object can't be destroyed while other
 * objects depend on it.
 *
 * <p>Only the thread of a confined arena may use the arena's objects. All threads may use the objects of a shared arena.
 * Any thread may close a shared object at any time: closing waits for calls under way, and later calls throw
 * {@link IllegalStateException}.
 */
public abstract class VerbsObject implements AutoCloseable {
    static {
        ObjectLifetime.install(object -> object.lifetime);
    }

    private final ObjectLifetime lifetime;

    /**
     * Creates an object of this library. Programs cannot extend this class.
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
     * @throws ResourceBusyException if other objects depend on this one, or a thread has been in a call that uses it for more
     *     than a minute: they are named, and this object stays open
     * @throws VerbsException if C refused: this object stays open, and closing can be tried again
     * @throws WrongThreadException if this object is confined to another thread
     */
    @Override
    public final void close() {
        lifetime.close();
    }
}
