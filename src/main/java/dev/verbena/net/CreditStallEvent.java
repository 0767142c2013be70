package dev.verbena.net;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;

/** A time in which a channel could not send. */
@Name("dev.verbena.CreditStall")
@Label("Credit stall")
@Description("A channel had a message to send, and the peer had no receive for it")
@Category("RDMA")
@StackTrace(false)
@Threshold("20 ms")
final class CreditStallEvent extends Event {
    @Label("Channel")
    String channel = "";
}
