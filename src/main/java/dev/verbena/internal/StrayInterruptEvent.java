package dev.verbena.internal;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** An interrupt of a thread of the library, by code of the program. */
@Name("dev.verbena.StrayInterrupt")
@Label("Stray interrupt")
@Description("A thread of the library was interrupted by other code, and went on")
@Category("RDMA")
@StackTrace(false)
final class StrayInterruptEvent extends Event {}
