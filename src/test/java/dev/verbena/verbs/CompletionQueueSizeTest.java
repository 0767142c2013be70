package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.support.Unsupported;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How large completion queues can be, and how they change. */
@DeviceTest
class CompletionQueueSizeTest {
    private static final int EINVAL = 22;

    private VerbsArena arena;
    private Context context;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofConfined();
        context = TestDevice.get().open(arena);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    @Twin("test_cq.CQAPITest.test_create_cq")
    @Test
    void createAcceptsEachSizeAndVector() {
        int most = context.attributes().maxCompletions();
        for (int size : new int[] {1, most / 2, most}) {
            for (int vector = 0; vector < context.completionVectors(); vector++) {
                try (CompletionQueue queue = context.createCompletionQueue(
                        CompletionQueueOptions.of(size).completionVector(vector))) {
                    assertThat(queue.capacity()).isGreaterThanOrEqualTo(size);
                }
            }
        }
    }

    @Twin("test_cq.CQAPITest.test_create_cq_bad_flow")
    @Test
    void createRefusesInvalidSizesAndVectors() {
        int tooMany = context.attributes().maxCompletions() + 1;
        assertThatThrownBy(() -> context.createCompletionQueue(tooMany))
                .isInstanceOfSatisfying(
                        VerbsException.class, e -> assertThat(e.errno()).isEqualTo(EINVAL));
        CompletionQueueOptions wrong = CompletionQueueOptions.of(100).completionVector(context.completionVectors() + 1);
        assertThatThrownBy(() -> context.createCompletionQueue(wrong))
                .isInstanceOfSatisfying(
                        VerbsException.class, e -> assertThat(e.errno()).isEqualTo(EINVAL));
    }

    @Twin("test_cq.CQAPITest.test_create_cq_with_comp_channel")
    @Test
    void createAcceptsAChannelForEachSize() {
        int most = context.attributes().maxCompletions();
        for (int size : new int[] {1, most / 2, most}) {
            try (CompletionChannel channel = context.createCompletionChannel();
                    CompletionQueue queue = context.createCompletionQueue(
                            CompletionQueueOptions.of(size).channel(channel))) {
                assertThat(queue.channel()).contains(channel);
            }
        }
    }

    @Twin("test_cq.CQTest.test_resize_cq")
    @Test
    void resizeKeepsTheCompletionsInTheQueue() throws Exception {
        try (Loopback loopback = Loopback.connected()) {
            CompletionQueue queue = loopback.right.queue;
            queue.resize(1);
            assertThat(queue.capacity()).isPositive();
            queue.resize(7);
            int capacity = queue.capacity();
            assertThat(capacity).isGreaterThanOrEqualTo(7);
            for (int i = 0; i < capacity - 1; i++) {
                loopback.right.pair.postReceive(i, loopback.right.buffer);
            }
            for (int i = 0; i < capacity - 1; i++) {
                loopback.left.pair.postSend(i, loopback.left.buffer.slice(0, 8));
                loopback.left.done(); // acknowledged, so that the receive is in the queue
            }
            assertThatThrownBy(() -> queue.resize(1))
                    .isInstanceOfSatisfying(
                            VerbsException.class, e -> assertThat(e.errno()).isEqualTo(EINVAL))
                    .hasMessageContaining("ibv_resize_cq");
            assertThat(queue.capacity()).isEqualTo(capacity);
            queue.resize(100);
            for (int i = 0; i < capacity - 1; i++) {
                assertThat(loopback.right.done().id())
                        .as("what was in it stays")
                        .isEqualTo(i);
            }
        }
    }

    @Test
    void moderateSucceeds() {
        CompletionQueue queue = context.createCompletionQueue(16);
        Unsupported.orAborts("ibv_modify_cq", () -> queue.moderate(4, Duration.ofMillis(1)));
        queue.moderate(0, Duration.ZERO);
    }

    @Test
    void moderateRefusesLimitsBeyondTheStruct() {
        CompletionQueue queue = context.createCompletionQueue(16);
        assertThatThrownBy(() -> queue.moderate(0x10000, Duration.ZERO)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> queue.moderate(0, Duration.ofMillis(66))).isInstanceOf(IllegalArgumentException.class);
    }
}
