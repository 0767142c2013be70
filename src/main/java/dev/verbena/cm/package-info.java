/**
 * The connection manager ({@code rdma/rdma_cma.h}): servers and clients by IP address.
 *
 * <p>Most programs need only {@link dev.verbena.cm.Listener} and {@link dev.verbena.cm.Connection}.
 * {@link dev.verbena.cm.EventChannel} and {@link dev.verbena.cm.ConnectionId} are the objects of C's API.
 *
 * <p>C's synchronous ids, whose calls block, are not available. Each step has a method that begins it and a method that
 * waits for its end. A wait has a deadline, and ends when the id is closed or the thread is interrupted. C has no
 * non-blocking form of {@link dev.verbena.cm.AddressInfo#find} and {@link dev.verbena.cm.EventChannel#createEndpoint}: both
 * run on a daemon thread of their own.
 */
package dev.verbena.cm;
