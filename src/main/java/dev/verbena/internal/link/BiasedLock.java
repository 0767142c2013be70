package dev.verbena.internal.link;

import dev.verbena.internal.Backoff;
import dev.verbena.internal.Barrier;
import dev.verbena.internal.Fields;
import dev.verbena.internal.LockOrder;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.StackRoom;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * A reentrant lock that costs its usual thread two plain stores and no atomic instruction.
 *
 * <p>A thread that takes the lock many times in a row gets a bias: it then only notes that it is busy. Another thread that
 * wants the lock takes the bias away for good: it stores "revoked", makes every thread execute a fence, and waits until the
 * thread is not busy. That is the handshake of closing, whose proof is in {@link Barrier}. After each loss, a bias needs
 * many more turns in a row, so that threads that share a lock pay for few of them.
 *
 * <p>A {@code try} statement holds it: {@code try (var _ = lock.held()) { ... }}. This allocates nothing.
 */
public final class BiasedLock implements AutoCloseable {
    /** The number of turns in a row for the first bias, and the factor for each further one. */
    private static final int TURNS = 64;

    private static final int FACTOR = 16;

    /** The right of one thread, until it is revoked. */
    private static final class Bias {
        static final VarHandle BUSY = Fields.handle(MethodHandles.lookup(), "busy", boolean.class);

        final Thread holder;
        volatile boolean busy;
        volatile boolean revoked;

        /** True once the holder sees that its bias was revoked. The lock guards this. */
        boolean isFenced;

        /** The number of times that the holder has taken the lock again while it has it. */
        int again;

        Bias(Thread holder) {
            this.holder = holder;
        }
    }

    private final Mutex lock = new Mutex();

    /** The bias. The lock guards changes; a thread that sees an old one finds that it was revoked. */
    private @Nullable Bias bias;

    /** The thread that had the lock last, how often in a row, and how often it needs it for a bias. The lock guards them. */
    private @Nullable Thread last;

    private long turns;
    private long needed = LockOrder.ON ? Long.MAX_VALUE : TURNS;

    /** True once all accesses to a bias are linked, for which there must be memory: giving a lock back must not fail. */
    private static volatile boolean linked;

    /** Makes a lock that no thread holds. */
    public BiasedLock() {
        link();
    }

    private static void link() {
        if (!linked) {
            linked = true; // else the lock that tries makes another one
            try {
                new BiasedLock().tryBias();
            } catch (Throwable shortage) {
                linked = false;
                throw shortage;
            }
        }
    }

    /** Takes the lock and gives it back with a bias, and without one. */
    private void tryBias() {
        bias = new Bias(Thread.currentThread());
        lock();
        lock();
        unlock();
        unlock();
        Bias other = new Bias(Thread.currentThread());
        revoke(other);
        enter(other);
        awaitLeft(other);
        lock();
        unlock();
    }

    /** Takes the lock, and waits for that. Closing the result, which is this lock, gives it back. */
    public BiasedLock held() {
        lock();
        return this;
    }

    /** Gives the lock back at the end of the {@code try} statement. */
    @Override
    public void close() {
        unlock();
    }

    /** Takes the lock, and waits for that. */
    public void lock() {
        StackRoom.forExit();
        Bias mine = bias;
        if (mine == null || mine.holder != Thread.currentThread() || !enter(mine)) {
            lock.lock();
            Bias other = bias;
            if (other != null) {
                try {
                    revoke(other);
                    awaitLeft(other);
                } catch (Throwable shortage) {
                    lock.unlock();
                    throw shortage;
                }
            }
        }
    }

    /** Takes the lock if no other thread has it. */
    public boolean tryLock() {
        StackRoom.forExit();
        Bias mine = bias;
        if (mine != null && mine.holder == Thread.currentThread() && enter(mine)) {
            return true;
        }
        if (!lock.tryLock()) {
            return false;
        }
        Bias other = bias;
        if (other != null) {
            try {
                revoke(other);
            } catch (Throwable shortage) {
                lock.unlock();
                throw shortage;
            }
            if (isBusy(other)) {
                lock.unlock(); // the next thread goes on with that
                return false;
            }
            bias = null;
        }
        return true;
    }

    /** Gives the lock back. */
    public void unlock() {
        Bias mine = bias;
        if (mine != null && mine.holder == Thread.currentThread() && mine.busy) {
            if (mine.again > 0) {
                mine.again--;
            } else {
                leave(mine);
            }
        } else {
            try {
                count();
            } finally {
                lock.unlock();
            }
        }
    }

    private static void leave(Bias mine) {
        try {
            Bias.BUSY.setRelease(mine, false);
        } catch (StackOverflowError full) {
            mine.busy = false; // needs a fence, and no stack
        }
    }

    /** Enters with a bias. Returns false if it was revoked. */
    private static boolean enter(Bias mine) {
        if (mine.busy) {
            mine.again++;
            return true;
        }
        Bias.BUSY.setOpaque(mine, true);
        if (mine.revoked) { // nothing from here on needs stack
            mine.busy = false;
            return false;
        }
        return true;
    }

    /** Counts a turn of the calling thread, which has the lock, and gives it the bias when it has had enough in a row. */
    private void count() {
        Thread current = Thread.currentThread();
        if (last != current) {
            last = current;
            turns = 0;
        } else if (++turns >= needed && lock.isHeldOnceAlone()) {
            try {
                bias = new Bias(current);
            } catch (Throwable later) {
                return; // the caller is about to give the lock back, which must not fail for lack of memory
            }
            last = null;
            needed *= FACTOR;
        }
    }

    /** Takes a bias away. The caller has the lock, and then waits until the thread that had the bias is not busy. */
    private static void revoke(Bias other) {
        if (!other.isFenced) {
            other.revoked = true;
            Barrier.allThreads();
            other.isFenced = true;
        }
    }

    private void awaitLeft(Bias other) {
        for (int tries = 0; isBusy(other); tries++) {
            Backoff.pause(tries);
        }
        bias = null;
    }

    /** Returns true while the holder has the lock. A thread that has ended has not. */
    private static boolean isBusy(Bias other) {
        return other.busy && other.holder.isAlive();
    }
}
