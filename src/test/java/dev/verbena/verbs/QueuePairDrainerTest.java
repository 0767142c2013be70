package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.support.DatagramPair;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Mlx5Too;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Giving a queue pair up, and using it again. */
@DeviceTest
@Mlx5Too
class QueuePairDrainerTest {
    private final List<WorkCompletion> taken = new ArrayList<>();
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

    private void drain(QueuePair pair) throws InterruptedException {
        pair.drain(taken::add, Loopback.DEADLINE);
    }

    private List<Long> ids() {
        return taken.stream().map(WorkCompletion::id).toList();
    }

    @Test
    void drainFlushesAllPostedRequests() throws Exception {
        for (int i = 0; i < 3; i++) {
            left.pair.postReceive(i, left.buffer.slice(8L * i, 8));
        }
        SendBatch sends = left.pair.sendBatch(2); // nobody has posted a receive for them
        sends.send(10, left.buffer.slice(0, 8)).unsignaled();
        sends.send(11, left.buffer.slice(0, 8)).post();

        drain(left.pair);
        assertThat(ids()).containsExactlyInAnyOrder(0L, 1L, 2L, 10L, 11L);
        assertThat(taken).allMatch(each -> each.status() == WorkStatus.WORK_REQUEST_FLUSHED);
        assertThat(taken).filteredOn(each -> each.id() < 10).allMatch(each -> each.operation() == Operation.RECEIVE);
        assertThat(taken).filteredOn(each -> each.id() >= 10).allMatch(each -> each.operation() == Operation.SEND);
        assertThat(left.pair.state()).isEqualTo(QueuePairState.ERR);
        assertThat(left.queue.poll()).isNull();
    }

    @Test
    void drainWorksWithAFullReceiveQueue() throws Exception {
        long posted = 0;
        try {
            for (; ; posted++) {
                left.pair.postReceive(posted, left.buffer.slice(0, 8));
            }
        } catch (PostException full) {
            assertThat(full).hasMessageContaining("full");
        }
        drain(left.pair);
        assertThat(taken).hasSize((int) posted);
    }

    @Test
    void drainWorksAfterAFailure() throws Exception {
        left.pair.postReceive(1, left.buffer.slice(0, 8));
        left.pair.postRead(2, left.buffer.slice(0, 8), new RemoteMemory(0, 0, 8));
        WorkCompletion failed = left.next();
        assertThat(failed.id()).isEqualTo(2);
        assertThat(failed.status()).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);

        drain(left.pair);
        assertThat(ids()).containsExactly(1L);
        assertThat(taken.getFirst().firstFailure()).isEqualTo(failed);
    }

    @Test
    void drainSkipsCompletedRequests() throws Exception {
        left.pair.postReceive(1, left.buffer.slice(0, 8));
        right.pair.postSend(2, right.buffer.slice(0, 8));
        left.done();
        right.done();
        left.pair.fail();

        drain(left.pair);
        drain(left.pair);
        assertThat(taken).isEmpty();
    }

    @Test
    void drainReturnsAtOnceWithoutRequests() throws Exception {
        drain(left.pair);
        assertThat(left.pair.state()).isEqualTo(QueuePairState.ERR);
        left.pair.reset();
        drain(left.pair);
        assertThat(left.pair.state()).as("there is nothing to give up").isEqualTo(QueuePairState.RESET);
        assertThat(taken).isEmpty();
    }

    @Test
    void drainedPairWorksAfterReset() throws Exception {
        left.pair.postReceive(1, left.buffer.slice(0, 8));
        left.pair.postSend(2, left.buffer.slice(0, 8));
        right.pair.postReceive(3, right.buffer.slice(0, 8));
        drain(left.pair);
        drain(right.pair);
        taken.clear();

        left.pair.reset();
        right.pair.reset();
        assertThat(left.pair.firstError()).isEmpty();
        left.pair.connect(right.pair.endpoint());
        right.pair.connect(left.pair.endpoint());
        right.pair.postReceive(4, right.buffer.slice(0, 8));
        left.pair.postSend(5, left.buffer.slice(0, 8));
        assertThat(left.done().id()).isEqualTo(5);
        assertThat(right.done().id()).isEqualTo(4);
        assertThat(left.pair.state()).isEqualTo(QueuePairState.RTS);
    }

    @Test
    void drainWorksForDatagrams() throws Exception {
        try (DatagramPair peers = DatagramPair.ready(VerbsArena.ofConfined())) {
            QueuePair pair = peers.left.pair;
            pair.postReceive(1, peers.left.buffer);
            pair.postSend(
                    2, peers.left.buffer.slice(0, 8), DatagramPair.path(peers.right), peers.right.pair.number(), 0);
            drain(pair);

            assertThat(ids()).containsExactlyInAnyOrder(1L, 2L);
            pair.reset();
            pair.toReady(1);
            assertThat(pair.state()).isEqualTo(QueuePairState.RTS);
        }
    }

    @Test
    void drainKeepsSharedReceives() throws Exception {
        SharedReceiveQueue shared = loopback.domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
        QueuePair pair =
                loopback.domain.createQueuePair(QueuePair.rc(left.queue).sharedReceiveQueue(shared));
        pair.connect(pair.endpoint());
        shared.postReceive(1, left.buffer.slice(0, 8));

        drain(pair);
        assertThat(taken).isEmpty();
    }

    @Test
    void shortReceiveOfADatagramNeverSucceeds() throws Exception {
        try (DatagramPair peers = DatagramPair.ready(VerbsArena.ofConfined())) {
            peers.right.pair.postReceive(1, peers.right.buffer.slice(0, 16));
            peers.left.pair.postSend(
                    2,
                    peers.left.buffer.slice(0, 8),
                    DatagramPair.path(peers.right),
                    peers.right.pair.number(),
                    DatagramPair.RIGHT_KEY);
            assertThat(peers.left.done().id()).as("the sender never knows").isEqualTo(2);

            drain(peers.right.pair);
            assertThat(ids()).containsExactly(1L);
            assertThat(taken.getFirst().status())
                    .isIn(
                            WorkStatus.LOCAL_QP_OPERATION_ERROR,
                            WorkStatus.LOCAL_LENGTH_ERROR,
                            WorkStatus.WORK_REQUEST_FLUSHED);
        }
    }

    @Test
    void drainRefusesAClosedPair() {
        left.pair.close();
        assertThatThrownBy(() -> drain(left.pair)).isInstanceOf(IllegalStateException.class);
    }
}
