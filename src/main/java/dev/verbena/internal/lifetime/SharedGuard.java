package dev.verbena.internal.lifetime;

import dev.verbena.internal.Backoff;
import dev.verbena.internal.Barrier;
import dev.verbena.internal.Driver;
import dev.verbena.internal.Fields;
import dev.verbena.internal.ThreadClaim;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The guard of an object that all threads use. Any thread may close the object: it waits for calls under way.
 *
 * <p>{@link #hold()} counts atomically. {@link #enter()} gives the first thread that enters a flag of its own, for which it
 * pays two plain stores; all other threads count. When the first thread has ended, the next one gets the flag.
 */
final class SharedGuard extends CloseGuard {
    private static final ThreadClaim CLAIM =
            new ThreadClaim(Fields.handle(MethodHandles.lookup(), "holder", Thread.class));
    private static final VarHandle CLOSED = Fields.handle(MethodHandles.lookup(), "closed", boolean.class);
    private static final VarHandle BUSY = Fields.handle(MethodHandles.lookup(), "busy", boolean.class);
    private static final VarHandle USERS = Fields.handle(MethodHandles.lookup(), "users", int.class);

    /** The thread that has the flag {@link #busy} for itself. */
    private @Nullable Thread holder;

    @SuppressWarnings("unused") // VarHandles read these three
    private boolean closed;

    @SuppressWarnings("unused")
    private boolean busy;

    @SuppressWarnings("unused")
    private int users;

    SharedGuard(Lifetime lifetime) {
        super(lifetime);
    }

    @Override
    @Nullable
    Thread owner() {
        return null;
    }

    @Override
    void takeOver() {
        // it has no owner
    }

    @Override
    boolean isClosed() {
        return (boolean) CLOSED.getOpaque(this);
    }

    @Override
    void checkThread() {
        // all threads may use the object
    }

    @Override
    void checkOpen() {
        if (isClosed()) {
            throw closedAlready();
        }
    }

    @Override
    void hold() {
        checkOpen(); // before counting, so that repeated attempts do not delay closing
        USERS.getAndAdd(this, 1);
        if ((boolean) CLOSED.getVolatile(this)) {
            release();
            throw closedAlready();
        }
    }

    @Override
    void release() {
        USERS.getAndAdd(this, -1);
    }

    @Override
    int enter() {
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

    @Override
    void exit(int way) {
        if (way == FLAGGED) {
            BUSY.setRelease(this, false);
        } else {
            release();
        }
    }

    @Override
    Driver bracketing(Driver driver) {
        return new GuardedDriver(driver, this);
    }

    private IllegalStateException leaveClosed() {
        BUSY.setRelease(this, false);
        return closedAlready();
    }

    /** Takes the flag from the thread that has it, so that the next thread that enters gets it. */
    @Override
    void forgetUser() {
        CLAIM.end(this);
    }

    @Override
    void shut() {
        CLOSED.setVolatile(this, true);
        Barrier.allThreads();
        for (int tries = 0; (boolean) BUSY.getAcquire(this) || (int) USERS.getAcquire(this) != 0; tries++) {
            Backoff.pause(tries);
        }
    }

    @Override
    void reopen() {
        CLOSED.setVolatile(this, false);
    }
}
