package dev.verbena.internal;

import java.time.Duration;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/**
 * A reentrant lock that a {@code try} statement holds: {@code try (var _ = lock.held()) { ... }}.
 *
 * <p>{@code synchronized} would do the same, but pins virtual threads before JDK 24. Where a lock is released within its
 * block, or lies in a path where each frame counts, {@link #lock} and {@link #unlock} remain.
 *
 * <p>The lock is never taken from a thread that lives. So a thread makes sure first that its stack has room to give the lock
 * back. {@link java.util.concurrent.locks.ReentrantLock} would not do: where the stack ends in its method that takes the
 * lock, HotSpot lets the method end first, and throws then. The thread has the lock, and does not know.
 */
public final class Mutex implements AutoCloseable {
    /** The time after which a thread that waits looks again: the owner may have ended, or had no stack to wake a thread. */
    private static final long LOOK_NANOS = 200_000_000;

    private final State state = new State();

    /** The name of this lock in {@link LockOrder}; empty if that is off. */
    private String name = "";

    private static final class State extends AbstractQueuedSynchronizer {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean tryAcquire(int turns) {
            int before = getState();
            if (before == 0 && compareAndSetState(0, turns)) {
                setExclusiveOwnerThread(Thread.currentThread());
                return true;
            }
            if (before == 0 || !isHeldExclusively()) {
                return false;
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

        /** Takes the lock from a thread that has ended. Returns false if no such thread has it. */
        boolean takeFromEnded() {
            Thread ended = owner();
            return ended != null && !ended.isAlive() && takeFrom(ended);
        }

        private synchronized boolean takeFrom(Thread ended) {
            if (owner() != ended) {
                return false;
            }
            setExclusiveOwnerThread(Thread.currentThread());
            setState(1);
            return true;
        }

        @Nullable
        Thread owner() {
            return getState() == 0 ? null : getExclusiveOwnerThread();
        }

        int turns() {
            return isHeldExclusively() ? getState() : 0;
        }
    }

    /** Makes a lock that no thread holds. */
    public Mutex() {
        StackRoom.forExit(); // links what must not be linked at the end of a stack
        if (LockOrder.ON) {
            name = LockOrder.maker();
        }
    }

    /** Names this lock after the class of what it guards. */
    public void guards(Object guarded) {
        if (LockOrder.ON) {
            name = guarded.getClass().getSimpleName();
        }
    }

    String name() {
        return name;
    }

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
        if (LockOrder.ON) {
            LockOrder.wants(this);
        }
        if (!tryLock()) {
            tryLockWithin(Deadline.FOREVER);
        }
    }

    /** Takes this lock if no other thread has it. */
    public boolean tryLock() {
        StackRoom.forExit();
        boolean taken = state.tryAcquire(1) || state.takeFromEnded();
        if (LockOrder.ON && taken) {
            LockOrder.took(this);
        }
        return taken;
    }

    /** Takes this lock, and waits for that. Returns false if another thread has it when the time is over. */
    public boolean tryLockWithin(Duration limit) {
        StackRoom.check();
        if (LockOrder.ON) {
            LockOrder.wants(this);
        }
        long start = System.nanoTime();
        long left = Deadline.nanoseconds(limit);
        boolean interrupted = false;
        boolean taken = tryLock();
        while (!taken && left > 0) {
            try {
                taken = state.tryAcquireNanos(1, Math.min(left, LOOK_NANOS)) || tryLock();
                left = Deadline.nanoseconds(limit) - (System.nanoTime() - start);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (LockOrder.ON && taken) {
            LockOrder.took(this);
        }
        return taken;
    }

    /** Gives this lock back. */
    public void unlock() {
        state.release(1);
    }

    /** Returns true while a thread has this lock. */
    public boolean isLocked() {
        return owner() != null;
    }

    /** Returns true if the calling thread has this lock. */
    public boolean isHeldByCurrentThread() {
        return state.turns() > 0;
    }

    /** Returns the thread that has this lock, for messages; null if there is none. */
    public @Nullable Thread owner() {
        return state.owner();
    }

    /** Returns true if the calling thread has this lock, has taken it once, and no other thread waits for it. */
    public boolean isHeldOnceAlone() {
        return state.turns() == 1 && !state.hasQueuedThreads();
    }

    /** Returns a condition of this lock. */
    public Condition newCondition() {
        return state.new ConditionObject();
    }
}
