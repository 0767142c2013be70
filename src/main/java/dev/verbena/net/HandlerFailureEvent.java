package dev.verbena.net;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A failure of a program's handler. */
@Name("dev.verbena.HandlerFailure")
@Label("Handler failure")
@Description("A handler of a node has thrown: a call of the peer has failed, or the channel has ended")
@Category("RDMA")
@StackTrace(false)
final class HandlerFailureEvent extends Event {
    @Label("Channel")
    String channel = "";

    @Label("Thrown")
    String thrown = "";

    @Label("Place")
    @Description("The method and line that have thrown; empty if the exception has no stack trace")
    String place = "";
}
