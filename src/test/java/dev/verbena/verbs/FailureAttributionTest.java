package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.verbena.VerbsArena;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whose request failed: of queue pairs that share a completion queue, and of those that have a number one after the other. */
@FencedTest
class FailureAttributionTest {
    private static final int NUMBER = 0x4711;
    private static final int DEPTH = 16;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final VerbsArena arena = VerbsArena.ofConfined();
    private final Context context = TestDevice.get().open(arena);
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final CompletionQueue queue = context.createCompletionQueue(256);
    private final CompletionQueue peerQueue = context.createCompletionQueue(256);
    private MemoryRegion buffer;
    private QueuePair peer;

    @BeforeEach
    void register() {
        buffer = domain.register(arena.allocate(4096, 64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    /** A queue pair that is connected to a peer with another completion queue. */
    private QueuePair connected(CompletionQueue completions) {
        QueuePair pair = domain.createQueuePair(
                QueuePair.rc(completions).sendDepth(DEPTH).receiveDepth(DEPTH));
        connect(pair);
        return pair;
    }

    private void connect(QueuePair pair) {
        if (peer != null) {
            peer.close();
        }
        peer = domain.createQueuePair(QueuePair.rc(peerQueue));
        pair.connect(peer.endpoint());
        peer.connect(pair.endpoint());
    }

    /** Posts a write that the peer refuses, because the key is wrong. */
    private void failingWrite(QueuePair pair, long id) {
        pair.postWrite(id, buffer.slice(0, 8), new RemoteMemory(buffer.address(), 0, 8));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void cursorTellsQueuePairAndOperationOfAFailure(boolean extended) {
        CompletionQueueOptions standard = CompletionQueueOptions.of(8).fields(CompletionField.standard());
        CompletionQueue completions = extended ? context.createCompletionQueue(standard) : queue;
        Completions done = extended ? completions.extendedCompletions(DEPTH) : completions.completions(DEPTH);
        QueuePair first = connected(completions);
        first.postWrite(9, buffer.slice(0, 8), buffer.remote());
        QueuePair second = connected(completions);
        second.postReceive(7, buffer);
        failingWrite(second, 8);

        Await.until("three completions", () -> done.poll() == 3);
        boolean[] seen = new boolean[10];
        while (done.next()) {
            int id = (int) done.id();
            seen[id] = true;
            assertThat(done.queuePair()).as("of %s", id).isSameAs(id < 9 ? second : first);
            Operation expected = switch (id) {
                case 7 -> Operation.RECEIVE;
                case 8 -> Operation.RDMA_WRITE;
                default -> null; // successes have opcode()
            };
            assertThat(done.operation()).as("of %s", id).isEqualTo(expected);
            assertThat(done.operation()).isEqualTo(done.completion().operation());
        }
        assertThat(seen).endsWith(true, true, true);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void queuePairThatIsClosedOrHasNoNumberIsNotTold(boolean closed) {
        CompletionQueueOptions numberless = CompletionQueueOptions.of(8).fields(CompletionField.BYTE_LENGTH);
        CompletionQueue completions = closed ? queue : context.createCompletionQueue(numberless);
        Completions done = closed ? completions.completions(2) : completions.extendedCompletions(2);
        QueuePair pair = connected(completions);
        failingWrite(pair, 1);
        assertThat(done.poll()).isEqualTo(1);
        if (closed) {
            pair.close();
        }
        assertThat(done.next()).isTrue();
        assertThat(done.queuePair()).isNull();
        assertThat(done.operation()).isNull();
    }

    @Test
    void attributionOfFlushesAllocatesNothing() {
        Completions done = queue.completions(DEPTH);
        QueuePair pair = connected(queue);
        ReceiveBatch receives = pair.receiveBatch(DEPTH);
        for (int i = 0; i < DEPTH; i++) {
            receives.receive(i);
        }
        pair.fail();
        long least = Long.MAX_VALUE;
        long end = System.nanoTime() + Loopback.DEADLINE.toNanos();
        while (least > 0 && System.nanoTime() < end) { // until the code is warm
            long allocated = 0;
            for (int round = 0; round < 200; round++) {
                receives.post();
                assertThat(done.poll()).isEqualTo(DEPTH);
                long before = THREADS.getCurrentThreadAllocatedBytes();
                attribute(done, pair);
                allocated += THREADS.getCurrentThreadAllocatedBytes() - before;
            }
            least = Math.min(least, allocated);
        }
        assertThat(least).isZero();
    }

    private static void attribute(Completions done, QueuePair pair) {
        while (done.next()) {
            if (done.queuePair() != pair || done.operation() != Operation.RECEIVE) {
                throw new AssertionError(done.completion());
            }
        }
    }

    /** The old completion is still in the queue when the new queue pair is made. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void completionOfAClosedQueuePairDoesNotFailTheNextWithItsNumber(boolean fetched) {
        Completions done = queue.completions(DEPTH);
        Fenced.nextNumber(NUMBER);
        QueuePair old = connected(queue);
        failingWrite(old, 1);
        failingWrite(old, 2); // flushed
        if (fetched) {
            assertThat(done.poll()).isEqualTo(2);
        }
        old.close();
        peer.close();
        Fenced.nextNumber(NUMBER);
        QueuePair pair = connected(queue);
        assertThat(pair.number()).isEqualTo(NUMBER);
        pair.postReceive(1, buffer); // an id that the old one had as well

        if (!fetched) {
            assertThat(done.poll()).isEqualTo(2);
        }
        for (WorkStatus status : new WorkStatus[] {WorkStatus.REMOTE_ACCESS_ERROR, WorkStatus.WORK_REQUEST_FLUSHED}) {
            assertThat(done.next()).isTrue();
            assertThat(done.status()).isEqualTo(status);
            assertThat(done.queuePair()).isNull();
            assertThat(done.operation()).isNull();
            assertThat(done.completion().firstFailure()).isNull();
        }
        assertThat(pair.state()).isEqualTo(QueuePairState.RTS);
        assertThat(pair.states.firstFailure()).isNull();

        failingWrite(pair, 3);
        assertThat(done.poll()).isEqualTo(2); // with the receive
        assertThat(done.next()).isTrue();
        assertThat(done.queuePair()).isSameAs(pair);
        assertThat(done.next()).isTrue();
        assertThat(pair.state()).isEqualTo(QueuePairState.ERR);
        assertThat(pair.states.firstFailure()).isNotNull();
        assertThat(pair.states.firstFailure().id()).isEqualTo(3);
    }

    @Test
    void completionFromBeforeAResetDoesNotFailTheQueuePair() {
        Completions done = queue.completions(DEPTH);
        QueuePair pair = connected(queue);
        failingWrite(pair, 1);
        assertThat(done.poll()).isEqualTo(1);
        pair.reset();
        connect(pair);
        assertThat(done.next()).isTrue();
        assertThat(pair.state()).isEqualTo(QueuePairState.RTS);
        assertThat(pair.states.firstFailure()).isNull();
    }

    @Test
    void resetForgetsPostedRequests() {
        QueuePair pair = connected(queue);
        pair.postSend(1, buffer.slice(0, 8)); // waits for a receive
        pair.postReceive(2, buffer);
        assertThat(pair.posted.sends().find(1)).isEqualTo(Operation.SEND);
        assertThat(pair.posted.ownReceives().find(2)).isEqualTo(Operation.RECEIVE);
        pair.reset();
        assertThat(pair.posted.sends().find(1)).isNull();
        assertThat(pair.posted.ownReceives().find(2)).isNull();
        assertThat(pair.posted.hasSends()).isFalse();
        assertThat(pair.posted.hasOwnReceives()).isFalse();
    }
}
