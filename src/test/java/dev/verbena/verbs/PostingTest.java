package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Errno;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.Loopback;
import dev.verbena.support.Mlx5Too;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is refused when it is posted: nothing of it reaches the adapter. {@link RefusedRequestsTest} has each refusal. */
@DeviceTest
@Mlx5Too
class PostingTest {
    private Loopback loopback;
    private Loopback.Side left;
    private Loopback.Side right;

    @BeforeEach
    void connect() {
        loopback = Loopback.connected();
        left = loopback.left;
        right = loopback.right;
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    /** No completion and no failure comes of them, and the next request is carried out. */
    @Test
    @Fault({"misaligned-atomic", "long-inline", "foreign-local-key"})
    void refusedRequestsReachNoAdapter() throws Exception {
        MemorySegment tooLong =
                MemorySegment.ofArray(new byte[left.pair.capabilities().inlineSize() + 1]);
        MemoryRegion foreign =
                loopback.context.allocateProtectionDomain().register(loopback.arena.allocate(64, 64), LOCAL_WRITE);
        RemoteMemory there = right.buffer.slice(4, 8).remote();
        for (ThrowingCallable refused : List.<ThrowingCallable>of(
                () -> left.pair.postWrite(1, left.buffer.slice(0, 9), there),
                () -> left.pair.postFetchAndAdd(1, left.buffer, there, 1),
                () -> left.pair.postSendInline(1, tooLong),
                () -> left.pair.postSend(1, foreign),
                () -> left.pair.postReceive(1, foreign))) {
            assertThatThrownBy(refused)
                    .isInstanceOfAny(IndexOutOfBoundsException.class, IllegalArgumentException.class);
        }
        left.pair.postWrite(77, left.buffer.slice(0, 8), there);
        assertThat(left.done().id()).isEqualTo(77);
        assertThat(left.queue.poll()).isNull();
        assertThat(left.pair.query().state()).isEqualTo(QueuePairState.RTS);
    }

    @Test
    void requestIsAddedLastAfterAnEarlierOneWasChanged() throws Exception {
        SendBatch batch = left.pair.sendBatch(2).write(1, left.buffer.slice(0, 8), right.buffer.remote());
        batch.at(0).write(2, left.buffer.slice(0, 8), right.buffer.remote());
        assertThat(batch.size()).isEqualTo(2);
        batch.post();
        assertThat(left.done().id()).isEqualTo(1);
        assertThat(left.done().id()).isEqualTo(2);
    }

    /** A queue pair whose sends wait for a receive that nobody posts. */
    private QueuePair withFewSends(int depth) {
        QueuePairOptions few = QueuePair.rc(left.queue).sendDepth(depth);
        QueuePair waiting = loopback.domain.createQueuePair(few);
        QueuePair silent = loopback.domain.createQueuePair(QueuePair.rc(right.queue));
        waiting.connect(silent.endpoint());
        silent.connect(waiting.endpoint());
        return waiting;
    }

    @Test
    @Fault("full-queue")
    void fullSendQueueIsNamedInTheException() {
        QueuePair waiting = withFewSends(4);
        int posted = 0;
        PostException full = null;
        while (full == null && posted < 1000) {
            try {
                waiting.postSend(posted, left.buffer.slice(0, 1));
                posted++;
            } catch (PostException e) {
                full = e;
            }
        }
        assertThat(posted).isBetween(4, 999);
        assertThat(full)
                .hasMessageContaining("ibv_post_send")
                .hasMessageContaining("ENOMEM")
                .hasMessageContaining("0 of 1 posted")
                .hasMessageContaining("send queue is full")
                .hasMessageContaining("sendDepth()");
        assertThat(full.posted()).isZero();
        assertThat(full.errno()).isEqualTo(Errno.ENOMEM);
    }

    @Test
    void partialPostReportsThePostedCount() throws Exception {
        QueuePair waiting = withFewSends(4);
        SendBatch batch = waiting.sendBatch(100);
        for (int i = 0; i < batch.capacity(); i++) {
            batch.send(i, left.buffer.slice(0, 1));
        }
        PostException partly = null;
        try {
            batch.post();
        } catch (PostException e) {
            partly = e;
        }
        assertThat(partly).isNotNull().hasMessageContaining("of 100 posted").hasMessageContaining("ENOMEM");
        assertThat(partly.posted()).isBetween(4, 99);

        waiting.fail();
        Set<Long> flushed = new HashSet<>();
        for (int i = 0; i < partly.posted(); i++) {
            WorkCompletion completion = left.next();
            assertThat(completion.operation()).isEqualTo(Operation.SEND);
            flushed.add(completion.id());
        }
        assertThat(flushed)
                .as("those before the refused one were posted")
                .hasSize(partly.posted())
                .contains(0L, partly.posted() - 1L);
        assertThat(left.queue.poll()).isNull();
    }

    @Test
    @Fault("full-queue")
    void fullReceiveQueueIsNamedInTheException() {
        QueuePair pair =
                loopback.domain.createQueuePair(QueuePair.rc(left.queue).receiveDepth(4));
        pair.toInit(QueuePairAttributes.none());
        ReceiveBatch batch = pair.receiveBatch(100);
        for (int i = 0; i < batch.capacity(); i++) {
            batch.receive(i, left.buffer.slice(0, 1));
        }
        assertThatExceptionOfType(PostException.class)
                .isThrownBy(batch::post)
                .withMessageContaining("ibv_post_recv")
                .withMessageContaining("receive queue is full")
                .withMessageContaining("deeper")
                .satisfies(e -> assertThat(e.posted()).isBetween(4, 99));
    }

    @Test
    void concurrentPostsDoNotMix() throws Exception {
        try (Loopback shared = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none())) {
            int threads = 4;
            int each = 30;
            Thread[] posters = new Thread[threads];
            for (int t = 0; t < threads; t++) {
                int me = t;
                posters[t] = Thread.ofPlatform().start(() -> {
                    for (int i = 0; i < each; i++) {
                        long place = (me * each + i) * 8L;
                        try {
                            shared.left.pair.postWriteInline(
                                    place,
                                    MemorySegment.ofArray(new long[] {place + 1}),
                                    shared.right.buffer.slice(place, 8).remote());
                        } catch (PostException full) {
                            i--; // the queue is drained below
                            Thread.onSpinWait();
                        }
                    }
                });
            }
            for (int i = 0; i < threads * each; i++) {
                shared.left.done();
            }
            for (Thread poster : posters) {
                poster.join(Loopback.DEADLINE);
            }
            for (long i = 0; i < threads * each; i++) {
                assertThat(shared.right.buffer.segment().get(java.lang.foreign.ValueLayout.JAVA_LONG, i * 8))
                        .isEqualTo(i * 8 + 1);
            }
        }
    }
}
