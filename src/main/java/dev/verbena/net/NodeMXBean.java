package dev.verbena.net;

import java.util.List;
import java.util.Map;

/**
 * A {@link Node} as a management agent sees it, by the name {@code dev.verbena:type=Node,address="10.9.9.1:7174"}. Each node
 * that makes progress is there about a second after the process has an MBean server, which an agent makes that connects to
 * the process, or the program with {@code ManagementFactory.getPlatformMBeanServer()}. A node whose handlers keep its thread
 * busy is there when they have handled what has arrived. It needs the module {@code java.management}, without which nodes
 * work as well.
 */
public interface NodeMXBean {
    /**
     * Returns the node as text, with its device and its channels.
     *
     * @return the text of {@link Node#toString}
     */
    String getDescription();

    /**
     * Returns the counters of the node.
     *
     * @return the counters of {@link Node#statistics} by the names of its methods
     */
    Map<String, Long> getStatistics();

    /**
     * Returns the times of the calls that the node has made.
     *
     * @return the times, as {@link Node#latency} returns them
     */
    Latency getLatency();

    /**
     * Returns the times that the node's handlers have taken.
     *
     * @return the times, as {@link Node#handlerLatency} returns them
     */
    Latency getHandlerLatency();

    /**
     * Returns why a call of this node failed last: the peer's program has refused it or has thrown, or this side has given
     * it up.
     *
     * @return the channel and the reason, such as {@code to 10.9.9.1:7174: no such account}; empty if no call has failed
     */
    String getCallFailure();

    /**
     * Returns the exception that a handler threw last.
     *
     * @return its text; empty if no handler has thrown
     */
    String getHandlerFailure();

    /**
     * Returns the channels that are open.
     *
     * @return the channels with their counters and times
     */
    List<OpenChannel> getChannels();

    /**
     * Returns the number of bytes that the process pins, over all of its nodes and other users.
     *
     * @return the number of {@link dev.verbena.VerbsArena#pinnedBytes}
     */
    long getPinnedBytesOfProcess();

    /**
     * A channel that is open.
     *
     * @param channel the direction and the peer's address, such as {@code to 10.9.9.1:7174}
     * @param statistics the counters of {@link Channel#statistics} by the names of its methods
     * @param latency the times of the calls that this side has made
     * @param handlerLatency the times that the handler has taken
     */
    record OpenChannel(String channel, Map<String, Long> statistics, Latency latency, Latency handlerLatency) {
        static OpenChannel of(Channel open) {
            return new OpenChannel(
                    open.session().toText(), open.statistics().byName(), open.latency(), open.handlerLatency());
        }
    }
}
