/** Tools that measure: latency and bandwidth, and the time of connecting. */
@org.jspecify.annotations.NullMarked
package dev.verbena.tools.perf;
