package dev.verbena.internal.lifetime;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.internal.Backoff;
import dev.verbena.internal.Barrier;
import dev.verbena.internal.ThreadClaim;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A guard that keeps an arena or a verbs object from being closed while it is in use.
 *
 * <p>C gets addresses, not segments, so the virtual machine does not know that a call uses an object. A guard brackets
 * every call into C: closing waits for calls under way, and later calls throw. A confined object is used by one thread and
 * needs no bracket. A shared object has two kinds of bracket:
 *
 * <ul>
 *   <li>{@link #hold()} and {@link #release()}: an atomic count, for everything but the data path;
 *   <li>{@link #enter()} and {@link #exit(int)}: for the data path. The first thread that enters has a flag of its own
 *       and pays two plain stores; all others count. When that thread has ended, the next one gets the flag.
 * </ul>
 */
public abstract sealed class CloseGuard permits ArenaLifetime, ObjectLifetime {
    /** A result of {@link #enter()}, which tells {@link #exit(int)} what to undo. */
    static final int UNGUARDED = 0;

    static final int FLAGGED = 1;
    static final int COUNTED = 2;

    private static final ThreadClaim CLAIM = new ThreadClaim(field("holder", Thread.class));
    private static final VarHandle CLOSED = field("closed", boolean.class);
    private static final VarHandle BUSY = field("busy", boolean.class);
    private static final VarHandle USERS = field("users", int.class);

    /** The only thread that may use the guarded object, or null. Another thread takes over from one that has ended. */
    private @Nullable Thread owner;

    /** The {@link #owner} while the object is open; else null. One comparison so checks both, on the data path. */
    private @Nullable Thread openTo;

    /** The thread that has the flag {@link #busy} for itself. */
    private @Nullable Thread holder;

    private final Set<ObjectLifetime> dependents = new LinkedHashSet<>();

    @SuppressWarnings("unused") // VarHandles read these three
    private boolean closed;

    @SuppressWarnings("unused")
    private boolean busy;

    @SuppressWarnings("unused")
    private int users;

    private final Held held = new Held(this);

    CloseGuard(@Nullable Thread owner) {
        this.owner = owner;
        this.openTo = owner;
    }

    /** Returns the guarded arena or object, for messages. */
    abstract Object subject();

    /**
     * Returns the only thread that may use the guarded object.
     *
     * @return the thread, or null if all threads may use the object
     */
    public final @Nullable Thread owner() {
        return owner;
    }

    /** Makes the calling thread the owner, in place of a thread that has ended. */
    final void takeOver() {
        owner = Thread.currentThread();
        if (openTo != null) {
            openTo = owner;
        }
    }

    /**
     * Returns true if only one thread may use the guarded object.
     *
     * @return true for objects of an arena {@linkplain VerbsArena#ofConfined for one thread}
     */
    public final boolean isConfined() {
        return owner != null;
    }

    /**
     * Returns true if a thread may use the guarded object.
     *
     * @param thread the thread
     * @return false if the object is confined to another thread
     */
    public final boolean isAccessibleBy(Thread thread) {
        return owner == null || owner == thread;
    }

    /**
     * Returns true if the guarded object is open and confined to the calling thread.
     *
     * @param current the calling thread
     * @return false if {@link #checkOpen} must check the object, which may be open for all threads
     */
    public final boolean isOpenTo(Thread current) {
        return openTo == current;
    }

    /** Returns true once closing has begun and has not failed. */
    public final boolean isClosed() {
        return (boolean) CLOSED.getOpaque(this);
    }

    /**
     * Checks that the guarded object is open and that the calling thread may use it.
     *
     * @throws IllegalStateException if the object is closed
     * @throws WrongThreadException if the object is confined to another thread
     */
    public final void checkOpen() {
        checkThread();
        if (isClosed()) {
            throw closedAlready();
        }
    }

    final void checkThread() {
        if (owner != null && owner != Thread.currentThread()) {
            throw new WrongThreadException(subject() + " is confined to thread '" + owner.getName()
                    + "' and was used by thread '" + Thread.currentThread().getName()
                    + "'. Take VerbsArena.ofShared() for objects that all threads use");
        }
    }

    /**
     * Begins a call into C that uses the guarded object. The object is not closed before {@link #release()}.
     *
     * @throws IllegalStateException if the object is closed
     * @throws WrongThreadException if the object is confined to another thread
     */
    public final void hold() {
        checkOpen(); // before counting, so that repeated attempts do not delay closing
        if (owner == null) {
            USERS.getAndAdd(this, 1);
        }
        if ((boolean) CLOSED.getVolatile(this)) {
            release();
            throw closedAlready();
        }
    }

    /** Begins a call as {@link #hold()} does, in a {@code try} statement whose end is the end of the call. */
    public final Held held() {
        hold();
        return held;
    }

    /** A call into C that is under way. Closing it ends the call. */
    public static final class Held implements AutoCloseable {
        private final CloseGuard guard;

        private Held(CloseGuard guard) {
            this.guard = guard;
        }

        @Override
        public void close() {
            guard.release();
        }
    }

    /** Ends a call that {@link #hold()} began. */
    public final void release() {
        if (owner == null) {
            USERS.getAndAdd(this, -1);
        }
    }

    /**
     * Begins a call of the data path. Only the call itself may happen before {@link #exit(int)}.
     *
     * @return the kind of bracket, for {@link #exit(int)}
     * @throws IllegalStateException if the object is closed
     * @throws WrongThreadException if the object is confined to another thread
     */
    public final int enter() {
        if (owner != null) {
            checkOpen();
            return UNGUARDED;
        }
        Thread known = holder;
        if (known == Thread.currentThread() || claims(known)) {
            if (Barrier.AVAILABLE) {
                // HotSpot keeps the order of two opaque accesses. That is enough, because closing uses membarrier.
                BUSY.setOpaque(this, true);
                if ((boolean) CLOSED.getOpaque(this)) {
                    throw leaveClosed();
                }
            } else {
                BUSY.setVolatile(this, true);
                if ((boolean) CLOSED.getVolatile(this)) {
                    throw leaveClosed();
                }
            }
            return FLAGGED;
        }
        hold();
        return COUNTED;
    }

    /** Claims the flag, if no thread has it, or only one that has ended. */
    private boolean claims(@Nullable Thread known) {
        return (known == null || !known.isAlive()) && CLAIM.make(this, known) == null;
    }

    /**
     * Takes the flag from the thread that has it, so that the next thread that enters gets it. The caller makes sure that
     * no thread is in a call now, and that the next one sees what the caller has done.
     */
    public final void forgetUser() {
        CLAIM.end(this);
    }

    /**
     * Ends a call that {@link #enter()} began.
     *
     * @param way the result of {@code enter()}
     */
    public final void exit(int way) {
        if (way == FLAGGED) {
            BUSY.setRelease(this, false);
        } else if (way == COUNTED) {
            release();
        }
    }

    private IllegalStateException leaveClosed() {
        BUSY.setRelease(this, false);
        return closedAlready();
    }

    final IllegalStateException closedAlready() {
        return new IllegalStateException(subject() + " is closed");
    }

    /** Refuses further calls and waits for calls under way. */
    final void shut() {
        openTo = null;
        CLOSED.setVolatile(this, true);
        if (owner != null) {
            return;
        }
        Barrier.allThreads();
        for (int tries = 0; (boolean) BUSY.getAcquire(this) || (int) USERS.getAcquire(this) != 0; tries++) {
            Backoff.pause(tries);
        }
    }

    /** Allows calls again, after closing failed. */
    final void reopen() {
        CLOSED.setVolatile(this, false);
        openTo = owner;
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

    final void checkNoDependents() {
        List<ObjectLifetime> left = dependents();
        if (!left.isEmpty()) {
            throw busy(left);
        }
    }

    /** Returns the exception for a subject that cannot be closed because others depend on it. */
    final ResourceBusyException busy(List<ObjectLifetime> dependents) {
        return new ResourceBusyException(
                subject(), dependents.stream().map(ObjectLifetime::subject).toList());
    }

    private static VarHandle field(String name, Class<?> type) {
        try {
            return MethodHandles.lookup().findVarHandle(CloseGuard.class, name, type);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
