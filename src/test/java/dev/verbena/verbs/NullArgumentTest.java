package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Methods check their arguments before they do anything: no completion is lost, and no state changes. */
@FencedTest
class NullArgumentTest {
    private final Loopback loopback = Loopback.connected();
    private final QueuePair pair = loopback.left.pair;

    @AfterEach
    void close() {
        loopback.close();
    }

    private static void assertRefused(ThrowingCallable... calls) {
        for (ThrowingCallable call : calls) {
            assertThatNullPointerException().isThrownBy(call);
        }
    }

    private QueuePair pairOf(CompletionQueue queue) {
        QueuePair made = loopback.domain.createQueuePair(QueuePair.rc(queue));
        made.connect(made.endpoint());
        return made;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void awaitTakesNothingWithoutATimeout(boolean withChannel) {
        CompletionChannel channel = withChannel ? loopback.context.createCompletionChannel() : null;
        CompletionQueue queue = loopback.context.createCompletionQueue(
                CompletionQueueOptions.of(8).channel(channel));
        pairOf(queue).postWrite(7, loopback.left.buffer.slice(0, 8), loopback.left.buffer.remote());
        Completions cursor = queue.completions(1);
        assertRefused(
                () -> queue.await(null),
                () -> queue.awaitSolicited(null),
                () -> cursor.await(null),
                () -> cursor.awaitSolicited(null));
        assertThat(cursor.poll()).isEqualTo(1);
        assertThat(cursor.next()).isTrue();
        assertThat(cursor.id()).isEqualTo(7);
    }

    @Test
    void awaitTakesNoEventWithoutATimeout() {
        CompletionChannel channel = loopback.context.createCompletionChannel();
        CompletionQueue queue = loopback.context.createCompletionQueue(
                CompletionQueueOptions.of(8).channel(channel));
        queue.requestNotification(false);
        pairOf(queue).postWrite(7, loopback.left.buffer.slice(0, 8), loopback.left.buffer.remote());
        assertRefused(() -> channel.await(null), () -> loopback.context.events().await(null));
        assertThat(channel.poll()).isSameAs(queue);
    }

    @Test
    void drainFailsNothingWithoutATakerOrATimeout() throws InterruptedException {
        pair.postReceive(1, loopback.left.buffer);
        assertRefused(() -> pair.drain(null, Loopback.DEADLINE), () -> pair.drain(completion -> {}, null));
        assertThat(pair.query().state()).isEqualTo(QueuePairState.RTS);
        List<WorkCompletion> taken = new ArrayList<>();
        pair.drain(taken::add, Loopback.DEADLINE);
        assertThat(taken).hasSize(1);
    }

    @Test
    void connectChangesNothingWithoutAPeerOrOptions() {
        QueuePair fresh = loopback.domain.createQueuePair(QueuePair.rc(loopback.left.queue));
        Fenced.calm();
        assertRefused(
                () -> fresh.connect(null),
                () -> fresh.connect(null, QueuePairAttributes.none()),
                () -> fresh.connect(fresh.endpoint(), null));
        assertThat(Fenced.calls("ibv_modify_qp")).isZero();
        assertThat(fresh.state()).isEqualTo(QueuePairState.RESET);
    }

    @Test
    void batchStaysAsItWas() {
        SendBatch batch = pair.sendBatch(4);
        LocalMemory local = loopback.left.buffer.slice(0, 8);
        RemoteMemory remote = loopback.right.buffer.remote();
        batch.send(1, local);
        SendBatch inline = pair.sendBatch(1).sendInline(1, MemorySegment.ofArray(new byte[1]));
        assertRefused(
                () -> batch.send(2, null),
                () -> batch.sendInline(2, null),
                () -> batch.write(2, null, remote),
                () -> batch.write(2, local, null),
                () -> batch.writeInline(2, null, remote),
                () -> batch.writeInline(2, MemorySegment.NULL, null),
                () -> batch.read(2, local, null),
                () -> batch.fetchAndAdd(2, null, remote, 1),
                () -> batch.fetchAndAdd(2, local, null, 1),
                () -> batch.compareAndSwap(2, local, null, 1, 2),
                () -> batch.atomicWrite(2, 1, null),
                () -> batch.flush(2, null, SendBatch.FlushLevel.RANGE, Set.of(SendBatch.FlushPlacement.GLOBAL)),
                () -> batch.bind(2, null, local, List.of()),
                () -> batch.and(null),
                () -> inline.andInline(null));
        assertThat(batch.size()).isEqualTo(1);
        ReceiveBatch receives = pair.receiveBatch(4).receive(1);
        assertRefused(() -> receives.receive(2, null), () -> receives.and(null));
        assertThat(receives.size()).isEqualTo(1);
    }
}
