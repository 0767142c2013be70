package dev.verbena.internal.jfr;

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
public final class WorkFailureEvent extends Event {
    @Label("Queue pair")
    public String queuePair = "";

    @Label("Channel")
    @Description("The channel of a node that has the queue pair; empty for other queue pairs")
    public String channel = "";

    @Label("Id")
    public long id;

    @Label("Operation")
    public String operation = "";

    @Label("Status")
    public String status = "";

    @Label("Vendor error")
    public int vendorError;
}
