package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Draining a queue pair whose completion queue others keep busy. */
@FencedTest
class BusyDrainTest {
    private static final int TOO_MANY = 100_000;

    private final Loopback loopback = Loopback.connected();
    private final QueuePair pair = loopback.left.pair;
    private final AtomicInteger taken = new AtomicInteger();
    private QueuePair other;

    @BeforeEach
    void connectAnother() {
        other = loopback.domain.createQueuePair(QueuePair.rc(loopback.left.queue));
        other.connect(other.endpoint());
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private void write() {
        other.postWrite(1, loopback.left.buffer.slice(0, 8), loopback.left.buffer.remote());
    }

    private void writeAgain(WorkCompletion completion) {
        if (taken.incrementAndGet() > TOO_MANY) {
            throw new AssertionError("drain takes completions for ever");
        }
        if (completion.queuePairNumber() == other.number()) {
            write();
        }
    }

    @Test
    void drainEndsWhileAnotherQueuePairCompletes() throws InterruptedException {
        pair.postReceive(2, loopback.left.buffer);
        write();
        pair.drain(this::writeAgain, Loopback.DEADLINE);
        assertThat(taken.get()).isPositive();
    }

    /** Receives of a shared receive queue belong to other queue pairs, too: they stay. */
    @Test
    void drainWaitsForNoReceiveOfASharedQueue() throws InterruptedException {
        SharedReceiveQueue shared = loopback.domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
        QueuePair sharing = loopback.domain.createQueuePair(
                QueuePair.rc(loopback.left.queue).sharedReceiveQueue(shared));
        sharing.connect(sharing.endpoint());
        shared.postReceive(3, loopback.left.buffer);
        sharing.postWrite(4, loopback.left.buffer.slice(0, 8), loopback.left.buffer.remote());
        sharing.drain(completion -> taken.addAndGet((int) completion.id()), Loopback.DEADLINE);
        assertThat(taken.get()).isEqualTo(4);
    }

    private enum Posted {
        NONE,
        SOME,
        FULL
    }

    private static Stream<Arguments> queues() {
        return Stream.of(Posted.values())
                .flatMap(sends -> Stream.of(Posted.values())
                        .flatMap(receives ->
                                Stream.of(true, false).map(shared -> Arguments.of(sends, receives, shared))));
    }

    /** The markers stay with the drain, whatever was posted, and wherever it completes. */
    @ParameterizedTest
    @MethodSource("queues")
    void drainHandsOutEachRequestOnce(Posted sends, Posted receives, boolean shared) throws InterruptedException {
        CompletionQueue one = loopback.context.createCompletionQueue(64);
        CompletionQueue two = shared ? one : loopback.context.createCompletionQueue(64);
        QueuePair drained = loopback.domain.createQueuePair(
                QueuePair.rc(one, two).sendDepth(4).receiveDepth(4));
        QueuePair peer = loopback.domain.createQueuePair(QueuePair.rc(loopback.left.queue));
        drained.connect(peer.endpoint());
        peer.connect(drained.endpoint());
        List<Long> expected = new ArrayList<>();
        for (long id = 0; fits(sends, drained.capabilities().sendDepth(), id); id++) {
            drained.postSend(id, loopback.left.buffer.slice(0, 8)); // waits for a receive of the peer
            expected.add(id);
        }
        for (long id = 0; fits(receives, drained.capabilities().receiveDepth(), id); id++) {
            drained.postReceive(1000 + id, loopback.left.buffer);
            expected.add(1000 + id);
        }
        List<Long> ids = new ArrayList<>();
        drained.drain(completion -> ids.add(completion.id()), Loopback.DEADLINE);
        assertThat(ids).containsExactlyInAnyOrderElementsOf(expected);
        assertThat(one.poll()).isNull();
        assertThat(two.poll()).isNull();
        assertThat(drained.state()).isEqualTo(QueuePairState.ERR);
        drained.close();
        peer.close();
    }

    private static boolean fits(Posted posted, int depth, long id) {
        return switch (posted) {
            case NONE -> false;
            case SOME -> id < 2;
            case FULL -> id < depth;
        };
    }

    /** The program's code takes the completions of the markers away. */
    private void steal(WorkCompletion completion) {
        for (WorkCompletion next = loopback.left.queue.poll(); next != null; ) {
            taken.incrementAndGet();
            next = loopback.left.queue.poll();
        }
    }

    @Test
    void drainThatFindsNoMarkerEndsWithItsTime() {
        pair.postReceive(2, loopback.left.buffer);
        pair.postReceive(3, loopback.left.buffer);
        pair.postWrite(4, loopback.left.buffer.slice(0, 8), loopback.left.buffer.remote());
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> pair.drain(this::steal, Duration.ofMillis(20)))
                .withMessageContaining("drain(" + pair)
                .withMessageContaining("marker");
        assertThat(taken.get()).isPositive();
    }

    @Test
    void drainThatFindsNoMarkerEndsWithAnInterrupt() {
        pair.postReceive(2, loopback.left.buffer);
        pair.postWrite(4, loopback.left.buffer.slice(0, 8), loopback.left.buffer.remote());
        assertThatExceptionOfType(InterruptedException.class)
                .isThrownBy(() -> pair.drain(
                        completion -> {
                            steal(completion);
                            Thread.currentThread().interrupt();
                        },
                        Loopback.DEADLINE))
                .withMessageContaining("while draining " + pair);
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void drainAcceptsATimeoutWithoutEnd() throws InterruptedException {
        pair.postReceive(2, loopback.left.buffer);
        pair.drain(completion -> taken.incrementAndGet(), ChronoUnit.FOREVER.getDuration());
        assertThat(taken.get()).isEqualTo(1);
    }
}
