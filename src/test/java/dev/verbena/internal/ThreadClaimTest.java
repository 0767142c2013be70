package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Tests the claim of the first thread. */
class ThreadClaimTest {
    private static final int RIVALS = 3;
    private static final int ROUNDS = 2_000;

    private @Nullable Thread holder;
    private final ThreadClaim claim = new ThreadClaim(holderField());

    private static VarHandle holderField() {
        try {
            return MethodHandles.lookup().findVarHandle(ThreadClaimTest.class, "holder", Thread.class);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static void onAnotherThread(Runnable action) throws InterruptedException {
        Thread.ofPlatform().start(action).join();
    }

    @Test
    void claimBelongsToFirstThread() throws InterruptedException {
        assertThat(claim.make(this)).isNull();
        assertThat(claim.make(this)).as("a second time").isNull();
        assertThat(holder).isSameAs(Thread.currentThread());
        Thread first = Thread.currentThread();
        AtomicInteger checked = new AtomicInteger();
        onAnotherThread(() -> {
            assertThat(claim.make(this)).isSameAs(first);
            checked.incrementAndGet();
        });
        assertThat(checked).hasValue(1);
        assertThat(holder).isSameAs(first);
    }

    @Test
    void claimCanBeEnded() throws InterruptedException {
        onAnotherThread(() -> claim.make(this));
        assertThat(claim.make(this)).isNotNull();
        claim.end(this);
        assertThat(holder).isNull();
        assertThat(claim.make(this)).isNull();
    }

    @Test
    void claimOfEndedThreadIsReplaced() throws InterruptedException {
        Thread ended = Thread.ofPlatform().start(() -> claim.make(this));
        ended.join();
        assertThat(claim.make(this, Thread.currentThread()))
                .as("it belongs to another")
                .isSameAs(ended);
        assertThat(claim.make(this, ended)).isNull();
        assertThat(holder).isSameAs(Thread.currentThread());
    }

    /** The claim is ended and made anew in each round, by whichever thread is the first. */
    @Test
    void oneThreadMakesEachClaim() throws InterruptedException {
        AtomicInteger holders = new AtomicInteger();
        List<Integer> wrong = new ArrayList<>();
        CyclicBarrier begin = new CyclicBarrier(RIVALS);
        CyclicBarrier end = new CyclicBarrier(RIVALS, () -> {
            int made = holders.getAndSet(0);
            if (made != 1) {
                wrong.add(made);
            }
            claim.end(this);
        });
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < RIVALS; i++) {
            threads.add(Thread.ofPlatform().daemon().start(() -> {
                try {
                    for (int round = 0; round < ROUNDS; round++) {
                        begin.await();
                        if (claim.make(this) == null) {
                            holders.incrementAndGet();
                        }
                        end.await();
                    }
                } catch (InterruptedException | BrokenBarrierException e) {
                    throw new AssertionError(e);
                }
            }));
        }
        for (Thread thread : threads) {
            Await.end(thread);
        }
        assertThat(wrong)
                .as("rounds in which no thread, or more than one, made the claim")
                .isEmpty();
    }

    @Test
    void oneOfManyThreadsMakesTheClaim() throws InterruptedException {
        AtomicInteger holders = new AtomicInteger();
        CountDownLatch start = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            threads.add(Thread.ofPlatform().start(() -> {
                try {
                    start.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                if (claim.make(this) == null) {
                    holders.incrementAndGet();
                }
            }));
        }
        start.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(holders).hasValue(1);
    }
}
