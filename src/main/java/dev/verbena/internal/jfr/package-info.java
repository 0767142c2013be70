/** What a flight recording tells about RDMA. Off, an event costs nothing that could be measured. */
package dev.verbena.internal.jfr;
