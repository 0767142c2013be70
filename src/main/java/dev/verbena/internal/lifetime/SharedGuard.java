package dev.verbena.internal.lifetime;

import dev.verbena.internal.Backoff;
import dev.verbena.internal.Barrier;
import dev.verbena.internal.Driver;
import dev.verbena.internal.Fields;
import dev.verbena.internal.LostExit;
import dev.verbena.internal.ThreadClaim;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The guard of an object that all threads use. Any thread may close the object: it waits for calls under way.
 *
 * <p>{@link #hold()} counts, for each thread apart. {@link #enter()} gives the first thread that enters a flag of its own, for
 * which it pays two plain stores; all other threads count. When the first thread has ended, the next one gets the flag.
 *
 * <p>A thread whose stack is full may have no room for {@link #release()} or {@link #exit}. So closing knows the threads that
 * are inside, and looks at their stacks when it has waited for long.
 */
final class SharedGuard extends CloseGuard {
    private static final ThreadClaim CLAIM =
            new ThreadClaim(Fields.handle(MethodHandles.lookup(), "holder", Thread.class));
    private static final VarHandle CLOSED = Fields.handle(MethodHandles.lookup(), "closed", boolean.class);
    private static final VarHandle BUSY = Fields.handle(MethodHandles.lookup(), "busy", boolean.class);
    private static final VarHandle FIRST = Fields.handle(MethodHandles.lookup(), "first", User.class);
    private static final VarHandle OTHERS = Fields.handle(MethodHandles.lookup(), "others", int.class);

    /** The number of threads that have a place of their own. More threads are counted together. */
    private static final int PLACES = 16;

    /** The place of a thread, which counts its calls under way. A thread takes over from one that has ended. */
    private static final class User {
        static final VarHandle INSIDE = Fields.handle(MethodHandles.lookup(), "inside", int.class);
        static final ThreadClaim CLAIM = new ThreadClaim(Fields.handle(MethodHandles.lookup(), "thread", Thread.class));

        Thread thread;

        final @Nullable User next;
        int inside;

        User(Thread thread, @Nullable User next) {
            this.thread = thread;
            this.next = next;
        }
    }

    /** The thread that has the flag {@link #busy} for itself. */
    private @Nullable Thread holder;

    @SuppressWarnings("unused") // VarHandles read these three
    private boolean closed;

    @SuppressWarnings("unused")
    private boolean busy;

    private volatile @Nullable User first;

    @SuppressWarnings("unused")
    private int others;

    SharedGuard(Lifetime lifetime) {
        super(lifetime);
        Barrier.prepare(); // before there is anything to close
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
        User user = user();
        if (user == null) {
            OTHERS.getAndAdd(this, 1);
        } else {
            User.INSIDE.setOpaque(user, user.inside + 1); // closing fences all threads
        }
        if ((boolean) CLOSED.getVolatile(this)) {
            release();
            throw closedAlready();
        }
    }

    @Override
    void release() {
        User user = first;
        while (user != null && user.thread != Thread.currentThread()) {
            user = user.next;
        }
        if (user != null && user.inside > 0) {
            User.INSIDE.setRelease(user, user.inside - 1);
        } else {
            OTHERS.getAndAdd(this, -1);
        }
    }

    /** Returns the calling thread's place; null if too many threads have one, or another thread takes one just now. */
    private @Nullable User user() {
        Thread current = Thread.currentThread();
        User head = first;
        User free = null;
        Thread ended = null;
        int places = 0;
        for (User user = head; user != null; user = user.next) {
            Thread thread = user.thread;
            if (thread == current) {
                return user;
            }
            if (!thread.isAlive()) {
                free = user;
                ended = thread;
            }
            places++;
        }
        if (free != null && User.CLAIM.make(free, ended) == null) {
            User.INSIDE.setOpaque(free, 0);
            return free;
        }
        User made = places < PLACES ? new User(current, head) : null;
        return made != null && FIRST.compareAndSet(this, head, made) ? made : null;
    }

    @Override
    int enter() {
        Thread known = holder;
        if (known == Thread.currentThread() || claims(known)) {
            // HotSpot keeps the order of two opaque accesses. That is enough, because closing fences all threads.
            BUSY.setOpaque(this, true);
            if ((boolean) CLOSED.getOpaque(this)) {
                throw leaveClosed();
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
        try {
            Barrier.allThreads();
            for (int tries = 0; isUsed(tries); tries++) {
                Backoff.pause(tries);
            }
        } catch (Throwable shortage) {
            reopen();
            throw shortage;
        }
    }

    /** Returns true while a call is under way. A thread that is outside has lost its exit, and does not count. */
    private boolean isUsed(int tries) {
        if ((boolean) BUSY.getAcquire(this) && !LostExit.isFoundInNoCall(holder, tries)) {
            return true;
        }
        for (User user = first; user != null; user = user.next) {
            if ((int) User.INSIDE.getAcquire(user) != 0 && !LostExit.isFoundInNoCall(user.thread, tries)) {
                return true;
            }
        }
        return (int) OTHERS.getAcquire(this) != 0;
    }

    @Override
    void reopen() {
        CLOSED.setVolatile(this, false);
    }
}
