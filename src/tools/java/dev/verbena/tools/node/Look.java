package dev.verbena.tools.node;

import dev.verbena.net.Latency;
import dev.verbena.net.NodeMXBean;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A node as its bean shows it at one time.
 *
 * @param description the node as text, which begins with its address
 * @param statistics the counters by name
 * @param callFailure why a call has failed last; empty if none has
 * @param handlerFailure what a handler has thrown last; empty if none has
 * @param channels the open channels
 * @param pinnedBytesOfProcess the bytes that the whole process pins
 */
record Look(
        String description,
        Map<String, Long> statistics,
        String callFailure,
        String handlerFailure,
        List<NodeMXBean.OpenChannel> channels,
        long pinnedBytesOfProcess) {
    /** Looks at a node. */
    static Look at(NodeMXBean bean) {
        return new Look(
                bean.getDescription(),
                bean.getStatistics(),
                bean.getCallFailure(),
                bean.getHandlerFailure(),
                bean.getChannels(),
                bean.getPinnedBytesOfProcess());
    }

    /** Returns the words before the number of channels, by which the node is known. */
    String name() {
        int end = description.indexOf(" (");
        return end < 0 ? description : description.substring(0, end);
    }

    /** Returns the differences of counters. */
    static Map<String, Long> changes(Map<String, Long> before, Map<String, Long> now) {
        Map<String, Long> changes = new HashMap<>();
        now.forEach((counter, value) -> changes.put(counter, value - before.getOrDefault(counter, 0L)));
        return changes;
    }

    /** Returns the times between two looks: their number, their sum, and the percentiles of all until the second. */
    static Latency changes(Latency before, Latency now) {
        return new Latency(
                now.count() - before.count(),
                now.totalNanos() - before.totalNanos(),
                now.p50Nanos(),
                now.p99Nanos(),
                now.p999Nanos(),
                now.maxNanos());
    }
}
