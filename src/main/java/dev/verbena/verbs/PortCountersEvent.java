package dev.verbena.verbs;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Period;
import jdk.jfr.StackTrace;

/** A counter of a port that has changed. */
@Name("dev.verbena.PortCounters")
@Label("Port counter")
@Description("A counter of a port has changed. The devices are those that this process has opened")
@Category("RDMA")
@Period("10 s")
@StackTrace(false)
final class PortCountersEvent extends Event {
    @Label("Device")
    String device = "";

    @Label("Port")
    int port;

    @Label("Counter")
    @Description("The kernel's name")
    String counter = "";

    @Label("Value")
    @Description("The value now, as the kernel shows it. port_xmit_data and port_rcv_data count words of four bytes")
    long value;

    @Label("Change")
    @Description("The difference to the counter's event before, or to the start of the recording")
    long change;
}
