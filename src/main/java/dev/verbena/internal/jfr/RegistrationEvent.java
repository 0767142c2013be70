package dev.verbena.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** A registration of memory, with its size and duration. */
@Name("dev.verbena.Registration")
@Label("Memory registration")
@Description("Memory was registered with an RDMA device. Nodes over TCP register with none, and record no such event")
@Category("RDMA")
public final class RegistrationEvent extends Event {
    @Label("Device")
    public String device = "";

    @Label("Size")
    @DataAmount
    public long size;

    @Label("Access")
    public String access = "";

    @Label("Place")
    @Description("The method and line of the program; empty in a thread of the library")
    public String place = "";
}
