package dev.verbena.examples.metrics;

import dev.verbena.VerbsArena;
import dev.verbena.net.Latency;
import dev.verbena.net.Node;
import dev.verbena.net.NodeStatistics;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** Publishes what a node counts by Micrometer, with OpenTelemetry's names. A registry closes before its nodes do. */
public record NodeMetrics(Node node, MeterRegistry registry, Tags tags) {
    public static void publish(Node node, MeterRegistry registry) {
        String port = String.valueOf(node.address().getPort());
        Tags tags = Tags.of("server.address", node.address().getHostString(), "server.port", port);
        new NodeMetrics(node, registry, tags).publish();
    }

    private void publish() {
        duration("rpc.client.call.duration", Node::latency);
        duration("rpc.server.call.duration", Node::handlerLatency);
        count("rpc.client.calls", "{call}", NodeStatistics::calls);
        count("rpc.client.errors", "{call}", NodeStatistics::faults, "error.type", "fault");
        count("rpc.client.errors", "{call}", NodeStatistics::abandoned, "error.type", "abandoned");
        count("rpc.server.calls", "{call}", NodeStatistics::served);
        count("rpc.server.errors", "{call}", NodeStatistics::handlerFailures, "error.type", "exception");
        count("verbena.messages", "{message}", NodeStatistics::sent, "network.io.direction", "transmit");
        count("verbena.messages", "{message}", NodeStatistics::received, "network.io.direction", "receive");
        count("verbena.io", "By", NodeStatistics::sentBytes, "network.io.direction", "transmit");
        count("verbena.io", "By", NodeStatistics::receivedBytes, "network.io.direction", "receive");
        count("verbena.transfers", "{transfer}", NodeStatistics::transfersSent, "network.io.direction", "transmit");
        count("verbena.transfers", "{transfer}", NodeStatistics::transfersReceived, "network.io.direction", "receive");
        count("verbena.operations", "{operation}", NodeStatistics::operations);
        count("verbena.operation.io", "By", NodeStatistics::operationBytes);
        count("verbena.stalls", "{stall}", NodeStatistics::stalls);
        count("verbena.stall.time", "s", now -> now.stalledNanos() / 1e9);
        count("verbena.reconnects", "{connection}", NodeStatistics::reconnects);
        count("verbena.channels.opened", "{channel}", NodeStatistics::opened);
        count("verbena.channels.ended", "{channel}", NodeStatistics::ended);
        count("verbena.strangers", "{peer}", NodeStatistics::strangers);
        registry.gauge(
                "verbena.memory.pinned", tags, node, of -> of.statistics().pinnedBytes());
        registry.gauge("process.memory.pinned", node, of -> VerbsArena.pinnedBytes());
    }

    private void count(String name, String unit, ToDoubleFunction<NodeStatistics> number, String... more) {
        var counter = FunctionCounter.builder(name, node, of -> number.applyAsDouble(of.statistics()));
        counter.baseUnit(unit).tags(tags.and(more)).register(registry);
    }

    private void duration(String name, Function<Node, Latency> times) {
        ToDoubleFunction<Node> total = of -> times.apply(of).totalNanos();
        ToDoubleFunction<Node> p99 = of -> times.apply(of).p99Nanos();
        registry.more().timer(name, tags, node, of -> times.apply(of).count(), total, TimeUnit.NANOSECONDS);
        registry.more().timeGauge(name + ".p99", tags, node, TimeUnit.NANOSECONDS, p99);
    }
}
