/**
 * The connection manager ({@code rdma/rdma_cma.h}): servers and clients by IP address.
 *
 * <p>{@link dev.verbena.cm.Listener} and {@link dev.verbena.cm.Connection} are all that most programs need;
 * {@link dev.verbena.cm.EventChannel} and {@link dev.verbena.cm.ConnectionId} are what C has.
 *
 * <p>C's synchronous ids, whose calls block, do not exist here: every step comes as one that begins it and one that
 * waits for its end, and the wait has a deadline, and ends when the id is closed or the thread interrupted. The calls
 * that C can't do without blocking, {@link dev.verbena.cm.AddressInfo#find} and
 * {@link dev.verbena.cm.EventChannel#createEndpoint}, run on a daemon thread of their own.
 */
package dev.verbena.cm;
