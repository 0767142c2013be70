/**
 * The connection manager ({@code rdma/rdma_cma.h}): servers and clients by IP address.
 *
 * <table class="plain">
 *   <caption>Types to start with</caption>
 *   <tr><th>type</th><th>use</th></tr>
 *   <tr><td>{@link Listener}</td><td>a server: accepts connections</td></tr>
 *   <tr><td>{@link Connection}</td><td>a connection with its queue pair: connects, and learns of its end</td></tr>
 *   <tr><td>{@link ConnectionException}</td><td>the reason why a connection failed or ended</td></tr>
 *   <tr><td>{@link ConnectionResources}</td><td>the queues and shared objects of this side of a connection</td></tr>
 *   <tr><td>{@link PrivateData}</td><td>bytes that travel with the request and the answer</td></tr>
 * </table>
 *
 * <p>The objects of C's API, for programs that make each step themselves: {@link EventChannel}, {@link ConnectionId},
 * {@link CmEvent}, {@link ConnectRequest}, {@link ConnectionParameters}, {@link PortSpace}.
 *
 * <p>Rare: {@link AddressInfo} (looks up names and services), {@link MulticastMembership} and {@link DatagramTarget}
 * (datagrams), {@link IbAddress} (addresses without IP).
 *
 * <p>C's synchronous ids, whose calls block, are not available. Each step has a method that begins it and a method that
 * waits for its end. A wait has a deadline, and ends when the id is closed or the thread is interrupted. C has no
 * non-blocking form of {@link AddressInfo#find} and {@link EventChannel#createEndpoint}: both run on a daemon thread of
 * their own.
 */
package dev.verbena.cm;
