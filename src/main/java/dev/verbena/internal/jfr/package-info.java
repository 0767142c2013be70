/** Events for Java Flight Recorder. A disabled event has no measurable cost. */
package dev.verbena.internal.jfr;
