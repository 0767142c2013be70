package dev.verbena.examples.valkey;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A connection to Valkey over RDMA, as a socket. Clients that take a socket need no change, such as Jedis, which takes one
 * from a {@code JedisSocketFactory}.
 *
 * <p>Reads have the timeout of {@link #setSoTimeout}. A thread that waits asks every three seconds whether the server's machine
 * is still there, unless {@link #setKeepAlive} says otherwise. The transport has no message that ends one direction:
 * {@link #shutdownInput} ends the reads of this side only, and {@link #shutdownOutput} throws an exception. Other options have no
 * effect.
 */
public final class ValkeyConnection extends Socket {
    private static final int RING = 1 << 20;

    /**
     * Makes a socket that is not connected yet.
     *
     * @throws SocketException never
     */
    public ValkeyConnection() throws SocketException {
        this(RING);
    }

    /**
     * Makes a socket that is not connected yet.
     *
     * @param ringSize the number of bytes that the server sends before it waits for the reader, 1 MiB by default
     * @throws SocketException never
     */
    public ValkeyConnection(int ringSize) throws SocketException {
        super(new Rdma(ringSize));
    }

    /** Hands what a socket does to a transport. The socket keeps the states. */
    private static final class Rdma extends SocketImpl {
        private final Map<Integer, Object> options = new ConcurrentHashMap<>(Map.of(
                SO_TIMEOUT,
                0,
                SO_KEEPALIVE,
                true,
                TCP_NODELAY,
                true,
                SO_REUSEADDR,
                false,
                SO_OOBINLINE,
                false,
                IP_TOS,
                0));

        private volatile @Nullable Transport transport;

        Rdma(int ringSize) {
            options.put(SO_RCVBUF, ringSize);
        }

        @Override
        public void setOption(int option, Object value) {
            options.put(option, value);
        }

        @Override
        public Object getOption(int option) {
            return options.getOrDefault(option, -1);
        }

        @Override
        protected void create(boolean stream) {}

        @Override
        protected void bind(InetAddress host, int port) {} // the route to the server decides

        @Override
        protected void connect(SocketAddress server, int timeout) throws IOException {
            if (!(server instanceof InetSocketAddress to) || to.isUnresolved()) {
                throw new UnknownHostException(String.valueOf(server));
            }
            Transport made = new Transport(to, timeout, options);
            address = to.getAddress();
            port = to.getPort();
            localport = made.local().getPort();
            options.put(SO_BINDADDR, made.local().getAddress());
            transport = made;
        }

        @Override
        protected void connect(String host, int port) throws IOException {
            connect(new InetSocketAddress(host, port), 0);
        }

        @Override
        protected void connect(InetAddress host, int port) throws IOException {
            connect(new InetSocketAddress(host, port), 0);
        }

        private Transport connected() throws SocketException {
            Transport made = transport;
            if (made == null) {
                throw new SocketException("not connected");
            }
            return made;
        }

        @Override
        protected InputStream getInputStream() throws IOException {
            return connected().input;
        }

        @Override
        protected OutputStream getOutputStream() throws IOException {
            return connected().output;
        }

        @Override
        protected int available() throws IOException {
            return connected().input.available();
        }

        @Override
        protected void shutdownInput() throws IOException {
            connected().shutInput();
        }

        @Override
        protected void close() {
            Transport made = transport;
            if (made != null) {
                made.close();
            }
        }

        @Override
        protected void shutdownOutput() throws IOException {
            throw new SocketException("this transport can't end one direction: close the socket");
        }

        @Override
        protected void sendUrgentData(int data) throws IOException {
            throw new SocketException("this transport has no urgent data");
        }

        @Override
        protected void listen(int backlog) throws IOException {
            throw new SocketException("this is a client");
        }

        @Override
        protected void accept(SocketImpl peer) throws IOException {
            throw new SocketException("this is a client");
        }
    }
}
