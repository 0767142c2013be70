package dev.verbena.net;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** The beginning of a channel. */
@Name("dev.verbena.ChannelOpen")
@Label("Channel open")
@Description("A channel between two nodes was opened")
@Category("RDMA")
@StackTrace(false)
final class ChannelOpenEvent extends Event {
    @Label("Channel")
    String channel = "";

    @Label("Protection")
    String protection = "";
}
