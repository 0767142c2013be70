/**
 * Values that address a peer.
 *
 * <table class="plain">
 *   <caption>Types to start with</caption>
 *   <tr><th>type</th><th>use</th></tr>
 *   <tr><td>{@link Endpoint}</td><td>what one side of a connection tells the other: exchange it, and connect</td></tr>
 *   <tr><td>{@link Gid}</td><td>the address of a port, on RoCE made from an IP address</td></tr>
 *   <tr><td>{@link GidEntry}</td><td>an entry of a port's table of GIDs</td></tr>
 *   <tr><td>{@link AddressVector}</td><td>a path to a peer, for datagrams and for changes of state by hand</td></tr>
 * </table>
 *
 * <p>Rare: {@link GlobalRoute} (the part of a path that crosses subnets), {@link Grh} (the header in front of a received
 * datagram), {@link Rate} (a limit of a path's speed), {@link EthernetAddress} (the resolved address of a path).
 */
package dev.verbena.verbs.address;
