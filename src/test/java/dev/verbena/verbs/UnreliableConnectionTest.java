package dev.verbena.verbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Mlx5Too;
import dev.verbena.support.TestDevice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What moves over an unreliable connection. */
@DeviceTest
@Mlx5Too
class UnreliableConnectionTest {
    private VerbsArena arena;
    private CompletionQueue sent;
    private CompletionQueue received;
    private QueuePair left;
    private QueuePair right;
    private MemoryRegion source;
    private MemoryRegion target;

    @BeforeEach
    void connect() {
        arena = VerbsArena.ofConfined();
        Context context = TestDevice.get().open(arena);
        ProtectionDomain domain = context.allocateProtectionDomain();
        sent = context.createCompletionQueue(16);
        received = context.createCompletionQueue(16);
        left = domain.createQueuePair(QueuePair.uc(sent));
        right = domain.createQueuePair(QueuePair.uc(sent, received));
        source = domain.register(arena.allocate(8192, 4096));
        target = domain.register(arena.allocate(8192, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        left.connect(right.endpoint());
        right.connect(left.endpoint());
        source.segment().set(JAVA_LONG, 0, 42);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private static WorkCompletion done(CompletionQueue queue) throws InterruptedException {
        return queue.await(Loopback.DEADLINE).orThrow();
    }

    @Test
    void sendDeliversMessagesOfManyPackets() throws Exception {
        right.postReceive(1, target);
        left.postSend(2, source);

        assertThat(done(sent).opcode()).isEqualTo(WorkCompletion.Opcode.SEND);
        assertThat(done(received).byteLength()).isEqualTo(8192);
        assertThat(target.segment().mismatch(source.segment())).isEqualTo(-1);
    }

    @Test
    void emptySendDeliversImmediateData() throws Exception {
        right.postReceive(1, target);
        left.sendBatch(1).send(2).immediate(9).post();

        done(sent);
        WorkCompletion message = done(received);
        assertThat(message.byteLength()).isZero();
        assertThat(message.immediate()).isEqualTo(9);
    }

    @Test
    void writeStoresAndDeliversImmediateData() throws Exception {
        right.postReceive(1, target);
        left.postWrite(2, source.slice(0, 8), target.remote());
        left.postWriteImmediate(3, source.slice(0, 8), target.slice(8, 8).remote(), 7);

        assertThat(done(sent).opcode()).isEqualTo(WorkCompletion.Opcode.RDMA_WRITE);
        done(sent);
        assertThat(done(received).immediate()).isEqualTo(7);
        assertThat(target.segment().get(JAVA_LONG, 0)).isEqualTo(42);
        assertThat(target.segment().get(JAVA_LONG, 8)).isEqualTo(42);
    }

    @Test
    void sendWithoutReceiveIsLost() throws Exception {
        left.postSend(1, source.slice(0, 8));
        assertThat(done(sent).id()).as("the sender never knows").isEqualTo(1);

        right.postReceive(2, target);
        left.postSend(3, source.slice(0, 16));
        done(sent);
        assertThat(done(received).byteLength()).isEqualTo(16);
        assertThat(right.query().state()).isEqualTo(QueuePairState.RTS);
    }
}
