package dev.verbena.internal.lifetime;

import dev.verbena.internal.Backoff;
import dev.verbena.internal.Barrier;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Fields;
import dev.verbena.internal.StackRoom;
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
 * <p>A thread whose stack is full may have no room for {@link #release()} or {@link #exit}, and stays inside until it ends.
 * A close that waits too long refuses, and names the thread. The last step of each way in or out is a write to a field, since
 * a call needs stack.
 */
final class SharedGuard {
    /** A result of {@link #enter()}, which tells {@link #exit} what to undo. */
    static final int FLAGGED = 1;

    static final int COUNTED = 2;

    private static final ThreadClaim CLAIM =
            new ThreadClaim(Fields.handle(MethodHandles.lookup(), "holder", Thread.class));
    private static final VarHandle BUSY = Fields.handle(MethodHandles.lookup(), "busy", boolean.class);
    private static final VarHandle FIRST = Fields.handle(MethodHandles.lookup(), "first", User.class);
    private static final VarHandle OTHERS = Fields.handle(MethodHandles.lookup(), "others", int.class);

    /** The number of threads that have a place of their own. More threads are counted together. */
    private static final int PLACES = 16;

    /** The classes that a thread with little stack must not be the first to need: their initialisation would fail for good. */
    private static final ThreadClaim PLACE = User.CLAIM;

    /** The place of a thread, which counts its calls under way. A thread takes over from one that has ended. */
    private static final class User {
        static final VarHandle INSIDE = Fields.handle(MethodHandles.lookup(), "inside", int.class);
        static final ThreadClaim CLAIM = new ThreadClaim(Fields.handle(MethodHandles.lookup(), "thread", Thread.class));

        Thread thread;

        final @Nullable User next;
        volatile int inside;

        User(Thread thread, @Nullable User next) {
            this.thread = thread;
            this.next = next;
        }
    }

    private final Lifetime lifetime;

    /** The thread that has the flag {@link #busy} for itself. */
    private @Nullable Thread holder;

    private volatile boolean closed;
    private volatile boolean busy;
    private volatile @Nullable User first;
    private volatile int others;

    SharedGuard(Lifetime lifetime) {
        this.lifetime = lifetime;
        Barrier.prepare(); // before there is anything to close
        StackRoom.forExit(); // links what must not be linked at the end of a stack
    }

    boolean isClosed() {
        return closed;
    }

    void checkOpen() {
        if (isClosed()) {
            throw lifetime.closedAlready();
        }
    }

    void hold() {
        StackRoom.forExit();
        checkOpen(); // before counting, so that repeated attempts do not delay closing
        User user = user();
        if (user == null) {
            OTHERS.getAndAdd(this, 1);
        } else {
            User.INSIDE.setOpaque(user, user.inside + 1); // closing fences all threads
        }
        if (closed) {
            release();
            throw lifetime.closedAlready();
        }
    }

    void release() {
        User user = first;
        while (user != null && user.thread != Thread.currentThread()) {
            user = user.next;
        }
        if (user == null || user.inside == 0) {
            OTHERS.getAndAdd(this, -1);
            return;
        }
        int left = user.inside - 1;
        try {
            User.INSIDE.setRelease(user, left);
        } catch (StackOverflowError full) {
            user.inside = left;
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
        if (free != null && PLACE.make(free, ended) == null) {
            free.inside = 0;
            return free;
        }
        User made = places < PLACES ? new User(current, head) : null;
        return made != null && FIRST.compareAndSet(this, head, made) ? made : null;
    }

    int enter() {
        Thread known = holder;
        boolean isOther = StackRoom.forExit(known != Thread.currentThread());
        if (!isOther || claims(known)) {
            // HotSpot keeps the order of these two accesses. That is enough, because closing fences all threads.
            BUSY.setOpaque(this, true);
            if (closed) {
                busy = false;
                throw lifetime.closedAlready();
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

    void exit(int way) {
        if (way != FLAGGED) {
            release();
            return;
        }
        try {
            BUSY.setRelease(this, false);
        } catch (StackOverflowError full) {
            busy = false;
        }
    }

    /** Takes the flag from the thread that has it, so that the next thread that enters gets it. */
    void forgetUser() {
        CLAIM.end(this);
    }

    void shut() {
        closed = true;
        try {
            Barrier.allThreads();
            long start = System.nanoTime();
            for (int tries = 0; isUsed(); tries++) {
                Thread inside = threadInside();
                if (inside == Thread.currentThread()
                        || System.nanoTime() - start > Deadline.nanoseconds(Lifetime.LIMIT)) {
                    throw lifetime.busy(inside);
                }
                Backoff.pause(tries);
            }
        } catch (Throwable refused) {
            reopen();
            throw refused;
        }
    }

    private boolean isUsed() {
        return others != 0 || (busy && holder == null) || threadInside() != null;
    }

    /** Returns a thread that is in a call now and has not ended; null if none is known. */
    private @Nullable Thread threadInside() {
        Thread flagged = busy ? holder : null;
        if (flagged != null && flagged.isAlive()) {
            return flagged;
        }
        for (User user = first; user != null; user = user.next) {
            if (user.inside != 0 && user.thread.isAlive()) {
                return user.thread;
            }
        }
        return null;
    }

    void reopen() {
        closed = false;
    }
}
