/** The report on a device: its calls and its measurements, without names and addresses. */
@org.jspecify.annotations.NullMarked
package dev.verbena.tools.report;
