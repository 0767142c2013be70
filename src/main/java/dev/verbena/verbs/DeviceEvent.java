package dev.verbena.verbs;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** An asynchronous event of a device. */
@Name("dev.verbena.DeviceEvent")
@Label("Asynchronous device event")
@Description("An RDMA device reported an asynchronous event, such as a port that went down")
@Category("RDMA")
@StackTrace(false)
final class DeviceEvent extends Event {
    @Label("Device")
    String device = "";

    @Label("Type")
    String type = "";
}
