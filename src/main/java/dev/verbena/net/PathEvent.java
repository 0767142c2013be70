package dev.verbena.net;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A channel has lost its connection and waits for another one, or has another one. */
@Name("dev.verbena.ChannelPath")
@Label("Channel path")
@Description("A channel has lost its connection, and waits for another one; or has another one")
@Category("RDMA")
@StackTrace(false)
final class PathEvent extends Event {
    @Label("Channel")
    String channel = "";

    @Label("Change")
    @Description("LOST or BACK")
    String change = "";

    @Label("Details")
    String details = "";
}
