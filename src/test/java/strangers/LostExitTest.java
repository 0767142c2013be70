package strangers;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.BiasedLock;
import dev.verbena.internal.Mutex;
import dev.verbena.support.Await;
import dev.verbena.support.OtherThread;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Locks whose owner left the library without giving them back, as a thread does whose stack is full. */
@Timeout(150)
class LostExitTest {
    private static final int LOOKS = 5_000;

    /** Has a thread do something, and calls for more while that thread lives on outside the library. */
    private static void whileOutside(Runnable first, Runnable then) throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        Thread other = new Thread(() -> {
            first.run();
            done.countDown();
            awaitEnd(over);
        });
        other.start();
        done.await();
        try {
            then.run();
        } finally {
            over.countDown();
            Await.end(other);
        }
    }

    private static void awaitEnd(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void mutexIsTakenFromAnOwnerThatIsOutside() throws InterruptedException {
        Mutex lock = new Mutex();
        whileOutside(lock::lock, () -> {
            lock.lock();
            assertThat(lock.isHeldByCurrentThread()).isTrue();
            lock.unlock();
            assertThat(lock.isLocked()).isFalse();
        });
    }

    @Test
    void triesFindAMutexWhoseOwnerIsOutside() throws InterruptedException {
        Mutex lock = new Mutex();
        whileOutside(lock::lock, () -> Await.until("the lock is free", lock::tryLock));
    }

    @Test
    void biasIsTakenFromAHolderThatIsOutside() throws InterruptedException {
        BiasedLock lock = new BiasedLock();
        whileOutside(
                () -> {
                    for (int i = 0; i < LOOKS; i++) {
                        lock.lock();
                        lock.unlock();
                    }
                    lock.lock();
                },
                () -> {
                    lock.lock();
                    lock.unlock();
                });
    }

    @Test
    void ownerThatIsInsideKeepsTheMutex() throws Throwable {
        Mutex lock = new Mutex();
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        OtherThread<Void> other = OtherThread.start(
                () -> { // its package begins with the library's name
                    lock.lock();
                    held.countDown();
                    awaitEnd(over);
                    lock.unlock();
                });
        held.await();
        for (int i = 0; i < LOOKS; i++) {
            assertThat(lock.tryLock()).isFalse();
        }
        over.countDown();
        other.join();
        assertThat(lock.tryLock()).isTrue();
    }
}
