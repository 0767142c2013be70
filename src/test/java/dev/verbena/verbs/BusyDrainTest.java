package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

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

    @Test
    void drainAcceptsATimeoutWithoutEnd() throws InterruptedException {
        pair.postReceive(2, loopback.left.buffer);
        pair.drain(completion -> taken.incrementAndGet(), ChronoUnit.FOREVER.getDuration());
        assertThat(taken.get()).isEqualTo(1);
    }
}
