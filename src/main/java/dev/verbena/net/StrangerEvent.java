package dev.verbena.net;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A peer that has not proved that it knows the secret. */
@Name("dev.verbena.Stranger")
@Label("Stranger refused")
@Description("A peer of a node with a secret has not proved that it knows the secret, and was refused")
@Category("RDMA")
@StackTrace(false)
final class StrangerEvent extends Event {
    @Label("Peer")
    String peer = "";
}
