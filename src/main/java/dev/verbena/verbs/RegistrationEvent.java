package dev.verbena.verbs;

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
final class RegistrationEvent extends Event {
    @Label("Device")
    String device = "";

    @Label("Size")
    @DataAmount
    long size;

    @Label("Access")
    String access = "";

    @Label("Place")
    @Description("The method and line of the program; empty in a thread of the library")
    String place = "";
}
