package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** All threads use the objects of a shared arena, also if their context belongs to one thread. */
@FencedTest
class ConfinedContextTest {
    private static final int INVALID = 22;

    private final VerbsArena confined = VerbsArena.ofConfined();
    private final VerbsArena shared = VerbsArena.ofShared();
    private final Context context = TestDevice.get().open(confined);
    private final ProtectionDomain domain = context.allocateProtectionDomain(shared);
    private final CompletionQueue queue = context.createCompletionQueue(8, shared);

    @AfterEach
    void close() {
        shared.close();
        confined.close();
    }

    @Test
    void otherThreadsMakeConnectAndResetQueuePairs() throws Throwable {
        OtherThread.run(() -> {
            QueuePair pair = domain.createQueuePair(QueuePair.rc(queue));
            pair.connect(pair.endpoint());
            assertThat(pair.query().state()).isEqualTo(QueuePairState.RTS);
            assertThat(pair.state()).isEqualTo(QueuePairState.RTS);
            assertThat(pair.pathTo(pair.endpoint()).destinationLid()).isZero();
            pair.reset();
            assertThat(pair.state()).isEqualTo(QueuePairState.RESET);
            pair.connect(pair.endpoint());
            pair.fail();
            assertThat(pair.query().state()).isEqualTo(QueuePairState.ERR);
            pair.close();
        });
    }

    @Test
    void otherThreadsMakeDatagramQueuePairsReady() throws Throwable {
        OtherThread.run(() -> {
            QueuePair pair = domain.createQueuePair(QueuePair.ud(queue));
            pair.toReady(0x11);
            assertThat(pair.state()).isEqualTo(QueuePairState.RTS);
        });
    }

    @Test
    void otherThreadsLearnWhyACallFailed() {
        for (String function : new String[] {"ibv_create_qp", "ibv_create_srq", "ibv_resize_cq"}) {
            Fenced.fail(function, 1, INVALID);
            assertThrows(
                    VerbsException.class,
                    function,
                    () -> OtherThread.run(() -> {
                        switch (function) {
                            case "ibv_create_qp" -> domain.createQueuePair(QueuePair.rc(queue));
                            case "ibv_create_srq" ->
                                domain.createSharedReceiveQueue(SharedReceiveQueue.basic(), shared);
                            default -> queue.resize(16);
                        }
                    }));
        }
    }

    @Test
    void endpointOfAClosedQueuePairAsksNothing() {
        QueuePair pair = domain.createQueuePair(QueuePair.rc(queue), shared);
        pair.close();
        Fenced.calm();
        assertIllegalState(pair::endpoint);
        assertThat(Fenced.calls("ibv_query_port")).isZero();
    }

    /** The queue is for all threads, but C would not notice that the memory is for one. */
    @Test
    void memoryOfOneThreadIsRefusedToOthersOnQueuesForAll() {
        ProtectionDomain own = context.allocateProtectionDomain(confined);
        MemoryRegion region = own.register(confined.allocate(64, 64), AccessFlag.LOCAL_WRITE);
        QueuePair pair = own.createQueuePair(QueuePair.rc(queue), shared);
        pair.connect(pair.endpoint());
        for (Runnable use : List.<Runnable>of(
                () -> pair.postReceive(1, region),
                () -> pair.postSend(1, region),
                () -> pair.receiveBatch(1).receive(1, region, 0, 8),
                () -> pair.sendBatch(1).send(1, region, 0, 8))) {
            assertThatThrownBy(() -> OtherThread.run(use)).isInstanceOf(WrongThreadException.class);
        }
        pair.postReceive(1, region);
        pair.postSend(1, region);
    }
}
