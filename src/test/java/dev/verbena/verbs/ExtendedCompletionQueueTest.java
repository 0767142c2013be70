package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.Await;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Mlx5Too;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.support.Unsupported;
import java.util.EnumSet;
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

/** Extended completion queues: what their completions tell, and that polling them is sound. */
@DeviceTest
@Mlx5Too
class ExtendedCompletionQueueTest {
    private static final int EINVAL = 22;
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

    @AfterEach
    void close() {
        arena.close();
    }

    private CompletionQueue extended(CompletionField... fields) {
        return context.createCompletionQueue(CompletionQueueOptions.of(256).fields(fields));
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

    @Twin("test_cqex.CQEXAPITest.test_create_cq_ex")
    @ParameterizedTest
    @EnumSource
    void fieldIsGranted(CompletionField field) {
        CompletionQueue queue = CompletionField.standard().contains(field)
                ? extended(field)
                : Unsupported.orAborts("ibv_create_cq_ex", () -> extended(field), field.name());
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

    @Twin("test_cqex.CQEXAPITest.test_create_cq_ex_bad_flow")
    @Test
    void createRefusesSizesBeyondTheDevice() {
        int tooMany = context.attributes().maxCompletions() + 1;
        assertThatThrownBy(() -> context.createCompletionQueue(
                        CompletionQueueOptions.of(tooMany).fields(Set.of())))
                .isInstanceOfSatisfying(
                        VerbsException.class, e -> assertThat(e.errno()).isEqualTo(EINVAL))
                .hasMessageContaining("holds at most " + (tooMany - 1));
        CompletionQueueOptions wrongVector =
                CompletionQueueOptions.of(10).fields(Set.of()).completionVector(context.completionVectors() + 1);
        assertThatThrownBy(() -> context.createCompletionQueue(wrongVector))
                .isInstanceOfSatisfying(
                        VerbsException.class, e -> assertThat(e.errno()).isEqualTo(EINVAL));
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
    void pollOfAnEmptyQueueCanBeRepeated() {
        CompletionQueue queue = standard();
        QueuePair pair = toItself(queue);
        MemoryRegion buffer = buffer();
        ExtendedCompletions done = queue.extendedCompletions(4);
        for (int round = 0; round < 300; round++) { // more than the queue's ring holds
            for (int i = 0; i < 20; i++) {
                assertThat(done.poll()).isZero();
            }
            pair.postWrite(round, buffer.slice(0, 8), buffer.slice(8, 8).remote());
            assertThat(pollUntilFound(done)).isEqualTo(1);
            assertThat(done.next()).isTrue();
            assertThat(done.id()).isEqualTo(round);
            assertThat(done.isSuccess()).isTrue();
        }
    }

    @Test
    void shortCursorReadsManyCompletionsInPieces() {
        CompletionQueue queue = standard();
        QueuePair pair = toItself(queue);
        MemoryRegion buffer = buffer();
        for (int most = 1; most <= 9; most++) {
            ExtendedCompletions done = queue.extendedCompletions(most);
            for (int round = 0; round < 12; round++) {
                SendBatch batch = pair.sendBatch(8);
                for (int i = 0; i < 8; i++) {
                    batch.write(i, buffer.slice(0, 8), buffer.slice(8, 8).remote());
                }
                batch.post();
                for (int i = 0; i < 8; ) {
                    assertThat(pollUntilFound(done)).isBetween(1, most);
                    while (done.next()) {
                        assertThat(done.id()).isEqualTo(i++);
                    }
                }
                assertThat(done.poll()).as("a phantom").isZero();
            }
        }
    }

    @Test
    void plainAndExtendedCursorsAlternate() {
        CompletionQueue queue = standard();
        QueuePair pair = toItself(queue);
        MemoryRegion buffer = buffer();
        Completions[] cursors = {queue.completions(2), queue.extendedCompletions(2)};
        for (int i = 0; i < 100; i++) {
            pair.postWrite(i, buffer.slice(0, 8), buffer.slice(8, 8).remote());
            Completions cursor = cursors[i & 1];
            assertThat(pollUntilFound(cursor)).isEqualTo(1);
            cursor.next();
            assertThat(cursor.id()).isEqualTo(i);
        }
    }

    @Test
    void concurrentPollsReturnEachCompletionOnce() throws Exception {
        arena.close();
        open(VerbsArena.ofShared());
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

    @Test
    void plainQueueRefusesAnExtendedCursor() {
        CompletionQueue queue = context.createCompletionQueue(4);
        assertThatIllegalStateException()
                .isThrownBy(() -> queue.extendedCompletions(1))
                .withMessageContaining("CompletionQueueOptions.fields()");
    }

    @Test
    void createAcceptsNoFields() {
        CompletionQueue queue =
                context.createCompletionQueue(CompletionQueueOptions.of(4).fields(Set.of()));
        assertThat(queue.isExtended()).isTrue();
        assertThat(Set.copyOf(CompletionField.standard()))
                .isEqualTo(EnumSet.range(CompletionField.BYTE_LENGTH, CompletionField.PATH_BITS));
    }
}
