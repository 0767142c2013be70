package dev.verbena.internal.lifetime;

import dev.verbena.ResourceBusyException;
import dev.verbena.internal.Driver;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A guard that keeps an arena or a verbs object from being closed while it is in use.
 *
 * <p>C gets addresses, not segments, so the virtual machine does not know that a call uses an object. A guard brackets
 * every call into C: closing waits for calls under way, and later calls throw. There is a kind of guard for objects of one
 * thread, and one for objects of all threads. Each has two kinds of bracket:
 *
 * <ul>
 *   <li>{@link #hold()} and {@link #release()}, for everything but the data path;
 *   <li>{@link #enter()} and {@link #exit(int)}, for the data path.
 * </ul>
 */
abstract sealed class CloseGuard permits ConfinedGuard, SharedGuard {
    /** A result of {@link #enter()}, which tells {@link #exit(int)} what to undo. */
    static final int UNGUARDED = 0;

    static final int FLAGGED = 1;
    static final int COUNTED = 2;

    /** The longest time that a close waits for another thread: the longest calls register much memory. */
    static final Duration LIMIT = Duration.ofMillis(Long.getLong("dev.verbena.closeLimit", 60_000));

    private final Lifetime lifetime;

    CloseGuard(Lifetime lifetime) {
        this.lifetime = lifetime;
    }

    /** Returns the guarded arena or object, for messages. */
    final Object subject() {
        return lifetime.subject();
    }

    /**
     * Returns the only thread that may use the guarded object.
     *
     * @return the thread, or null if all threads may use the object
     */
    abstract @Nullable Thread owner();

    /** Makes the calling thread the owner, in place of a thread that has ended. */
    abstract void takeOver();

    /** Returns true once closing has begun and has not failed. */
    abstract boolean isClosed();

    /**
     * Checks that the calling thread may use the guarded object.
     *
     * @throws WrongThreadException if the object is confined to another thread
     */
    abstract void checkThread();

    /**
     * Checks that the guarded object is open and that the calling thread may use it.
     *
     * @throws IllegalStateException if the object is closed
     * @throws WrongThreadException if the object is confined to another thread
     */
    abstract void checkOpen();

    /**
     * Begins a call into C that uses the guarded object. The object is not closed before {@link #release()}.
     *
     * @throws IllegalStateException if the object is closed
     * @throws WrongThreadException if the object is confined to another thread
     */
    abstract void hold();

    /** Ends a call that {@link #hold()} began. */
    abstract void release();

    /**
     * Begins a call of the data path. Only the call itself may happen before {@link #exit(int)}.
     *
     * @return the kind of bracket, for {@link #exit(int)}
     * @throws IllegalStateException if the object is closed
     * @throws WrongThreadException if the object is confined to another thread
     */
    abstract int enter();

    /**
     * Ends a call that {@link #enter()} began.
     *
     * @param way the result of {@code enter()}
     */
    abstract void exit(int way);

    /** Returns a driver whose calls are brackets of this guard, or the driver itself if they need none. */
    abstract Driver bracketing(Driver driver);

    /**
     * Forgets which thread uses the guarded object most. The caller makes sure that no thread is in a call now, and that the
     * next one sees what the caller has done.
     */
    abstract void forgetUser();

    /**
     * Refuses further calls and waits for calls under way.
     *
     * @throws ResourceBusyException if a call takes longer than the limit: calls are allowed again
     */
    abstract void shut();

    /** Allows calls again, after closing failed. */
    abstract void reopen();

    /** Returns the exception for a subject that can't be closed because a thread is in a call, which may be unknown. */
    final ResourceBusyException busy(@Nullable Thread inside) {
        return new ResourceBusyException(subject(), inside, LIMIT);
    }

    final IllegalStateException closedAlready() {
        return new IllegalStateException(subject() + " is closed");
    }
}
