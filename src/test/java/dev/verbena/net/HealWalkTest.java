package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Walks over channels that lose their connections all the time, with a model, on each wire.
 * {@code -Ddev.verbena.walk.operations=N} sets the number of operations of each walk, and {@code -Ddev.verbena.walk.seed=N} the
 * seed of its steps, but not the order of its threads.
 */
@FencedTest
@Tag("walk")
class HealWalkTest {
    private static final long OPERATIONS = Long.getLong("dev.verbena.walk.operations", 3000);
    private static final long SEED = Long.getLong("dev.verbena.walk.seed", 4711);
    private static final int CHANNELS = 4;

    @ParameterizedTest
    @CsvSource({
        "RDMA, NONE, 16,",
        "TCP, NONE, 4,",
        "RDMA, SEALED, 4,",
        "TCP, SEALED, 4,",
        "RDMA, AUTHENTICATED, 4,",
        "AUTO, NONE, 4, 127.0.0.2",
        "RDMA, SEALED, 16, 10.9.8.2",
        "TCP, NONE, 4, 127.0.0.2"
    })
    void nothingIsLostOrComesTwiceOrInAnotherOrder(
            Transport transport, Protection protection, int window, @Nullable String secondAddress) throws Exception {
        int before = Fenced.liveObjects();
        NodePair.over(transport);
        NodePair.protect(protection);
        NodeOptions options = NodePair.SMALL
                .window(window)
                .heal(Duration.ofMinutes(2))
                .operations(4)
                .maxTransferSize(1 << 20)
                .closeTimeout(Duration.ofSeconds(10));
        if (secondAddress != null) {
            options = options.paths(new InetSocketAddress(secondAddress, 0));
        }
        try (NodePair nodes = new NodePair(options)) {
            Map<String, Long> counts = HealWalk.take(nodes, options, CHANNELS, SEED, OPERATIONS);
            System.out.println(
                    transport + ", " + protection + (secondAddress == null ? "" : ", two paths") + ": " + counts);
            assertThat(counts).containsKeys("message", "call", "write and read", "atomic", "transfer", "fault: cut");
        } finally {
            NodePair.over(Transport.RDMA);
            NodePair.protect(Protection.NONE);
        }
        Await.until("no object is left", () -> Fenced.liveObjects() == before);
    }
}
