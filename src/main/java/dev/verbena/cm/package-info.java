/**
 * The connection manager ({@code rdma/rdma_cma.h}): servers and clients by IP address.
 *
 * <p>{@link dev.verbena.cm.Listener} and {@link dev.verbena.cm.Connection} are all that most programs need;
 * {@link dev.verbena.cm.EventChannel} and {@link dev.verbena.cm.ConnectionId} are what C has.
 */
package dev.verbena.cm;
