/**
 * {@code java.net} and {@code java.nio} sockets over RDMA: {@code rdma/rsocket.h} in pure Java.
 *
 * <p>{@link dev.verbena.sockets.RdmaSockets} opens sockets, channels and selectors.
 * {@link dev.verbena.sockets.RdmaSelectorProvider} makes all stream channels of a program RDMA sockets, by one option.
 *
 * <p>Bytes are copied once into registered memory at each end, and the adapter moves them between the two. Use
 * {@code dev.verbena.net} for messages and for transfers without a copy.
 *
 * <p>Both ends must be RDMA sockets, and use the addresses of their RDMA devices, never a loopback address: other connects fail
 * with {@code ConnectException}. {@link java.nio.channels.AsynchronousSocketChannel} stays TCP, and so does a
 * {@code java.net.Socket} that a program makes by a constructor. The chapter {@code src/docs/sockets.md} lists all points in
 * which RDMA sockets differ from TCP.
 */
package dev.verbena.sockets;
