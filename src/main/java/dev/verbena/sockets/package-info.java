/**
 * {@code java.net} and {@code java.nio} sockets over RDMA: {@code rdma/rsocket.h} in pure Java.
 *
 * <p>{@link dev.verbena.sockets.RdmaSockets} opens sockets, channels and selectors.
 * {@link dev.verbena.sockets.RdmaSelectorProvider} makes all stream channels of a program RDMA sockets, by one option.
 *
 * <p>Bytes are copied once into registered memory at each end, and the adapter moves them between the two. Use
 * {@code dev.verbena.net} for messages and for transfers without a copy.
 *
 * <p>RDMA sockets differ from TCP sockets in these points:
 *
 * <ul>
 *   <li>Both ends must be RDMA sockets. A connect to a TCP server fails with {@code ConnectException}.
 *   <li>Loopback addresses have no RDMA device: use the address of a network interface that has one. A connect to
 *       {@code 127.0.0.1} fails with {@code ConnectException}.
 *   <li>Each connection has a queue pair and registered buffers of the sizes {@code SO_SNDBUF} and {@code SO_RCVBUF}.
 *       Programs with thousands of connections should set smaller sizes.
 *   <li>{@code SO_LINGER} with 0 seconds does not reset the connection. Urgent data is not sent: {@code SocketException}.
 *   <li>These options are refused with {@code UnsupportedOperationException}, which says why: {@code TCP_KEEPINTERVAL} and
 *       {@code TCP_KEEPCOUNT} (set {@code TCP_KEEPIDLE} alone), {@code TCP_QUICKACK}, {@code IP_TOS}, {@code SO_REUSEPORT}
 *       and {@code SO_INCOMING_NAPI_ID}. Programs that ask {@code supportedOptions()} first leave them out.
 *   <li>A peer's process that ends, or is killed, ends the stream within half a second. A dead link, or a machine without
 *       power, makes a write fail with {@code SocketException} once the adapter has sent it eight times. An end that only
 *       reads learns of it from keep-alive messages, as with TCP: set {@code SO_KEEPALIVE}, and
 *       {@link jdk.net.ExtendedSocketOptions#TCP_KEEPIDLE} to the seconds between two of them. But soft-RoCE tries for
 *       ever (librdmacm asks for 7 retries, which soft-RoCE takes for no limit): the stream goes on when the link is back,
 *       and only the program's own time limits tell that it is not. A closed channel gives its last data a minute.
 *   <li>A selector of the JDK does not take these channels: {@code IllegalSelectorException}.
 *   <li>{@link java.nio.channels.AsynchronousSocketChannel} stays TCP: another provider makes it. Use a
 *       {@code SocketChannel} in blocking mode, with a virtual thread for each, or a selector.
 *   <li>A {@code java.net.Socket} that a program makes by a constructor stays TCP. Use {@link RdmaSockets#openSocket}. Some
 *       web servers end their own {@code accept} by such a socket when they stop: over RDMA, it is refused, and their stop
 *       lasts until their own time limit, often a second, is over. No request is lost by that.
 *   <li>A selector wakes for its own channels only. No event tells it of a connect's end, or of a peer that was killed: one
 *       thread of the process looks at the channels that selectors wait for, twice a second, and more often during a
 *       connect.
 *   <li>With rdma-core before 59, a process may have 255 connected sockets, or as many as the system property
 *       {@code dev.verbena.sockets.limit} says, and 31 server sockets. One more fails with {@code SocketException}.
 *   <li>librdmacm accepts one connection at a time. A client that dies amid its connect delays the others.
 * </ul>
 */
package dev.verbena.sockets;
