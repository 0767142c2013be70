package dev.verbena.verbs;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** The failure of a work request. Requests that are flushed afterwards have no event. */
@Name("dev.verbena.WorkFailure")
@Label("Work failure")
@Description("A work request failed. Requests that are flushed afterwards have no event")
@Category("RDMA")
@StackTrace(false)
final class WorkFailureEvent extends Event {
    @Label("Queue pair")
    String queuePair = "";

    @Label("Channel")
    @Description("The channel of a node that has the queue pair; empty for other queue pairs")
    String channel = "";

    @Label("Id")
    long id;

    @Label("Operation")
    String operation = "";

    @Label("Status")
    String status = "";

    @Label("Vendor error")
    int vendorError;
}
