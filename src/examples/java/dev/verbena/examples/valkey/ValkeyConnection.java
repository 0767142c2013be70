package dev.verbena.examples.valkey;

import java.net.Socket;
import java.net.SocketException;

/**
 * A connection to Valkey over RDMA, as a socket. Clients that take a socket need no change, such as Jedis, which takes one
 * from a {@code JedisSocketFactory}.
 *
 * <p>The receive buffer is the ring that the server fills before it waits for the reader, 1 MiB by default. Its size is set
 * before connecting. Reads have the timeout of {@link #setSoTimeout}. A thread that waits asks every three seconds whether the
 * server's machine is still there, unless {@link #setKeepAlive} says otherwise. The transport has no message that ends one
 * direction: {@link #shutdownInput} ends the reads of this side only, and {@link #shutdownOutput} throws an exception. Other
 * options have no effect.
 */
public final class ValkeyConnection extends Socket {
    /**
     * Makes a socket that is not connected yet.
     *
     * @throws SocketException never
     */
    public ValkeyConnection() throws SocketException {
        super(new Transport());
    }
}
