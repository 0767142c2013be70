package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Tests the claim of the first thread. */
class ThreadClaimTest {
    private final ThreadClaim claim = new ThreadClaim();

    private static void onAnotherThread(Runnable action) throws InterruptedException {
        Thread.ofPlatform().start(action).join();
    }

    @Test
    void claimBelongsToFirstThread() throws InterruptedException {
        assertThat(claim.isHeldByCurrentThread()).isFalse();
        assertThat(claim.isMine()).isTrue();
        assertThat(claim.isMine()).isTrue();
        assertThat(claim.isHeldByCurrentThread()).isTrue();
        assertThat(claim.make()).isNull();
        Thread first = Thread.currentThread();
        AtomicInteger checked = new AtomicInteger();
        onAnotherThread(() -> {
            assertThat(claim.isMine()).isFalse();
            assertThat(claim.make()).isSameAs(first);
            assertThat(claim.isHeldByCurrentThread()).isFalse();
            checked.incrementAndGet();
        });
        assertThat(checked).hasValue(1);
    }

    @Test
    void claimCanBeTakenAndEnded() throws InterruptedException {
        onAnotherThread(claim::isMine);
        assertThat(claim.isMine()).isFalse();
        claim.take();
        assertThat(claim.isMine()).isTrue();
        claim.end();
        assertThat(claim.isHeldByCurrentThread()).isFalse();
        onAnotherThread(claim::isMine);
        assertThat(claim.isMine()).isFalse();
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
                if (claim.isMine()) {
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
