package dev.verbena.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** The connection manager told of something. */
@Name("dev.verbena.ConnectionEvent")
@Label("Connection event")
@Description("The RDMA connection manager told of something that happened to an id")
@Category("RDMA")
@StackTrace(false)
public final class ConnectionEvent extends Event {
    @Label("Type")
    public String type = "";

    @Label("Status")
    @Description("0, an errno as a negative number, or the reason of a refusal")
    public int status;
}
