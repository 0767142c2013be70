package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Await;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.Loopback;
import dev.verbena.support.Mlx5Too;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.support.Unsupported;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How many completions plain and extended queues hold, how they are fetched, and what ends a wait for them. */
@DeviceTest
@Mlx5Too
class CompletionQueueTest {
    private static final int SIZE = 4096;

    private VerbsArena arena;
    private Context context;
    private ProtectionDomain domain;

    @BeforeEach
    void open() {
        open(VerbsArena.ofConfined());
    }

    private void open(VerbsArena in) {
        arena = in;
        context = TestDevice.get().open(arena);
        domain = context.allocateProtectionDomain();
    }

    private void reopenForManyThreads() {
        arena.close();
        open(VerbsArena.ofShared());
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private CompletionQueue standard() {
        return context.createCompletionQueue(CompletionQueueOptions.of(256).fields(CompletionField.standard()));
    }

    /** A queue pair that is connected to itself: what it sends it receives. */
    private QueuePair toItself(CompletionQueue queue) {
        QueuePair pair = domain.createQueuePair(QueuePair.rc(queue));
        pair.connect(pair.endpoint());
        return pair;
    }

    private MemoryRegion buffer() {
        return domain.register(arena.allocate(SIZE, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    }

    private static int pollUntilFound(Completions cursor) {
        int[] found = new int[1];
        Await.until("a completion", () -> (found[0] = cursor.poll()) > 0);
        return found[0];
    }

    // Queues

    @ParameterizedTest
    @ValueSource(ints = {1, 4, 64, 100, 4095})
    void createGrantsAtLeastTheRequestedSize(int asked) {
        CompletionQueueOptions options = CompletionQueueOptions.of(asked);
        CompletionQueue plain = context.createCompletionQueue(options);
        CompletionQueue extended = context.createCompletionQueue(options.fields(Set.of()));
        assertThat(extended.isExtended()).isTrue();
        assertThat(plain.capacity()).isGreaterThanOrEqualTo(asked);
        assertThat(extended.capacity()).isGreaterThanOrEqualTo(asked);
        String name = "completion queue of " + context.device().name() + " for ";
        assertThat(plain).hasToString(name + plain.capacity());
        assertThat(extended).hasToString("extended " + name + extended.capacity());
    }

    @Twin("test_cqex.CQEXAPITest.test_create_cq_ex")
    @ParameterizedTest
    @EnumSource
    void fieldIsGranted(CompletionField field) {
        CompletionQueueOptions options = CompletionQueueOptions.of(256).fields(field);
        CompletionQueue queue = CompletionField.standard().contains(field)
                ? context.createCompletionQueue(options)
                : Unsupported.orAborts("ibv_create_cq_ex", () -> context.createCompletionQueue(options), field.name());
        assertThat(queue.isExtended()).isTrue();
        assertThat(queue.capacity()).isGreaterThanOrEqualTo(256);
        queue.close();
    }

    @Twin("test_cqex.CQEXAPITest.test_create_cq_ex")
    @ParameterizedTest
    @EnumSource
    void flagIsGranted(CompletionQueueOptions.Flag flag) {
        CompletionQueueOptions options = flag == CompletionQueueOptions.Flag.SINGLE_THREADED
                ? CompletionQueueOptions.of(10).singleThreaded()
                : CompletionQueueOptions.of(10).ignoreOverrun();
        CompletionQueue queue =
                Unsupported.orAborts("ibv_create_cq_ex", () -> context.createCompletionQueue(options), flag.name());
        assertThat(queue.isExtended()).isTrue();
        queue.close();
    }

    private void assertInvalid(CompletionQueueOptions options, String words) {
        assertThrows(VerbsException.class, "ibv_create_cq", () -> context.createCompletionQueue(options))
                .hasMessageContaining(words)
                .hasMessageContaining(
                        "holds at most %d and has %d completion vectors",
                        context.attributes().maxCompletions(), context.completionVectors())
                .extracting(refused -> ((VerbsException) refused).errno())
                .isEqualTo(Errno.EINVAL);
    }

    @Twin("test_cqex.CQEXAPITest.test_create_cq_ex_bad_flow")
    @Fault("queue-size")
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void createRefusesWhatIsBeyondTheDevice(boolean extended) {
        int tooMany = context.attributes().maxCompletions() + 1;
        for (int size : new int[] {tooMany, 1 << 30}) {
            CompletionQueueOptions large = CompletionQueueOptions.of(size);
            assertInvalid(extended ? large.fields(Set.of()) : large, String.valueOf(size));
        }
        CompletionQueueOptions wrong = CompletionQueueOptions.of(10).completionVector(context.completionVectors() + 1);
        assertInvalid(extended ? wrong.fields(Set.of()) : wrong, "");
    }

    // Waits without a channel

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

    /** Starts a thread that waits for a completion which never comes. */
    private static OtherThread<WorkCompletion> waiter(CompletionQueue queue, Duration timeout) {
        OtherThread<WorkCompletion> waiter = OtherThread.start(() -> queue.await(timeout));
        Await.until("the wait", () -> Await.isIn(waiter.thread(), CompletionQueue.class.getName(), "await"));
        return waiter;
    }

    @ParameterizedTest
    @ValueSource(longs = {600, Long.MAX_VALUE})
    void interruptEndsTheWait(long seconds) {
        reopenForManyThreads();
        OtherThread<WorkCompletion> waiter = waiter(context.createCompletionQueue(4), Duration.ofSeconds(seconds));
        waiter.thread().interrupt();
        assertThat(waiter.failure()).isInstanceOf(InterruptedException.class);
    }

    @Test
    void closeEndsTheWait() {
        reopenForManyThreads();
        CompletionQueue queue = context.createCompletionQueue(4);
        OtherThread<WorkCompletion> waiter = waiter(queue, ChronoUnit.FOREVER.getDuration());
        queue.close();
        assertThat(waiter.failure()).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
    }

    // Cursors

    @Test
    void cursorBelongsToItsFirstThread() throws Exception {
        reopenForManyThreads();
        Completions cursor = context.createCompletionQueue(4).completions(4);
        OtherThread.run(cursor::poll);
        assertThrows(WrongThreadException.class, "one per thread", cursor::poll);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void cursorReadsManyCompletionsInOrderAndInPieces(boolean extended) {
        CompletionQueue queue = extended ? standard() : context.createCompletionQueue(256);
        QueuePair pair = toItself(queue);
        MemoryRegion buffer = buffer();
        SendBatch batch = pair.sendBatch(8);
        for (int most = 1; most <= 9; most++) {
            Completions done = extended ? queue.extendedCompletions(most) : queue.completions(most);
            for (int round = 0; round < 12; round++) {
                batch.clear();
                for (int i = 0; i < 8; i++) {
                    batch.write(i, buffer.slice(0, 8), buffer.slice(8, 8).remote());
                }
                batch.post();
                for (int i = 0; i < 8; ) {
                    int found = pollUntilFound(done);
                    assertThat(found).isBetween(1, most);
                    for (; found > 0; found--) {
                        assertThat(done.next()).isTrue();
                        assertThat(done.orThrow().id()).isEqualTo(i++);
                        assertThat(done.opcode()).isEqualTo(WorkCompletion.Opcode.RDMA_WRITE);
                        assertThat(done.queuePairNumber()).isEqualTo(pair.number());
                    }
                    assertThat(done.next()).isFalse();
                }
                assertThat(done.poll()).as("a phantom").isZero();
            }
        }
    }

    @Test
    void emptyQueueCanBePolledAgainByCursorsInTurn() {
        CompletionQueue queue = standard();
        QueuePair pair = toItself(queue);
        MemoryRegion buffer = buffer();
        List<Completions> cursors = List.of(queue.completions(2), queue.extendedCompletions(4));
        for (int round = 0; round < 300; round++) { // more than the queue's ring holds
            for (int i = 0; i < 20; i++) {
                cursors.forEach(each -> assertThat(each.poll()).isZero());
            }
            pair.postWrite(round, buffer.slice(0, 8), buffer.slice(8, 8).remote());
            Completions done = cursors.get(round & 1);
            assertThat(pollUntilFound(done)).isEqualTo(1);
            assertThat(done.next()).isTrue();
            assertThat(done.orThrow().id()).isEqualTo(round);
        }
    }

    @Twin("test_cqex.CqExTestCase.test_rc_traffic_cq_ex")
    @Test
    void cursorReadsTheStandardFields() {
        CompletionQueue queue = standard();
        QueuePair pair = toItself(queue);
        MemoryRegion buffer = buffer();
        ExtendedCompletions done = queue.extendedCompletions(4);
        for (int i = 0; i < 20; i++) {
            pair.postReceive(100 + i, buffer.slice(1024, 1024));
            pair.postSendImmediate(200 + i, buffer.slice(0, 100 + i), i);
            int ends = 0;
            while (ends < 2) {
                ends += pollUntilFound(done);
                while (done.next()) {
                    done.orThrow();
                    assertThat(done.queuePairNumber()).isEqualTo(pair.number());
                    if (done.isReceive()) {
                        assertThat(done.id()).isEqualTo(100 + i);
                        assertThat(done.opcode()).isEqualTo(WorkCompletion.Opcode.RECEIVE);
                        assertThat(done.byteLength()).isEqualTo(100 + i);
                        assertThat(done.hasImmediate()).isTrue();
                        assertThat(done.immediate()).isEqualTo(i);
                    } else {
                        assertThat(done.id()).isEqualTo(200 + i);
                        assertThat(done.opcode()).isEqualTo(WorkCompletion.Opcode.SEND);
                    }
                }
            }
        }
        assertThat(done.poll()).isZero();
    }

    @Test
    void failedCompletionIsNotedForItsQueuePair() {
        CompletionQueue queue = standard();
        QueuePair pair = domain.createQueuePair(QueuePair.rc(queue));
        QueuePair peer = domain.createQueuePair(QueuePair.rc(context.createCompletionQueue(4)));
        pair.connect(peer.endpoint());
        peer.connect(pair.endpoint());
        MemoryRegion buffer = buffer();
        pair.postWrite(1, buffer.slice(0, 8), new RemoteMemory(buffer.address(), ~buffer.remoteKey(), 8));
        ExtendedCompletions done = queue.extendedCompletions(8);
        pollUntilFound(done);
        done.next();

        assertThat(done.status()).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
        assertThat(done.completion().operation()).isEqualTo(Operation.RDMA_WRITE);
        assertThat(pair.firstError())
                .hasValueSatisfying(first -> assertThat(first.id()).isEqualTo(1));
    }

    @Test
    void concurrentPollsReturnEachCompletionOnce() throws Exception {
        reopenForManyThreads();
        int count = 200;
        CompletionQueue queue = standard();
        QueuePair pair = toItself(queue);
        MemoryRegion buffer = buffer();
        AtomicIntegerArray seen = new AtomicIntegerArray(count);
        Semaphore room = new Semaphore(48);
        AtomicInteger left = new AtomicInteger(count);
        AtomicBoolean failed = new AtomicBoolean();
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 3; i++) {
            Completions cursor = i == 2 ? queue.completions(3) : queue.extendedCompletions(1 + 3 * i);
            threads[i] = Thread.ofPlatform().daemon().start(() -> {
                while (left.get() > 0 && !failed.get()) {
                    if (cursor.poll() == 0) {
                        Thread.yield();
                    }
                    while (cursor.next()) {
                        if (!cursor.isSuccess()) {
                            failed.set(true);
                        }
                        seen.incrementAndGet((int) cursor.id());
                        left.decrementAndGet();
                        room.release();
                    }
                }
            });
        }
        threads[3] = Thread.ofPlatform().daemon().start(() -> {
            while (left.get() > 0 && !failed.get()) {
                System.gc(); // a safepoint, which must be reached also while one of them holds the driver's lock
                LockSupport.parkNanos(20_000_000);
            }
        });
        for (int i = 0; i < count; i++) {
            assertThat(room.tryAcquire(60, TimeUnit.SECONDS)).isTrue();
            pair.postWrite(i, buffer.slice(0, 8), buffer.slice(8, 8).remote());
        }
        for (Thread thread : threads) {
            assertThat(thread.join(Loopback.DEADLINE)).isTrue();
        }
        assertThat(failed).isFalse();
        for (int i = 0; i < count; i++) {
            assertThat(seen.get(i)).as("completion %d", i).isEqualTo(1);
        }
    }
}
