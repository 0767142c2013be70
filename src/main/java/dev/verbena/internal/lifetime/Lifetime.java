package dev.verbena.internal.lifetime;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.internal.Driver;
import dev.verbena.internal.Fields;
import dev.verbena.internal.Mutex;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The lifetime of an arena or of a verbs object: the brackets that keep the object from being closed while it is in use, and
 * the objects that depend on it.
 *
 * <p>C gets addresses, not segments, so the virtual machine does not know that a call uses an object. A bracket is around
 * every call into C: closing waits for calls under way, and later calls throw. There are two kinds of bracket:
 *
 * <ul>
 *   <li>{@link #hold()} and {@link #release()}, for everything but the data path;
 *   <li>{@link #enter()} and {@link #exit(int)}, for the data path.
 * </ul>
 *
 * <p>The thread of a confined object also closes it, so no call is under way meanwhile: a bracket is one comparison, and its
 * end does nothing. An object that all threads use has a {@link SharedGuard}, which knows the calls under way.
 */
public abstract sealed class Lifetime permits ArenaLifetime, ObjectLifetime {
    /** The result of {@link #enter()} for a confined object. */
    static final int UNGUARDED = 0;

    /** The longest time that a close waits for another thread: the longest calls register much memory. */
    static final Duration LIMIT = Duration.ofMillis(Long.getLong("dev.verbena.closeLimit", 60_000));

    private static final VarHandle OPEN_TO = Fields.handle(MethodHandles.lookup(), "openTo", Thread.class);

    /** The guard of an object that all threads use; null for a confined object. */
    private final @Nullable SharedGuard guard;

    /** The only thread that may use the object; null if all may. Another thread takes over from one that has ended. */
    private @Nullable Thread owner;

    /** The {@link #owner} while the object is open; else null. One comparison so checks both. */
    private @Nullable Thread openTo;

    private final Set<ObjectLifetime> dependents = new LinkedHashSet<>();
    private final Held held = new Held(this);

    /** Begins a lifetime of an object for one thread, or for all if that is null. */
    Lifetime(@Nullable Thread owner) {
        this.guard = owner == null ? new SharedGuard(this) : null;
        this.owner = owner;
        this.openTo = owner;
    }

    /** Returns the arena or the object. */
    abstract Object subject();

    /**
     * Returns the only thread that may use the object.
     *
     * @return the thread, or null if all threads may use the object
     */
    public final @Nullable Thread owner() {
        return owner;
    }

    /**
     * Returns true if only one thread may use the object.
     *
     * @return true for objects of an arena {@linkplain VerbsArena#ofConfined for one thread}
     */
    public final boolean isConfined() {
        return guard == null;
    }

    /**
     * Returns true if a thread may use the object.
     *
     * @param thread the thread
     * @return false if the object is confined to another thread
     */
    public final boolean isAccessibleBy(Thread thread) {
        return guard != null || owner == thread;
    }

    /** Makes the calling thread the owner of a confined object, in place of a thread that has ended. */
    final void takeOver() {
        owner = Thread.currentThread();
        if (openTo != null) {
            openTo = owner;
        }
    }

    /** Returns true once closing has begun and has not failed. Any thread may ask. */
    public final boolean isClosed() {
        return guard == null ? OPEN_TO.getOpaque(this) == null : guard.isClosed();
    }

    /**
     * Checks that the calling thread may use the object.
     *
     * @throws WrongThreadException if the object is confined to another thread
     */
    final void checkThread() {
        Thread known = owner;
        if (known != null && known != Thread.currentThread()) {
            throw new WrongThreadException(subject() + " is confined to thread '" + known.getName()
                    + "' and was used by thread '" + Thread.currentThread().getName()
                    + "'. Take VerbsArena.ofShared() for objects that all threads use");
        }
    }

    /**
     * Checks that the object is open and that the calling thread may use it.
     *
     * @throws IllegalStateException if the object is closed
     * @throws WrongThreadException if the object is confined to another thread
     */
    public final void checkOpen() {
        if (guard != null) {
            guard.checkOpen();
        } else if (openTo != Thread.currentThread()) {
            checkThread();
            throw closedAlready();
        }
    }

    /**
     * Begins a call into C that uses the object. The object is not closed before {@link #release()}.
     *
     * @throws IllegalStateException if the object is closed
     * @throws WrongThreadException if the object is confined to another thread
     */
    public final void hold() {
        if (guard == null) {
            checkOpen();
        } else {
            guard.hold();
        }
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
        if (guard != null) {
            guard.release();
        }
    }

    /**
     * Begins a call of the data path. Only the call itself may happen before {@link #exit(int)}.
     *
     * @return the argument for {@code exit}
     * @throws IllegalStateException if the object is closed
     * @throws WrongThreadException if the object is confined to another thread
     */
    public final int enter() {
        if (guard != null) {
            return guard.enter();
        }
        checkOpen();
        return UNGUARDED;
    }

    /**
     * Ends a call that {@link #enter()} began.
     *
     * @param way the result of {@code enter()}
     */
    public final void exit(int way) {
        if (guard != null) {
            guard.exit(way);
        }
    }

    /**
     * Returns a driver for the calls of this object, a queue. The owner of a confined queue needs no bracket around its
     * calls: it checks before that the queue is open.
     */
    public final Driver bracketing(Driver driver) {
        return guard == null ? driver : new GuardedDriver(driver, guard);
    }

    /**
     * Forgets which thread uses the object most. The caller makes sure that no thread is in a call now, and that the next one
     * sees what the caller has done.
     */
    public final void forgetUser() {
        if (guard != null) {
            guard.forgetUser();
        }
    }

    /**
     * Refuses further calls and waits for calls under way.
     *
     * @throws ResourceBusyException if a call takes longer than the limit: calls are allowed again
     */
    final void shut() {
        if (guard == null) {
            OPEN_TO.setOpaque(this, (Thread) null);
        } else {
            guard.shut();
        }
    }

    /** Allows calls again, after closing failed. */
    final void reopen() {
        if (guard == null) {
            OPEN_TO.setOpaque(this, owner);
        } else {
            guard.reopen();
        }
    }

    final IllegalStateException closedAlready() {
        return new IllegalStateException(subject() + " is closed");
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
        if (!closing.tryLockWithin(LIMIT)) {
            throw busy(closing.owner());
        }
        return closing;
    }

    final void checkNoDependents() {
        List<ObjectLifetime> left = dependents();
        if (!left.isEmpty()) {
            throw busy(left);
        }
    }

    /** Returns the exception for a subject that cannot be closed because a thread is in a call, which may be unknown. */
    final ResourceBusyException busy(@Nullable Thread inside) {
        return new ResourceBusyException(subject(), inside, LIMIT);
    }

    /** Returns the exception for a subject that cannot be closed because others depend on it. */
    final ResourceBusyException busy(List<ObjectLifetime> others) {
        return new ResourceBusyException(
                subject(), others.stream().map(ObjectLifetime::subject).toList());
    }
}
