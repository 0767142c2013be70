package dev.verbena.net;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** The end of a channel. */
@Name("dev.verbena.ChannelEnd")
@Label("Channel end")
@Description("A channel between two nodes has ended")
@Category("RDMA")
@StackTrace(false)
final class ChannelEndEvent extends Event {
    @Label("Channel")
    String channel = "";

    @Label("Reason")
    @Description("CLOSED if this side has closed the channel, else the reason of the end")
    String reason = "";

    @Label("Details")
    String details = "";
}
