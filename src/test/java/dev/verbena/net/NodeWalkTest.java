package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Walks of several threads at once over three nodes, on each wire. {@code -Ddev.verbena.walk.seconds=N} sets the time of each
 * walk, and {@code -Ddev.verbena.walk.seed=N} the seed of its steps, but not the order of its threads.
 */
@FencedTest
@Tag("walk")
class NodeWalkTest {
    private static final Duration TIME = Duration.ofSeconds(Integer.getInteger("dev.verbena.walk.seconds", 1));
    private static final long SEED = Long.getLong("dev.verbena.walk.seed", 4711);

    @ParameterizedTest
    @CsvSource({"RDMA, false, 4", "TCP, false, 8", "RDMA, true, 8", "TCP, true, 4"})
    void stepsOfThreadsAtOnceEndAndLeaveNothing(Transport transport, boolean sealed, int threads) throws Exception {
        int before = Fenced.liveObjects();
        int violations = Fenced.violations();
        Map<String, Long> steps = walk(transport, sealed, threads, true);
        assertThat(steps).containsKeys("call: done", "connect: done", "close a node: done", "transfer: done");
        Await.until("no object is left", () -> Fenced.liveObjects() == before);
        assertThat(Fenced.violations()).as(Fenced::firstViolation).isEqualTo(violations);
    }

    private static Map<String, Long> walk(Transport transport, boolean sealed, int threads, boolean fullStacks)
            throws Exception {
        NodeOptions options = NodeOptions.defaults()
                .window(16)
                .sends(8)
                .calls(8)
                .messageSize(256)
                .closeTimeout(Duration.ofSeconds(1))
                .transport(transport);
        if (sealed) {
            options = options.secret("of the walk, of all its nodes".getBytes(StandardCharsets.UTF_8));
        }
        String host = transport == Transport.RDMA ? "10.9.9.1" : "127.0.0.1";
        Map<String, Long> steps =
                NodeWalk.take(SEED, threads, fullStacks, new InetSocketAddress(host, 0), options, TIME);
        System.out.println(transport + (sealed ? ", sealed: " : ": ") + steps);
        return steps;
    }

    /** An order that contradicts another fails in the thread that takes it, and is printed. */
    @ParameterizedTest
    @CsvSource({"RDMA, true", "TCP, false"})
    void locksAreTakenInOneOrder(String transport, String sealed) {
        String output = ChildJvm.onTheProvider("-Ddev.verbena.lockOrder=true")
                .runOnClassPath(Ordered.class, transport, sealed)
                .successfulOutput();
        assertThat(output)
                .contains("close a node: done", "left 0 objects and 0 violations")
                .doesNotContain("is taken after that of");
    }

    /** A program that walks. */
    static final class Ordered {
        public static void main(String[] arguments) throws Exception {
            walk(Transport.valueOf(arguments[0]), Boolean.parseBoolean(arguments[1]), 4, false); // notes take stack
            System.out.println("left " + Fenced.remains());
        }
    }
}
