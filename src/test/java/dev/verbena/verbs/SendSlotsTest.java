package dev.verbena.verbs;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the counting of sends, on a provider whose send queue is free as soon as a send has completed. */
@FencedTest
class SendSlotsTest {
    private static final int DEPTH = 4;
    private static final Duration SHORT = Duration.ofMillis(1);

    private Loopback loopback;
    private CompletionQueue queue;
    private QueuePair pair;
    private LocalMemory local;
    private RemoteMemory remote;

    @BeforeEach
    void connect() {
        loopback = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none()); // closes the arena
        queue = loopback.context.createCompletionQueue(64);
        pair = pair(queue);
        local = loopback.left.buffer.slice(0, 8);
        remote = loopback.right.buffer.slice(0, 8).remote();
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private QueuePair pair(CompletionQueue of) {
        QueuePair made = loopback.domain.createQueuePair(
                QueuePair.rc(of).sendDepth(DEPTH).receiveDepth(DEPTH));
        made.connect(made.endpoint());
        return made;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void postWithoutSlotIsRefusedUntilACompletionIsPolled(boolean extended) throws InterruptedException {
        CompletionQueueOptions options = CompletionQueueOptions.of(64);
        CompletionQueue of = loopback.context.createCompletionQueue(
                extended ? options.fields(CompletionField.QUEUE_PAIR_NUMBER, CompletionField.TIMESTAMP) : options);
        Completions early = extended ? of.extendedCompletions(1) : of.completions(1);
        QueuePair counted = pair(of);
        SendSlots slots = SendSlots.of(counted);
        assertThat(SendSlots.of(counted)).isSameAs(slots);
        assertThat(slots.free()).isEqualTo(DEPTH);
        for (int i = 0; i < DEPTH; i++) {
            counted.postWrite(i, local, remote);
            assertThat(slots.free()).isEqualTo(DEPTH - 1 - i);
        }
        PostException full = catchThrowableOfType(PostException.class, () -> counted.postWrite(9, local, remote));
        assertThat(full.errno()).isEqualTo(Errno.ENOMEM);
        assertThat(early.poll()).isEqualTo(1);
        assertThat(slots.free()).isEqualTo(1);
        assertThat((extended ? of.extendedCompletions(1) : of.completions(1)).poll())
                .isEqualTo(1);
        assertThat(slots.free()).isEqualTo(2);
        counted.postWrite(9, local, remote);
        assertThat(of.await(DEADLINE).id()).isEqualTo(2);
    }

    @Test
    void completionFreesTheUnsignaledSendsBeforeIt() throws InterruptedException {
        SendSlots slots = SendSlots.of(pair);
        pair.unsignaled().postWrite(1, local, remote);
        pair.unsignaled().postWrite(2, local, remote);
        pair.postWrite(3, local, remote);
        pair.unsignaled().postWrite(4, local, remote);
        assertThat(slots.free()).isZero();
        assertThat(queue.await(DEADLINE).orThrow().id()).isEqualTo(3);
        assertThat(slots.free()).isEqualTo(DEPTH - 1);
    }

    /** Each send is signaled, and the queue is as full as it may be: the ring of counts has no place more. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void queueOfAnyDepthIsFilledAgainAndAgain(int depth) throws InterruptedException {
        QueuePair made = loopback.domain.createQueuePair(
                QueuePair.rc(queue).sendDepth(depth).receiveDepth(1));
        made.connect(made.endpoint());
        SendSlots slots = SendSlots.of(made);
        assertThat(slots.free()).isEqualTo(depth);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < depth; i++) {
                made.postWrite(i, local, remote);
            }
            assertThat(slots.free()).isZero();
            for (int i = 0; i < depth; i++) {
                assertThat(queue.await(DEADLINE).orThrow().id()).isEqualTo(i);
                assertThat(slots.free()).isEqualTo(i + 1);
            }
            made.postWrite(0, local, remote); // the next round begins elsewhere in the ring
            queue.await(DEADLINE).orThrow();
        }
    }

    @Test
    void receivesFreeNoSlots() throws InterruptedException {
        SendSlots slots = SendSlots.of(pair);
        pair.postReceive(1, loopback.left.buffer.slice(32, 8));
        pair.postSend(2, local);
        for (int i = 0; i < 2; i++) {
            WorkCompletion done = queue.await(DEADLINE).orThrow();
            assertThat(slots.free()).isEqualTo(done.isReceive() && i == 0 ? DEPTH - 1 : DEPTH);
        }
    }

    @Test
    void batchIsPostedAsFarAsThereAreSlots() throws InterruptedException {
        SendSlots slots = SendSlots.of(pair);
        SendBatch batch = pair.sendBatch(DEPTH);
        for (int i = 0; i < DEPTH; i++) {
            batch.write(i, local, remote);
        }
        pair.postWrite(7, local, remote);
        PostException full = catchThrowableOfType(PostException.class, batch::post);
        assertThat(full.posted()).isEqualTo(DEPTH - 1);
        for (int i = 0; i < DEPTH; i++) {
            queue.await(DEADLINE).orThrow();
        }
        assertThat(queue.poll()).isNull();
        assertThat(batch.post()).as("all of them, linked as before").isEqualTo(DEPTH);
        assertThat(slots.free()).isZero();
    }

    @Test
    void postWaitsForASlotThatAnotherThreadFrees() throws Exception {
        SendSlots slots = SendSlots.of(pair);
        for (int i = 0; i < DEPTH; i++) {
            pair.postWrite(i, local, remote);
        }
        assertThrows(
                VerbsTimeoutException.class,
                "0 of 4 slots are free, for 1 sends",
                () -> slots.postWrite(7, local, remote, SHORT));
        FutureTask<Void> posting = new FutureTask<>(() -> {
            slots.postWrite(8, local, remote, DEADLINE);
            slots.post(pair.sendBatch(2).write(9, local, remote).write(10, local, remote), DEADLINE);
            return null;
        });
        Thread thread = Thread.ofPlatform().daemon().start(posting);
        Await.until("the thread waits", () -> thread.getState() == Thread.State.TIMED_WAITING);
        for (int i = 0; i < DEPTH; i++) {
            assertThat(queue.await(DEADLINE).orThrow().id()).isEqualTo(i);
        }
        posting.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
        assertThat(queue.await(DEADLINE).id()).isEqualTo(8);
        assertIllegalArgument(() -> slots.await(DEPTH + 1, SHORT));
        assertIllegalArgument(() -> slots.post(loopback.left.pair.sendBatch(1).write(1, local, remote), SHORT));
    }

    /** A post that waits for a slot, and one that does not, take the locks of the slots and of the queue pair in one order. */
    @Test
    void threadsThatWaitForSlotsAndThreadsThatDoNotPostAtOnce() throws Exception {
        int posts = 5_000;
        SendSlots slots = SendSlots.of(pair);
        pair.postWrite(0, local, remote); // this thread has a batch of its own, the others share one
        queue.await(DEADLINE).orThrow();
        FutureTask<Void> waiting = new FutureTask<>(() -> {
            for (int i = 0; i < posts; i++) {
                slots.postWrite(i, local, remote, DEADLINE);
            }
            return null;
        });
        FutureTask<Void> trying = new FutureTask<>(() -> {
            for (int posted = 0; posted < posts; ) {
                try {
                    pair.postWrite(posted, local, remote);
                    posted++;
                } catch (PostException full) {
                    Thread.onSpinWait();
                }
            }
            return null;
        });
        for (FutureTask<Void> each : List.of(waiting, trying)) {
            Thread.ofPlatform().daemon().start(each);
        }
        for (int i = 0; i < 2 * posts; i++) {
            queue.await(DEADLINE).orThrow();
        }
        waiting.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
        trying.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
        assertThat(slots.free()).isEqualTo(DEPTH);
    }

    @Test
    void postThatTheDriverHasNoRoomForIsRepeatedUntilTheThreadIsInterrupted() throws InterruptedException {
        SendSlots slots = SendSlots.of(pair);
        Fenced.fail("ibv_post_send", 1, Errno.ENOMEM);
        slots.postWrite(1, local, remote, DEADLINE);
        assertThat(queue.await(DEADLINE).orThrow().id()).isEqualTo(1);
        Fenced.fail("ibv_post_send", 1, Errno.ENOMEM);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> slots.postWrite(2, local, remote, DEADLINE)).isInstanceOf(InterruptedException.class);
        assertThat(queue.poll()).as("what was posted").isNull();
        assertThat(slots.free()).isEqualTo(DEPTH);
    }

    @Test
    void slotsAreFreeAfterAReset() {
        SendSlots slots = SendSlots.of(pair);
        pair.postWrite(1, local, remote);
        pair.reset();
        assertThat(slots.free()).isEqualTo(DEPTH);
    }

    @Test
    void failedQueuePairTakesSendsThatAreFlushed() throws InterruptedException {
        SendSlots.of(pair);
        pair.fail();
        for (int i = 0; i < 2 * DEPTH; i++) {
            pair.postWrite(i, local, remote);
            assertThat(queue.await(DEADLINE).status()).isEqualTo(WorkStatus.WORK_REQUEST_FLUSHED);
        }
    }

    @Test
    void queuePairsWhoseSendsCannotBeCountedAreRefused() {
        pair.postWrite(1, local, remote);
        assertIllegalState(() -> SendSlots.of(pair));
        CompletionQueue silent = loopback.context.createCompletionQueue(
                CompletionQueueOptions.of(4).fields(List.of()));
        assertIllegalArgument("QUEUE_PAIR_NUMBER", () -> SendSlots.of(pair(silent)));
        QueuePair closed = pair(queue);
        closed.close();
        assertIllegalState(() -> SendSlots.of(closed));
    }
}
