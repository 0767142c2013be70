package dev.verbena.net;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A failure of this side that has kept a peer out. */
@Name("dev.verbena.AdmitFailure")
@Label("Admit failure")
@Description("The test of NodeOptions.admit has thrown, or the node has failed, and so a peer was not admitted")
@Category("RDMA")
@StackTrace(false)
final class AdmitFailureEvent extends Event {
    @Label("Peer")
    String peer = "";

    @Label("Thrown")
    String thrown = "";
}
