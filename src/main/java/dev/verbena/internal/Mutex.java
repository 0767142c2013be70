package dev.verbena.internal;

import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/**
 * A reentrant lock that a {@code try} statement holds: {@code try (var _ = lock.held()) { ... }}.
 *
 * <p>{@code synchronized} would do the same, but pins virtual threads before JDK 24. Where a lock is released within its
 * block, or lies in a path where each frame counts, {@link #lock} and {@link #unlock} remain.
 *
 * <p>Unlike {@link java.util.concurrent.locks.ReentrantLock}, the lock is taken from a thread whose stack had no room for
 * the release: see {@link LostExit}. A thread that waits suspects the owner and looks at its stack twice. An owner that
 * comes between the looks takes the lock again only once it is no longer suspected.
 */
public final class Mutex implements AutoCloseable {
    private static final long PATIENCE_NANOS = 200_000_000;

    private final State state = new State();

    /** The number of tries that found another thread. It may miss some. */
    private int refused;

    private static final class State extends AbstractQueuedSynchronizer {
        private static final long serialVersionUID = 1;

        /** The owner, while a thread that waits looks whether it is outside. */
        private transient volatile @Nullable Thread suspect;

        @Override
        protected boolean tryAcquire(int turns) {
            Thread current = Thread.currentThread();
            int before = getState();
            if (before == 0) {
                if (!compareAndSetState(0, turns)) {
                    return false;
                }
                setExclusiveOwnerThread(current);
                return true;
            }
            if (getExclusiveOwnerThread() != current) {
                return false;
            }
            while (suspect == current) {
                Thread.onSpinWait();
            }
            if (getExclusiveOwnerThread() != current) {
                return false; // taken, because an earlier turn was never given back
            }
            setState(before + turns);
            return true;
        }

        @Override
        protected boolean tryRelease(int turns) {
            if (!isHeldExclusively()) {
                throw new IllegalMonitorStateException("this thread does not hold the lock");
            }
            int left = getState() - turns;
            if (left == 0) {
                setExclusiveOwnerThread(null);
            }
            setState(left);
            return left == 0;
        }

        @Override
        protected boolean isHeldExclusively() {
            return getExclusiveOwnerThread() == Thread.currentThread();
        }

        /** Takes the lock from an owner that left without giving it back. Returns false if no thread did that. */
        boolean takeFromLost() {
            Thread owner = getExclusiveOwnerThread();
            if (getState() == 0 || owner == null || !LostExit.isOutside(owner)) {
                return false;
            }
            synchronized (this) {
                suspect = owner;
                try {
                    if (getExclusiveOwnerThread() != owner || getState() == 0 || !LostExit.isOutside(owner)) {
                        return false;
                    }
                    setExclusiveOwnerThread(Thread.currentThread());
                    setState(1);
                    return true;
                } finally {
                    suspect = null;
                }
            }
        }

        boolean isLocked() {
            return getState() != 0;
        }

        int turns() {
            return isHeldExclusively() ? getState() : 0;
        }
    }

    /** Makes a lock that no thread holds. */
    public Mutex() {}

    /** Takes this lock, and waits for that. Closing the result, which is this lock, releases it. */
    public Mutex held() {
        lock();
        return this;
    }

    /** Releases this lock at the end of the {@code try} statement. */
    @Override
    public void close() {
        unlock();
    }

    /** Takes this lock, and waits for that. */
    public void lock() {
        if (!state.tryAcquire(1)) {
            lockLater();
        }
    }

    private void lockLater() {
        boolean interrupted = false;
        boolean taken = false;
        while (!taken) {
            try {
                taken = state.tryAcquireNanos(1, PATIENCE_NANOS) || state.takeFromLost();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Takes this lock if no other thread has it. */
    public boolean tryLock() {
        return state.tryAcquire(1) || (LostExit.isTimeToLook(refused++) && state.takeFromLost());
    }

    /** Gives this lock back. */
    public void unlock() {
        state.release(1);
    }

    /** Returns true while a thread has this lock. */
    public boolean isLocked() {
        return state.isLocked();
    }

    /** Returns true if the calling thread has this lock. */
    public boolean isHeldByCurrentThread() {
        return state.turns() > 0;
    }

    /** Returns true if the calling thread has this lock, has taken it once, and no other thread waits for it. */
    boolean isHeldOnceAlone() {
        return state.turns() == 1 && !state.hasQueuedThreads();
    }

    /** Returns a condition of this lock. */
    public Condition newCondition() {
        return state.new ConditionObject();
    }
}
