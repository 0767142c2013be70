package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.Await;
import dev.verbena.support.OtherThread;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Condition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the lock that most objects have. Which threads it can be taken from is tested by {@code LivingOwnerTest}. */
@Timeout(120)
class MutexTest {
    private static final Duration SHORT = Duration.ofMillis(1);

    private final Mutex lock = new Mutex();

    private boolean isFreeForAnother() throws Throwable {
        return OtherThread.call(() -> {
            boolean taken = lock.tryLock();
            if (taken) {
                lock.unlock();
            }
            return taken;
        });
    }

    @Test
    void lockIsFreeAfterAsManyUnlocksAsLocks() throws Throwable {
        lock.lock();
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.held()).isSameAs(lock);
        for (int left = 3; left > 0; left--) {
            assertThat(isFreeForAnother()).isFalse();
            assertThat(lock.isLocked()).isTrue();
            assertThat(lock.isHeldByCurrentThread()).isTrue();
            assertThat(lock.owner()).isSameAs(Thread.currentThread());
            lock.close();
        }
        assertThat(isFreeForAnother()).isTrue();
        assertThat(lock.isLocked()).isFalse();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(lock.owner()).isNull();
    }

    @Test
    void unlockWithoutTheLockIsRefusedAndChangesNothing() throws Throwable {
        assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(lock::unlock);
        lock.lock();
        OtherThread.run(() ->
                assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(lock::unlock));
        assertThat(isFreeForAnother()).isFalse();
        OtherThread.run(() -> assertThat(lock.isHeldByCurrentThread()).isFalse());
        lock.unlock();
        assertThat(isFreeForAnother()).isTrue();
    }

    @Test
    void waitWithoutTimeTakesTheLockOnlyIfItIsFree() throws Throwable {
        assertThat(lock.tryLockWithin(Duration.ZERO)).isTrue();
        OtherThread.run(() -> assertThat(lock.tryLockWithin(Duration.ZERO)).isFalse());
        OtherThread.run(() -> assertThat(lock.tryLockWithin(SHORT)).isFalse());
        lock.unlock();
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void threadThatWaitsGetsTheLockOnce() throws Throwable {
        lock.lock();
        CountDownLatch taken = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        OtherThread<Thread> waiting = OtherThread.start(() -> {
            lock.lock();
            taken.countDown();
            over.await();
            lock.unlock();
            return Thread.currentThread();
        });
        Await.until("a thread waits", () -> !lock.isHeldOnceAlone());
        lock.unlock();
        taken.await();
        Thread owner = lock.owner();
        over.countDown();
        assertThat(waiting.join()).isSameAs(owner);
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void onlyAThreadThatHoldsTheLockOnceHoldsItOnceAlone() throws Throwable {
        assertThat(lock.isHeldOnceAlone()).isFalse();
        lock.lock();
        assertThat(lock.isHeldOnceAlone()).isTrue();
        OtherThread.run(() -> assertThat(lock.isHeldOnceAlone()).isFalse());
        lock.lock();
        assertThat(lock.isHeldOnceAlone()).isFalse();
    }

    /** An interrupt ends no wait for a lock. It is there again once the thread has the lock. */
    @Test
    void interruptIsKeptUntilTheLockIsTaken() throws Throwable {
        lock.lock();
        OtherThread<Boolean> waiting = OtherThread.start(() -> {
            Thread.currentThread().interrupt();
            lock.lock();
            lock.unlock();
            return Thread.interrupted();
        });
        Await.until("a thread waits", () -> !lock.isHeldOnceAlone());
        lock.unlock();
        assertThat(waiting.join()).isTrue();
    }

    @Test
    void waitWithoutAnInterruptSetsNone() throws Throwable {
        lock.lock();
        OtherThread<Boolean> waiting = OtherThread.start(() -> {
            lock.lock();
            lock.unlock();
            return Thread.interrupted();
        });
        Await.until("a thread waits", () -> !lock.isHeldOnceAlone());
        lock.unlock();
        assertThat(waiting.join()).isFalse();
    }

    /** The thread that signals holds the lock; a condition of another lock would refuse that. */
    @Test
    void conditionGivesTheLockBackWhileAThreadWaits() throws Throwable {
        Condition changed = lock.newCondition();
        OtherThread<Boolean> waiting = OtherThread.start(() -> {
            lock.lock();
            lock.lock();
            try {
                changed.await();
                return lock.isHeldByCurrentThread();
            } finally {
                lock.unlock();
                lock.unlock();
            }
        });
        Await.until("the thread waits", () -> signalled(changed));
        assertThat(waiting.join()).isTrue();
        assertThat(lock.isLocked()).isFalse();
    }

    private boolean signalled(Condition changed) {
        if (!lock.tryLock()) {
            return false;
        }
        try {
            changed.signal();
            return !lock.isHeldOnceAlone(); // the signalled thread is in the queue
        } finally {
            lock.unlock();
        }
    }
}
