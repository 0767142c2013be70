package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.VerbsArena;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.Loopback;
import dev.verbena.support.Mlx5Too;
import dev.verbena.support.Twin;
import dev.verbena.verbs.QueuePairOptions.OfferedOperation;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a plain and an extended queue pair refuse when it is posted, of which nothing reaches the adapter, and posts of many
 * threads. {@link RefusedRequestsTest} has each refusal.
 */
@DeviceTest
@Mlx5Too
class PostingTest {
    private Loopback loopback;
    private Loopback.Side left;
    private Loopback.Side right;

    private void connect(boolean extended, VerbsArena arena) {
        loopback = Loopback.connected(
                arena,
                QueuePairAttributes.none(),
                options -> options(options, extended).sendDepth(128).inlineSize(64));
        left = loopback.left;
        right = loopback.right;
    }

    private static QueuePairOptions options(QueuePairOptions options, boolean extended) {
        return extended ? options.operations(OfferedOperation.usual(QueuePairType.RC)) : options;
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    /** No completion and no failure comes of them, and the next request is carried out. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Fault({"misaligned-atomic", "long-inline", "foreign-local-key"})
    @Twin({
        "test_atomic.AtomicTest.test_atomic_non_aligned_addr",
        "test_qpex.QpExTestCase.test_post_receive_qp_state_bad_flow",
        "test_qpex.QpExTestCase.test_post_send_qp_state_bad_flow",
        "test_qpex.QpExTestCase.test_rq_with_larger_sgl_bad_flow"
    })
    void refusedRequestsReachNoAdapter(boolean extended) throws Exception {
        connect(extended, VerbsArena.ofConfined());
        MemorySegment tooLong =
                MemorySegment.ofArray(new byte[left.pair.capabilities().inlineSize() + 1]);
        MemoryRegion foreign =
                loopback.context.allocateProtectionDomain().register(loopback.arena.allocate(64, 64), LOCAL_WRITE);
        RemoteMemory there = right.buffer.slice(4, 8).remote();
        QueuePair unready = loopback.domain.createQueuePair(options(QueuePair.rc(left.queue), extended));
        ReceiveBatch pieces = left.pair.receiveBatch(1).receive(1);
        for (int i = 0; i < left.pair.capabilities().receiveSge(); i++) {
            pieces.and(left.buffer.slice(8L * i, 8));
        }
        for (ThrowingCallable refused : List.<ThrowingCallable>of(
                () -> left.pair.postWrite(1, left.buffer.slice(0, 9), there),
                () -> left.pair.postFetchAndAdd(1, left.buffer, there, 1),
                () -> left.pair.postSendInline(1, tooLong),
                () -> left.pair.postSend(1, foreign),
                () -> left.pair.postReceive(1, foreign),
                () -> unready.postSend(1, left.buffer.slice(0, 8)),
                () -> unready.postReceive(1, left.buffer),
                () -> pieces.and(left.buffer.slice(4096, 8)))) {
            assertThatThrownBy(refused)
                    .isInstanceOfAny(
                            IndexOutOfBoundsException.class,
                            IllegalArgumentException.class,
                            IllegalStateException.class);
        }
        left.pair.postWrite(77, left.buffer.slice(0, 8), there);
        assertThat(left.done().id()).isEqualTo(77);
        assertThat(left.queue.poll()).isNull();
        assertThat(left.pair.query().state()).isEqualTo(QueuePairState.RTS);
    }

    /** A queue pair whose sends wait for a receive that nobody posts. */
    private QueuePair withFewSends(boolean extended) {
        QueuePair waiting =
                loopback.domain.createQueuePair(options(QueuePair.rc(left.queue).sendDepth(4), extended));
        QueuePair silent = loopback.domain.createQueuePair(QueuePair.rc(right.queue));
        waiting.connect(silent.endpoint());
        silent.connect(waiting.endpoint());
        return waiting;
    }

    private static PostException refusal(
            boolean extended, ThrowingCallable post, String function, String depth, String posted) {
        PostException full = catchThrowableOfType(PostException.class, post);
        assertThat(full)
                .hasMessageContaining(function)
                .hasMessageContaining(posted)
                .hasMessageContaining("queue is full")
                .hasMessageContaining(depth);
        // So soft-RoCE's functions of an extended queue pair name it.
        assertThat(full.errnoName()).isIn("ENOMEM", extended ? "ENOSPC" : "ENOMEM");
        return full;
    }

    /** Requests before the refused one are posted; by the functions of an extended queue pair, all or none. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Fault("full-queue")
    void fullSendQueueIsNamedInTheException(boolean extended) throws Exception {
        connect(extended, VerbsArena.ofConfined());
        QueuePair waiting = withFewSends(extended);
        String function = extended ? "ibv_wr_complete" : "ibv_post_send";
        SendBatch batch = waiting.sendBatch(100);
        for (int i = 0; i < batch.capacity(); i++) {
            batch.send(i, left.buffer.slice(0, 1));
        }
        int[] posted = {
            refusal(extended, batch::post, function, "sendDepth()", "of 100 posted")
                    .posted()
        };
        assertThat(posted[0]).isBetween(extended ? 0 : 4, extended ? 0 : 99);
        PostException full = refusal(
                extended,
                () -> {
                    for (; posted[0] < 1000; posted[0]++) {
                        waiting.postSend(posted[0], left.buffer.slice(0, 1));
                    }
                },
                extended ? "" : function, // single requests of some extended queue pairs go by either function
                "sendDepth()",
                "0 of 1 posted");
        assertThat(full.posted()).isZero();
        assertThat(posted[0]).isBetween(4, 999);

        waiting.fail();
        Set<Long> flushed = new HashSet<>();
        for (int i = 0; i < posted[0]; i++) {
            WorkCompletion completion = left.next();
            assertThat(completion.operation()).isEqualTo(Operation.SEND);
            flushed.add(completion.id());
        }
        assertThat(flushed)
                .as("those before the refused one were posted")
                .hasSize(posted[0])
                .contains(0L, posted[0] - 1L);
        assertThat(left.queue.poll()).isNull();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Fault("full-queue")
    @Twin("test_qpex.QpExTestCase.test_full_rq_bad_flow")
    void fullReceiveQueueIsNamedInTheException(boolean extended) {
        connect(extended, VerbsArena.ofConfined());
        QueuePair pair =
                loopback.domain.createQueuePair(options(QueuePair.rc(left.queue).receiveDepth(4), extended));
        pair.toInit(QueuePairAttributes.none());
        ReceiveBatch batch = pair.receiveBatch(100);
        for (int i = 0; i < batch.capacity(); i++) {
            batch.receive(i, left.buffer.slice(0, 1));
        }
        PostException full = refusal(false, batch::post, "ibv_post_recv", "deeper", "of 100 posted");
        assertThat(full.posted()).isBetween(4, 99);
    }

    /** Requests that are posted alone share a batch, and batches of several requests are not mixed. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void concurrentPostsDoNotMix(boolean extended) throws Exception {
        connect(extended, VerbsArena.ofShared());
        int threads = 4;
        int each = 30;
        Thread[] posters = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            int first = t * each;
            SendBatch batch = left.pair.sendBatch(2);
            posters[t] = Thread.ofPlatform().daemon().start(() -> {
                for (int i = first; i < first + each; i += 3) {
                    left.pair.postWriteInline(i, number(i), place(i));
                    batch.clear()
                            .writeInline(i + 1, number(i + 1), place(i + 1))
                            .writeInline(i + 2, number(i + 2), place(i + 2))
                            .post();
                }
            });
        }
        Set<Long> seen = new HashSet<>();
        for (int i = 0; i < threads * each; i++) {
            assertThat(seen.add(left.done().id())).isTrue();
            if (i % 50 == 0) {
                System.gc();
            }
        }
        for (Thread poster : posters) {
            assertThat(poster.join(Loopback.DEADLINE)).isTrue();
        }
        for (int i = 0; i < threads * each; i++) {
            assertThat(right.buffer.segment().get(JAVA_LONG, 8L * i)).isEqualTo(i + 1);
        }
    }

    private static MemorySegment number(int i) {
        return MemorySegment.ofArray(new long[] {i + 1});
    }

    private RemoteMemory place(int i) {
        return right.buffer.slice(8L * i, 8).remote();
    }
}
