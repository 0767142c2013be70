package dev.verbena.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A work request failed. What was flushed afterwards is not told. */
@Name("dev.verbena.WorkFailure")
@Label("Work failure")
@Description("A work request failed; what was flushed after it is left out")
@Category("RDMA")
@StackTrace(false)
public final class WorkFailureEvent extends Event {
    @Label("Queue pair")
    public String queuePair = "";

    @Label("Id")
    public long id;

    @Label("Operation")
    public String operation = "";

    @Label("Status")
    public String status = "";

    @Label("Vendor error")
    public int vendorError;
}
