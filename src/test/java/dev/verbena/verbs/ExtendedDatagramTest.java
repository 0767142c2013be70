package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.verbs.address.Grh;
import dev.verbena.verbs.device.QueuePairType;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Datagrams through extended queue pairs and extended completion queues: a queue pair sends to itself. */
@DeviceTest
class ExtendedDatagramTest {
    private static final int ROUNDS = 100;
    private static final int KEY = 0x4321;

    private VerbsArena arena;
    private CompletionQueue queue;
    private QueuePair pair;
    private AddressHandle path;
    private MemoryRegion buffer;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofConfined();
        Context context = TestDevice.get().open(arena);
        ProtectionDomain domain = context.allocateProtectionDomain();
        queue = context.createCompletionQueue(CompletionQueueOptions.of(256).fields(CompletionField.standard()));
        pair = domain.createQueuePair(QueuePair.ud(queue)
                .operations(QueuePairOptions.OfferedOperation.usual(QueuePairType.UD))
                .inlineSize(32));
        pair.toReady(KEY);
        path = domain.createAddressHandle(pair.pathTo(pair.endpoint()));
        buffer = domain.register(arena.allocate(8192, 4096), AccessFlag.LOCAL_WRITE);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    /** The receive of a datagram, once its send has completed as well. */
    private static WorkCompletion received(ExtendedCompletions done) {
        long end = System.nanoTime() + Loopback.DEADLINE.toNanos();
        WorkCompletion received = null;
        for (int ends = 0; ends < 2; ends += done.poll()) {
            assertThat(System.nanoTime()).as("the deadline").isLessThan(end);
            while (done.next()) {
                received = done.orThrow().isReceive() ? done.completion() : received;
            }
        }
        while (done.next()) {
            received = done.orThrow().isReceive() ? done.completion() : received;
        }
        return Objects.requireNonNull(received, "two completions and no receive");
    }

    @Twin({"test_qpex.QpExTestCase.test_qp_ex_ud_send", "test_cqex.CqExTestCase.test_ud_traffic_cq_ex"})
    @Test
    void extendedSendDeliversDatagrams() {
        ExtendedCompletions done = queue.extendedCompletions(1);
        for (int i = 0; i < ROUNDS; i++) {
            pair.postReceive(i, buffer.slice(0, 4096));
            pair.postSend(i, buffer.slice(4096, i), path, pair.number(), KEY);
            WorkCompletion received = received(done);
            assertThat(received.byteLength()).isEqualTo(Grh.BYTES + i);
            assertThat(received.sourceQueuePair()).isEqualTo(pair.number());
            assertThat(received.hasRoutingHeader()).isTrue();
        }
    }

    @Twin("test_qpex.QpExTestCase.test_qp_ex_ud_send_imm")
    @Test
    void extendedSendDeliversImmediateData() {
        ExtendedCompletions done = queue.extendedCompletions(1);
        SendBatch batch = pair.sendBatch(1);
        for (int i = 0; i < ROUNDS; i++) {
            pair.postReceive(i, buffer.slice(0, 4096));
            batch.clear()
                    .send(i, buffer.slice(4096, 8))
                    .immediate(i)
                    .to(path, pair.number(), KEY)
                    .post();
            WorkCompletion received = received(done);
            assertThat(received.hasImmediate()).isTrue();
            assertThat(received.immediate()).isEqualTo(i);
        }
    }

    @Twin("test_qpex.QpExTestCase.test_qp_ex_ud_zero_size")
    @Test
    void extendedSendDeliversEmptyDatagrams() {
        ExtendedCompletions done = queue.extendedCompletions(1);
        SendBatch batch = pair.sendBatch(1);
        for (int i = 0; i < ROUNDS; i++) {
            pair.postReceive(i, buffer.slice(0, 4096));
            batch.clear().send(i).to(path, pair.number(), KEY).post();
            assertThat(received(done).byteLength()).isEqualTo(Grh.BYTES);
        }
    }
}
