package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Errno;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.Loopback;
import dev.verbena.support.Mlx5Too;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is refused when it is posted, and that nothing of it reaches the adapter. */
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

    /** Neither a completion nor a failure came of what was refused, and the next request is carried out. */
    private void assertNothingWasPosted() throws InterruptedException {
        left.pair.postWrite(77, left.buffer.slice(0, 8), right.buffer.remote());
        assertThat(left.done().id()).isEqualTo(77);
        assertThat(left.queue.poll()).isNull();
        assertThat(left.pair.query().state()).isEqualTo(QueuePairState.RTS);
    }

    private void assertOutOfBounds(ThrowingCallable post) throws InterruptedException {
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(post);
        assertNothingWasPosted();
    }

    @Test
    void writeRefusesRangesBeyondTheRemoteMemory() throws Exception {
        assertOutOfBounds(() -> left.pair.postWrite(
                1, left.buffer.slice(0, 9), right.buffer.slice(0, 8).remote()));
    }

    @Test
    void readRefusesRangesBeyondTheRemoteMemory() throws Exception {
        assertOutOfBounds(() -> left.pair.postRead(
                1, left.buffer.slice(0, 9), right.buffer.slice(0, 8).remote()));
    }

    @Test
    void writeRefusesPiecesThatExceedTheRemoteMemory() throws Exception {
        SendBatch batch = left.pair.sendBatch(1);
        batch.write(1, left.buffer.slice(0, 6), right.buffer.slice(0, 10).remote());
        assertOutOfBounds(() -> batch.and(left.buffer.slice(6, 5)));
    }

    @Test
    void atomicNeedsEightBytesOnBothSides() throws Exception {
        assertOutOfBounds(() -> left.pair.postFetchAndAdd(1, left.buffer.slice(0, 7), right.buffer.remote(), 1));
        assertOutOfBounds(() -> left.pair.postCompareAndSwap(
                1, left.buffer, right.buffer.slice(8, 7).remote(), 1, 2));
    }

    @Test
    @Fault("misaligned-atomic")
    void atomicRefusesUnalignedAddresses() throws Exception {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> left.pair.postFetchAndAdd(
                        1, left.buffer, right.buffer.slice(4, 8).remote(), 1))
                .withMessageContaining("multiple of 8");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> left.pair.postCompareAndSwap(
                        1, left.buffer, right.buffer.slice(1, 8).remote(), 1, 2))
                .withMessageContaining("multiple of 8");
        assertNothingWasPosted();
    }

    @Test
    @Fault("long-inline")
    void inlineDataBeyondTheLimitIsRefused() throws Exception {
        int most = left.pair.capabilities().inlineSize();
        MemorySegment data = MemorySegment.ofArray(new byte[most + 1]);
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
                .isThrownBy(() -> left.pair.postSendInline(1, data))
                .withMessageContaining("got " + (most + 1))
                .withMessageContaining("inlineSize()");
        assertOutOfBounds(() -> left.pair.postWriteInline(1, data, right.buffer.remote()));
        assertOutOfBounds(() -> left.pair.postWriteInline(
                1, data.asSlice(0, 8), right.buffer.slice(0, 7).remote()));
    }

    @Test
    void sendRefusesMessagesBeyondThePortsLimit() throws Exception {
        long most = loopback.context.port(1).maxMessageSize();
        QueuePair wide =
                loopback.domain.createQueuePair(QueuePair.rc(left.queue).sendSge(32));
        long piece = most / 32 + 4096;
        MemoryRegion large = loopback.domain.register(loopback.arena.allocate(piece, 4096));
        SendBatch batch = wide.sendBatch(1).send(1, large);
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
                .isThrownBy(() -> {
                    for (int i = 1; i < 32; i++) {
                        batch.and(large);
                    }
                })
                .withMessageContaining("message");
    }

    @Test
    @Fault("foreign-local-key")
    void postRefusesMemoryOfAnotherDomain() throws Exception {
        ProtectionDomain other = loopback.context.allocateProtectionDomain();
        MemoryRegion foreign = other.register(loopback.arena.allocate(64, 64), LOCAL_WRITE);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> left.pair.postSend(1, foreign))
                .withMessageContaining("another protection domain");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> left.pair.postReceive(1, foreign.slice(0, 8)))
                .withMessageContaining("another protection domain");
        SendBatch batch = left.pair.sendBatch(1).send(1, left.buffer.slice(0, 8));
        assertThatIllegalArgumentException().isThrownBy(() -> batch.and(foreign));
        assertNothingWasPosted();
    }

    @Test
    void postRefusesTooManyPieces() throws Exception {
        SendBatch sends = left.pair.sendBatch(1).send(1, left.buffer.slice(0, 1));
        for (int i = 1; i < left.pair.capabilities().sendSge(); i++) {
            sends.and(left.buffer.slice(i, 1));
        }
        assertThatIllegalStateException()
                .isThrownBy(() -> sends.and(left.buffer.slice(9, 1)))
                .withMessageContaining("at most " + left.pair.capabilities().sendSge() + " pieces");
        ReceiveBatch receives = left.pair.receiveBatch(1).receive(1, left.buffer.slice(0, 1));
        for (int i = 1; i < left.pair.capabilities().receiveSge(); i++) {
            receives.and(left.buffer.slice(i, 1));
        }
        assertThatIllegalStateException()
                .isThrownBy(() -> receives.and(left.buffer.slice(9, 1)))
                .withMessageContaining("at most " + left.pair.capabilities().receiveSge() + " pieces");
        assertNothingWasPosted();
    }

    @Test
    void fullBatchRefusesRequests() throws Exception {
        SendBatch batch = left.pair.sendBatch(2).send(1).send(2);
        assertThatIllegalStateException()
                .isThrownBy(() -> batch.send(3))
                .withMessageContaining("full")
                .withMessageContaining("2");
        assertThatIllegalStateException()
                .isThrownBy(() -> batch.sendInline(3, MemorySegment.ofArray(new byte[8])))
                .withMessageContaining("full");
        assertThat(batch.size()).isEqualTo(2);
        assertNothingWasPosted();
    }

    private void assertComplete(long... ids) throws InterruptedException {
        for (long id : ids) {
            assertThat(left.done().id()).isEqualTo(id);
        }
        assertThat(left.queue.poll()).isNull();
    }

    @Test
    void batchPostsAgainWithChanges() throws Exception {
        SendBatch batch = left.pair.sendBatch(3);
        for (int id = 1; id <= 3; id++) {
            batch.write(id, left.buffer.slice(0, 8), right.buffer.remote());
        }
        batch.post();
        assertComplete(1, 2, 3);
        batch.at(0).id(7).at(2).id(9).post();
        assertComplete(7, 2, 9);
    }

    @Test
    void batchAtKeepsTheSizeAndRefusesMoreMemory() throws Exception {
        SendBatch batch = left.pair.sendBatch(2).write(1, left.buffer.slice(0, 8), right.buffer.remote());
        batch.at(0).write(2, left.buffer.slice(0, 8), right.buffer.remote());
        assertThatIllegalStateException()
                .isThrownBy(() -> batch.at(0).and(left.buffer.slice(8, 8)))
                .withMessageContaining("added last");
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> batch.at(2));
        assertThat(batch.size()).isEqualTo(2);
        batch.post();
        assertComplete(1, 2);
    }

    @Test
    void clearedBatchPostsOnlyItsNewRequests() throws Exception {
        SendBatch batch = left.pair.sendBatch(3);
        for (int size : new int[] {3, 1, 2, 1, 3}) {
            batch.clear();
            long[] ids = new long[size];
            for (int i = 0; i < size; i++) {
                ids[i] = 10 * size + i;
                batch.write(ids[i], left.buffer.slice(0, 8), right.buffer.remote());
            }
            assertThat(batch.post()).isEqualTo(size);
            assertComplete(ids);
        }
    }

    @Test
    void emptyBatchPostsNothing() throws Exception {
        SendBatch batch = left.pair.sendBatch(2);
        assertThat(batch.post()).isZero();
        assertThatIllegalStateException().isThrownBy(() -> batch.immediate(1)).withMessageContaining("empty");
        assertThatIllegalStateException().isThrownBy(batch::unsignaled);
        assertThatIllegalStateException().isThrownBy(() -> batch.and(left.buffer));
        assertThatIllegalArgumentException().isThrownBy(() -> left.pair.sendBatch(0));
        assertThatIllegalArgumentException().isThrownBy(() -> left.pair.receiveBatch(-1));
        assertNothingWasPosted();
    }

    @Test
    void immediateIsRefusedForOtherOperations() throws Exception {
        SendBatch batch = left.pair.sendBatch(1).read(1, left.buffer.slice(0, 8), right.buffer.remote());
        assertThatIllegalStateException().isThrownBy(() -> batch.immediate(1)).withMessageContaining("RDMA_READ");
        assertNothingWasPosted();
    }

    @Test
    void inlineRequestRefusesMoreMemory() throws Exception {
        SendBatch batch = left.pair.sendBatch(1).sendInline(1, MemorySegment.ofArray(new byte[8]));
        assertThatIllegalStateException()
                .isThrownBy(() -> batch.and(left.buffer))
                .withMessageContaining("inline");
        assertNothingWasPosted();
    }

    @Test
    void unreliablePairRefusesReadsAndAtomics() {
        QueuePair unreliable = loopback.domain.createQueuePair(QueuePair.uc(left.queue));
        unreliable.connect(unreliable.endpoint());
        assertThatIllegalStateException()
                .isThrownBy(() -> unreliable.postRead(1, left.buffer.slice(0, 8), right.buffer.remote()))
                .withMessageContaining("UC has no RDMA_READ");
        assertThatIllegalStateException()
                .isThrownBy(() -> unreliable.postFetchAndAdd(1, left.buffer, right.buffer.remote(), 1))
                .withMessageContaining("UC has no FETCH_AND_ADD");
        assertThatIllegalStateException()
                .isThrownBy(() -> unreliable.postCompareAndSwap(1, left.buffer, right.buffer.remote(), 1, 2))
                .withMessageContaining("UC has no COMPARE_AND_SWAP");
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
