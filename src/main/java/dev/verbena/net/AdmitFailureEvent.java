package dev.verbena.net;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A failure of the program's test of a peer that connects. */
@Name("dev.verbena.AdmitFailure")
@Label("Admit failure")
@Description("The test of NodeOptions.admit has thrown, and so the peer was refused")
@Category("RDMA")
@StackTrace(false)
final class AdmitFailureEvent extends Event {
    @Label("Peer")
    String peer = "";

    @Label("Thrown")
    String thrown = "";
}
