package dev.verbena.cm;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** An event of the connection manager. */
@Name("dev.verbena.ConnectionEvent")
@Label("Connection event")
@Description("The RDMA connection manager reported an event of a connection id")
@Category("RDMA")
@StackTrace(false)
final class ConnectionEvent extends Event {
    @Label("Type")
    String type = "";

    @Label("Id")
    @Description("The number of the connection id in this process; of a request, that of the new id")
    String id = "";

    @Label("Status")
    @Description("0, a negative errno, or the reason of a rejection")
    int status;

    @Label("Local address")
    @Description("The address of this side; empty if it is not known, or no address of IP")
    String local = "";

    @Label("Peer")
    @Description("The address of the peer; empty if it is not known, or no address of IP")
    String peer = "";
}
