package dev.verbena.net;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A failure of a call. */
@Name("dev.verbena.CallFailure")
@Label("Call failure")
@Description("The peer's program has refused a call of this side or has thrown, or this side has given the call up")
@Category("RDMA")
@StackTrace(false)
final class CallFailureEvent extends Event {
    @Label("Channel")
    String channel = "";

    @Label("Reason")
    @Description("The text of the peer's program")
    String reason = "";
}
