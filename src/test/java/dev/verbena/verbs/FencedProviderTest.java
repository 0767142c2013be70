package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests that the provider for tests does what it promises, and rules that no device shows. */
@FencedTest
class FencedProviderTest {
    private int before;
    private Loopback loopback;

    @BeforeEach
    void connect() {
        before = Fenced.liveObjects();
        loopback = Loopback.connected();
    }

    @AfterEach
    void closeLeavesNothing() {
        loopback.close();
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    @Test
    void writeMovesBytes() throws InterruptedException {
        loopback.left.buffer.segment().setString(0, "moved");
        loopback.left.pair.postWrite(1, loopback.left.buffer.slice(0, 8), loopback.right.buffer.remote());
        assertThat(loopback.left.done().id()).isEqualTo(1);
        assertThat(loopback.right.buffer.segment().getString(0)).isEqualTo("moved");
    }

    @Test
    void sendWaitsForAReceive() throws InterruptedException {
        long waited = Fenced.receiverNotReady();
        loopback.left.pair.postSend(1, loopback.left.buffer.slice(0, 8));
        assertThat(loopback.left.queue.poll()).isEmpty();
        loopback.right.pair.postReceive(2, loopback.right.buffer);
        assertThat(loopback.left.done().id()).isEqualTo(1);
        assertThat(loopback.right.done().id()).isEqualTo(2);
        assertThat(Fenced.receiverNotReady()).isGreaterThan(waited);
    }

    @Test
    void nthCallFailsOnDemand() {
        Fenced.fail("ibv_alloc_pd", 2, Errno.ENOMEM);
        try (ProtectionDomain first = loopback.context.allocateProtectionDomain()) {
            assertThat(first.isOpen()).isTrue();
            assertThatThrownBy(loopback.context::allocateProtectionDomain)
                    .isInstanceOf(VerbsException.class)
                    .hasMessageContaining("ENOMEM");
        }
    }

    @Test
    void freeOfRegisteredMemoryIsAViolation() {
        Arena foreign = Arena.ofConfined();
        MemorySegment memory = foreign.allocate(64);
        MemoryRegion region = loopback.domain.registerForeign(memory, List.of(AccessFlag.LOCAL_WRITE), loopback.arena);
        int violations = Fenced.violations();
        foreign.close();
        assertThat(Fenced.violations()).isEqualTo(violations + 1);
        assertThat(Fenced.firstViolation()).contains("free of memory at");
        Fenced.allowViolations(1);
        region.close();
    }

    @Test
    void queuePairRefusesQueuesOfAnotherContext() {
        try (VerbsArena other = VerbsArena.ofConfined()) {
            Context context = loopback.context.device().open(other);
            CompletionQueue foreign = context.createCompletionQueue(8);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> loopback.domain.createQueuePair(QueuePair.rc(foreign)))
                    .withMessageContaining("belongs to another context");
            SharedReceiveQueue receives =
                    context.allocateProtectionDomain().createSharedReceiveQueue(SharedReceiveQueue.basic());
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> loopback.domain.createQueuePair(
                            QueuePair.rc(loopback.left.queue).sharedReceiveQueue(receives)))
                    .withMessageContaining("belongs to another context");
        }
    }
}
