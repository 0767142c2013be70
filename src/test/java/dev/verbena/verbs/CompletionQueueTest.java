package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.Loopback;
import dev.verbena.support.Mlx5Too;
import dev.verbena.support.TestDevice;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How many completions a queue holds, how they are fetched, and what ends a wait for them. */
@DeviceTest
@Mlx5Too
class CompletionQueueTest {
    private VerbsArena arena;
    private Context context;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofShared();
        context = TestDevice.get().open(arena);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4, 64, 100, 4095})
    void createGrantsAtLeastTheRequestedSize(int asked) {
        CompletionQueue queue = context.createCompletionQueue(asked);
        assertThat(queue.capacity()).isGreaterThanOrEqualTo(asked);
        assertThat(queue).hasToString("completion queue of " + context.device().name() + " for " + queue.capacity());
    }

    @Test
    @Fault("queue-size")
    void createNamesTheLimitForALargeSize() {
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> context.createCompletionQueue(1 << 30))
                .withMessageContaining("ibv_create_cq")
                .withMessageContaining("1073741824")
                .withMessageContaining("at most " + context.attributes().maxCompletions());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 30})
    void awaitEndsAtItsTimeoutWithAdvice(long milliseconds) {
        CompletionQueue queue = context.createCompletionQueue(4);
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> queue.await(Duration.ofMillis(milliseconds)))
                .withMessageContaining("ibv_poll_cq")
                .withMessageContaining("Waited " + milliseconds + " ms")
                .withMessageContaining("signaled");
    }

    @Test
    void awaitThrowsAtOnceInAnInterruptedThread() {
        CompletionQueue queue = context.createCompletionQueue(4);
        Thread.currentThread().interrupt();
        assertThatExceptionOfType(InterruptedException.class).isThrownBy(() -> queue.await(Loopback.DEADLINE));
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
    }

    /** A thread that waits for a completion which never comes. */
    private static final class Waiter {
        private final CountDownLatch begun = new CountDownLatch(1);
        private final CompletableFuture<WorkCompletion> result = new CompletableFuture<>();
        private final Thread thread;

        Waiter(CompletionQueue queue, Duration timeout) throws InterruptedException {
            thread = Thread.ofPlatform().daemon().start(() -> {
                begun.countDown();
                try {
                    result.complete(queue.await(timeout));
                } catch (Throwable t) {
                    result.completeExceptionally(t);
                }
            });
            begun.await();
        }

        Throwable failure() throws InterruptedException {
            thread.join(Loopback.DEADLINE);
            assertThat(result).as("the wait ended").isCompletedExceptionally();
            try {
                result.join();
            } catch (CompletionException e) {
                return e.getCause();
            }
            throw new AssertionError("no failure");
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {600, Long.MAX_VALUE})
    void interruptEndsTheWait(long seconds) throws InterruptedException {
        Waiter waiter = new Waiter(context.createCompletionQueue(4), Duration.ofSeconds(seconds));
        waiter.thread.interrupt();
        assertThat(waiter.failure()).isInstanceOf(InterruptedException.class);
    }

    @Test
    void closeEndsTheWait() throws InterruptedException {
        CompletionQueue queue = context.createCompletionQueue(4);
        Waiter waiter = new Waiter(queue, ChronoUnit.FOREVER.getDuration());
        queue.close();
        assertThat(waiter.failure()).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
    }

    @Test
    void cursorBelongsToItsFirstThread() throws Exception {
        Completions cursor = context.createCompletionQueue(4).completions(4);
        CompletableFuture.runAsync(cursor::poll).get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        assertThatExceptionOfType(WrongThreadException.class)
                .isThrownBy(cursor::poll)
                .withMessageContaining("one per thread");
    }

    @Test
    void pollReturnsCompletionsInOrder() {
        try (Loopback loopback = Loopback.connected()) {
            Loopback.Side left = loopback.left;
            SendBatch batch = left.pair.sendBatch(48);
            Completions done = left.queue.completions(7);
            long posted = 0;
            long seen = 0;
            for (int round = 0; round < 20; round++) {
                batch.clear();
                for (int i = 0; i < batch.capacity(); i++) {
                    batch.write(
                            posted++,
                            left.buffer.slice(i * 8L, 8),
                            loopback.right.buffer.slice(i * 8L, 8).remote());
                }
                batch.post();
                long deadline = System.nanoTime() + Loopback.DEADLINE.toNanos();
                while (seen < posted) {
                    assertThat(System.nanoTime()).as("completions came in time").isLessThan(deadline);
                    int found = done.poll();
                    assertThat(found).isBetween(0, 7);
                    int stepped = 0;
                    while (done.next()) {
                        assertThat(done.orThrow().id()).isEqualTo(seen++);
                        assertThat(done.opcode()).isEqualTo(WorkCompletion.Opcode.RDMA_WRITE);
                        assertThat(done.queuePairNumber()).isEqualTo(left.pair.number());
                        stepped++;
                    }
                    assertThat(stepped).isEqualTo(found);
                }
            }
            assertThat(seen).isEqualTo(960);
        }
    }

    @Test
    void pollDiscardsEarlierCompletionsOfTheCursor() throws Exception {
        try (Loopback loopback = Loopback.connected()) {
            Completions done = loopback.left.queue.completions(4);
            loopback.left.pair.postWrite(1, loopback.left.buffer.slice(0, 8), loopback.right.buffer.remote());
            long deadline = System.nanoTime() + Loopback.DEADLINE.toNanos();
            while (done.poll() == 0) {
                assertThat(System.nanoTime()).isLessThan(deadline);
            }
            assertThat(done.next()).isTrue();
            assertThat(done.next()).isFalse();
            assertThat(done.id()).as("it stays at the last").isEqualTo(1);
            assertThat(done.poll()).isZero();
            assertThat(done.next()).isFalse();
            assertThatIllegalStateException().isThrownBy(done::id);
        }
    }
}
