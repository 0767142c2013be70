package dev.verbena.internal.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.Barrier;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.NativeLibraries;
import dev.verbena.support.Await;
import dev.verbena.support.LibraryCopy;
import dev.verbena.support.OtherThread;
import dev.verbena.support.SystemCallFilter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the lock that a thread takes again and again. */
@Timeout(120)
class BiasedLockTest {
    /** More turns in a row than the first two biases need. */
    private static final int MANY = 2_000;

    private static final int ROUNDS = 300;

    private final BiasedLock lock = new BiasedLock();
    private long turns;

    private void takeTurns(int number) {
        for (int i = 0; i < number; i++) {
            lock.lock();
            turns++;
            lock.unlock();
        }
    }

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
    void threadsThatTakeTurnsLoseNone() throws Throwable {
        AtomicBoolean over = new AtomicBoolean();
        OtherThread<Long> often = OtherThread.start(() -> {
            long mine = 0;
            while (!over.get()) {
                takeTurns(1);
                mine++;
            }
            return mine;
        });
        long others = 0;
        for (int i = 0; i < ROUNDS; i++) {
            int number = i % 3 == 0 ? 1 : i % 3 == 1 ? 100 : MANY; // with a bias or without
            takeTurns(number);
            others += number;
            Thread.yield();
        }
        over.set(true);
        long mine = often.join(); // first: until then it takes turns
        assertThat(turns).isEqualTo(others + mine);
    }

    @Test
    void threadWithBiasSeesWhatOthersHaveDone() throws Throwable {
        takeTurns(MANY);
        OtherThread.run(() -> takeTurns(MANY));
        takeTurns(MANY);
        assertThat(turns).isEqualTo(3 * MANY);
    }

    @Test
    void lockIsTakenAgainByItsThread() throws Throwable {
        for (int before : new int[] {0, MANY}) {
            takeTurns(before);
            lock.lock();
            lock.lock();
            assertThat(lock.tryLock()).isTrue();
            lock.unlock();
            lock.unlock();
            assertThat(isFreeForAnother())
                    .as("once more, after %d turns", before)
                    .isFalse();
            lock.unlock();
            assertThat(isFreeForAnother()).isTrue();
        }
    }

    @Test
    void tryLockDoesNotWait() throws Throwable {
        takeTurns(MANY);
        lock.lock();
        assertThat(isFreeForAnother()).isFalse();
        assertThat(isFreeForAnother()).as("the bias is revoked already").isFalse();
        lock.unlock();
        lock.lock(); // the thread finds that it has lost its bias
        assertThat(isFreeForAnother()).isFalse();
        lock.unlock();
        assertThat(isFreeForAnother()).isTrue();
    }

    @Test
    void lockWaitsForThreadWithBias() throws Throwable {
        takeTurns(MANY);
        lock.lock();
        List<String> events = new ArrayList<>();
        CountDownLatch begun = new CountDownLatch(1);
        Thread[] waiting = new Thread[1];
        OtherThread<Void> other = OtherThread.start(() -> {
            waiting[0] = Thread.currentThread();
            begun.countDown();
            lock.lock();
            events.add("other");
            lock.unlock();
        });
        begun.await();
        Await.until("the other thread pauses", () -> waiting[0].getState() == Thread.State.TIMED_WAITING);
        events.add("first");
        lock.unlock();
        other.join();
        assertThat(events).containsExactly("first", "other");
    }

    @Test
    void lockOfAThreadThatHasEndedIsFree() throws Throwable {
        OtherThread.run(() -> {
            takeTurns(MANY); // enough for a bias
            lock.lock();
        });
        lock.lock();
        assertThat(isFreeForAnother()).isFalse();
        lock.unlock();
        assertThat(isFreeForAnother()).isTrue();
    }

    /** Takes a bias away in a thread that may not use {@code membarrier}: the library does without it once it has tried. */
    static final class Revoked implements Callable<String> {
        @Override
        public String call() throws Exception {
            new CFunction(NativeLibraries.C, "getpid").find(); // processes that call C use the system call
            Barrier.prepare();
            BiasedLockTest test = new BiasedLockTest();
            test.takeTurns(MANY);
            boolean before = Barrier.isSystemCall();
            Await.end(Thread.ofPlatform().start(() -> {
                SystemCallFilter.forbidMembarrierHere();
                test.takeTurns(1);
            }));
            return "system call " + before + ", then " + Barrier.isSystemCall();
        }
    }

    /** Without the fence, two threads could have the lock: a fault that no number of turns has shown on x86-64. */
    @Test
    void biasIsTakenAwayWithAFenceOfAllThreads() {
        assertThat(LibraryCopy.call(Revoked.class, Map.of())).isEqualTo("system call true, then false");
    }
}
