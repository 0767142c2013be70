package dev.verbena.internal.lifetime;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.internal.Mutex;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The lifetime of an arena or of a verbs object: the guard that closing waits for, and the objects that depend on it. */
public abstract sealed class Lifetime permits ArenaLifetime, ObjectLifetime {
    private final CloseGuard guard;
    private final Set<ObjectLifetime> dependents = new LinkedHashSet<>();
    private final Held held = new Held(this);

    /** Begins a lifetime of an object for one thread, or for all if that is null. */
    Lifetime(@Nullable Thread owner) {
        guard = owner == null ? new SharedGuard(this) : new ConfinedGuard(this, owner);
    }

    /** Returns the arena or the object. */
    abstract Object subject();

    final CloseGuard guard() {
        return guard;
    }

    /**
     * Returns the only thread that may use the object.
     *
     * @return the thread, or null if all threads may use the object
     */
    public final @Nullable Thread owner() {
        return guard.owner();
    }

    /**
     * Returns true if only one thread may use the object.
     *
     * @return true for objects of an arena {@linkplain VerbsArena#ofConfined for one thread}
     */
    public final boolean isConfined() {
        return guard.owner() != null;
    }

    /**
     * Returns true if a thread may use the object.
     *
     * @param thread the thread
     * @return false if the object is confined to another thread
     */
    public final boolean isAccessibleBy(Thread thread) {
        Thread owner = guard.owner();
        return owner == null || owner == thread;
    }

    /** Returns true once closing has begun and has not failed. */
    public final boolean isClosed() {
        return guard.isClosed();
    }

    /**
     * Checks that the object is open and that the calling thread may use it.
     *
     * @throws IllegalStateException if the object is closed
     * @throws WrongThreadException if the object is confined to another thread
     */
    public final void checkOpen() {
        guard.checkOpen();
    }

    /**
     * Begins a call into C that uses the object. The object is not closed before {@link #release()}.
     *
     * @throws IllegalStateException if the object is closed
     * @throws WrongThreadException if the object is confined to another thread
     */
    public final void hold() {
        guard.hold();
    }

    /** Begins a call as {@link #hold()} does, in a {@code try} statement whose end is the end of the call. */
    public final Held held() {
        hold();
        return held;
    }

    /** A call into C that is under way. Closing it ends the call. */
    public static final class Held implements AutoCloseable {
        private final Lifetime lifetime;

        private Held(Lifetime lifetime) {
            this.lifetime = lifetime;
        }

        @Override
        public void close() {
            lifetime.release();
        }
    }

    /** Ends a call that {@link #hold()} began. */
    public final void release() {
        guard.release();
    }

    /**
     * Begins a call of the data path. Only the call itself may happen before {@link #exit(int)}.
     *
     * @return the argument for {@code exit}
     * @throws IllegalStateException if the object is closed
     * @throws WrongThreadException if the object is confined to another thread
     */
    public final int enter() {
        return guard.enter();
    }

    /**
     * Ends a call that {@link #enter()} began.
     *
     * @param way the result of {@code enter()}
     */
    public final void exit(int way) {
        guard.exit(way);
    }

    /** Forgets which thread uses the object most: see {@code CloseGuard}. */
    public final void forgetUser() {
        guard.forgetUser();
    }

    final void addDependent(ObjectLifetime dependent) {
        synchronized (dependents) {
            dependents.add(dependent);
        }
    }

    final void removeDependent(ObjectLifetime dependent) {
        synchronized (dependents) {
            dependents.remove(dependent);
        }
    }

    /** Returns the dependents, the oldest first. */
    public final List<ObjectLifetime> dependents() {
        synchronized (dependents) {
            return List.copyOf(dependents);
        }
    }

    /** Takes the lock of the thread that closes. Refuses if another thread has it for long. */
    final Mutex closingHeld(Mutex closing) {
        if (!closing.tryLockWithin(CloseGuard.LIMIT)) {
            throw guard.busy(closing.owner());
        }
        return closing;
    }

    final void checkNoDependents() {
        List<ObjectLifetime> left = dependents();
        if (!left.isEmpty()) {
            throw busy(left);
        }
    }

    /** Returns the exception for a subject that cannot be closed because others depend on it. */
    final ResourceBusyException busy(List<ObjectLifetime> others) {
        return new ResourceBusyException(
                subject(), others.stream().map(ObjectLifetime::subject).toList());
    }
}
