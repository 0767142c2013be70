package dev.verbena.net;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Period;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** The counters of a node, which {@link NodeStatistics} explains, and the times of its calls. */
@Name("dev.verbena.NodeStatistics")
@Label("Node statistics")
@Description("The counters of a node since it was opened, over all of its channels, and the times of its calls")
@Category("RDMA")
@Period("10 s")
@StackTrace(false)
final class NodeStatisticsEvent extends Event {
    @Label("Node")
    @Description("The address that the node listens at")
    String node = "";

    @Label("Messages sent")
    long sent;

    @Label("Messages received")
    long received;

    @Label("Bytes sent")
    @DataAmount
    long sentBytes;

    @Label("Bytes received")
    @DataAmount
    long receivedBytes;

    @Label("Calls made")
    long calls;

    @Label("Calls that have failed at the peer")
    long faults;

    @Label("Calls given up")
    long abandoned;

    @Label("Calls served")
    long served;

    @Label("Failures of handlers")
    long handlerFailures;

    @Label("Transfers sent")
    long transfersSent;

    @Label("Transfers received")
    long transfersReceived;

    @Label("Reads, writes and atomics")
    long operations;

    @Label("Bytes of reads and writes")
    @DataAmount
    long operationBytes;

    @Label("Stalls")
    long stalls;

    @Label("Time of stalls")
    @Timespan
    long stalled;

    @Label("Reconnects")
    long reconnects;

    @Label("Channels opened")
    long opened;

    @Label("Channels ended")
    long ended;

    @Label("Strangers refused")
    long strangers;

    @Label("Pinned memory")
    @DataAmount
    long pinnedBytes;

    @Label("Calls: median")
    @Timespan
    long callP50;

    @Label("Calls: 99th percentile")
    @Timespan
    long callP99;

    @Label("Calls: 99.9th percentile")
    @Timespan
    long callP999;

    @Label("Handlers: median")
    @Timespan
    long handlerP50;

    @Label("Handlers: 99th percentile")
    @Timespan
    long handlerP99;

    @Label("Handlers: 99.9th percentile")
    @Timespan
    long handlerP999;

    @Label("Slowest channel")
    @Description("The open channel whose calls have the longest 99th percentile; empty if there were no calls")
    String slowestChannel = "";

    @Label("Most stalled channel")
    @Description("The open channel that has waited longest for receives of its peer; empty if none has")
    String mostStalledChannel = "";
}
