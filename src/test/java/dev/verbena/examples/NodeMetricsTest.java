package dev.verbena.examples;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.verbena.VerbsArena;
import dev.verbena.examples.metrics.NodeMetrics;
import dev.verbena.net.CallException;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.NodeStatistics;
import dev.verbena.net.Transport;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The example that publishes the counters of a node. */
@Timeout(120)
class NodeMetricsTest {
    private static final Path SOURCE = Path.of("src/examples/java/dev/verbena/examples/metrics/NodeMetrics.java");

    private static void answer(Channel channel, Message request) {
        if (request.length() == 0) {
            request.refuse("no");
        } else {
            request.reply().length(2).send();
        }
    }

    private static double number(SimpleMeterRegistry registry, String name, String... tags) {
        return registry.get(name).tags(tags).functionCounter().count();
    }

    @Test
    void metersHaveWhatTheNodeHasCounted() throws Exception {
        NodeOptions options = NodeOptions.defaults().transport(Transport.TCP);
        InetSocketAddress own = new InetSocketAddress("127.0.0.1", 0);
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node server = Node.open(own, options, arena);
            Node client = Node.open(own, options, arena);
            server.listen(NodeMetricsTest::answer);
            Channel channel = client.connect(server.address(), DEADLINE);
            NodeMetrics.publish(client, registry);
            channel.call(channel.message(DEADLINE).length(5), DEADLINE).close();
            try {
                channel.call(channel.message(DEADLINE).length(0), DEADLINE).close();
            } catch (CallException refused) {
                assertThat(number(registry, "rpc.client.errors", "error.type", "fault"))
                        .isOne();
            }
            assertThat(number(registry, "rpc.client.calls")).isEqualTo(2);
            assertThat(number(registry, "verbena.io", "network.io.direction", "transmit"))
                    .isEqualTo(5);
            assertThat(registry.get("rpc.client.call.duration")
                            .tags(
                                    "server.address",
                                    "127.0.0.1",
                                    "server.port",
                                    "" + client.address().getPort())
                            .functionTimer())
                    .satisfies(timer -> {
                        assertThat(timer.count()).isEqualTo(client.latency().count());
                        assertThat(timer.totalTime(TimeUnit.NANOSECONDS))
                                .isCloseTo(client.latency().totalNanos(), within(0.5)); // it counts in seconds
                    });
            assertThat(registry.getMeters()).allSatisfy(NodeMetricsTest::measures);
            registry.close();
        }
    }

    private static void measures(Meter meter) {
        assertThat(meter.measure())
                .allSatisfy(each ->
                        assertThat(each.getValue()).as(meter.getId().toString()).isNotNegative());
    }

    /** The example has all counters, on one page. */
    @Test
    void allCountersArePublishedInSixtyLines() throws IOException {
        String text = Files.readString(SOURCE);
        assertThat(text.lines().count()).isLessThanOrEqualTo(60);
        assertThat(Arrays.stream(NodeStatistics.class.getMethods()).filter(each -> each.getReturnType() == long.class))
                .isNotEmpty()
                .allSatisfy(counter -> assertThat(text).contains(counter.getName()));
    }
}
