package dev.verbena.tools.command;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A TCP connection over which two tools exchange their endpoints. The handshake has one deadline for all of its messages
 * together: a peer that sends a byte now and then does not extend it. After the handshake, {@link #patience} gives each
 * message a time limit. Waits can be interrupted.
 */
public final class Tcp implements AutoCloseable {
    /** Signals that the peer has closed the connection or that it broke: the reason is at the peer. */
    public static final class PeerGoneException extends IOException {
        private static final long serialVersionUID = 1;

        /**
         * Makes an exception.
         *
         * @param message what was noticed
         */
        public PeerGoneException(String message) {
            super(message);
        }

        PeerGoneException(String message, IOException cause) {
            super(message, cause);
        }
    }

    private final SocketChannel channel;
    private final Selector selector;
    private final SelectionKey key;
    private final long begin;
    private final Duration handshake;
    private @Nullable Duration patience;
    private boolean hasByte;
    private byte early;

    /**
     * Makes a connection.
     *
     * @param begin the value of {@link System#nanoTime} when the handshake began
     * @param handshake time limit of the handshake
     */
    private Tcp(SocketChannel channel, long begin, Duration handshake) throws IOException {
        this.channel = channel;
        this.begin = begin;
        this.handshake = handshake;
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        selector = Selector.open();
        key = channel.register(selector, 0);
    }

    /**
     * Connects to the first address of a server that answers. The handshake includes the connecting.
     *
     * @param host the server's name or address
     * @param port its port
     * @param handshake time limit of the handshake
     * @return the connection
     * @throws IOException if no address answers
     * @throws InterruptedException if the thread was interrupted
     */
    public static Tcp connect(String host, int port, Duration handshake) throws IOException, InterruptedException {
        long begin = System.nanoTime();
        InetAddress[] addresses;
        try {
            addresses = InetAddress.getAllByName(host);
        } catch (UnknownHostException e) {
            throw new IOException("host '" + host + "' not found", e);
        }
        IOException failure = null;
        for (InetAddress address : addresses) {
            Tcp tcp = new Tcp(SocketChannel.open(), begin, handshake);
            try {
                tcp.channel.connect(new InetSocketAddress(address, port));
                while (!tcp.channel.finishConnect()) {
                    tcp.await(SelectionKey.OP_CONNECT, tcp.limit(), "no answer");
                }
                return tcp;
            } catch (ClosedByInterruptException e) {
                tcp.close();
                throw interrupted(e);
            } catch (InterruptedException e) {
                tcp.close();
                throw e;
            } catch (IOException e) {
                tcp.close();
                failure = e;
            }
        }
        throw new IOException(
                "can't connect to " + host + ":" + port + ": "
                        + (failure == null ? "it has no address" : failure.getMessage()) + ". Is the server running?",
                failure);
    }

    /**
     * Waits for one client without a time limit. The handshake begins when the client has connected.
     *
     * @param port the port to listen on
     * @param handshake time limit of the handshake
     * @return the connection
     * @throws IOException if the port can't be listened on
     * @throws InterruptedException if the thread was interrupted
     */
    public static Tcp accept(int port, Duration handshake) throws IOException, InterruptedException {
        try (ServerSocketChannel server = listen(port)) {
            return accept(server, handshake);
        }
    }

    /**
     * Listens on a port for one client.
     *
     * @param port the port, or 0 for a free one
     * @return the listening channel
     * @throws IOException if the port can't be listened on
     */
    public static ServerSocketChannel listen(int port) throws IOException {
        ServerSocketChannel server = ServerSocketChannel.open();
        try {
            server.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            server.bind(new InetSocketAddress(port), 1);
            server.configureBlocking(false);
            return server;
        } catch (IOException e) {
            server.close();
            throw new IOException("can't listen on port " + port + ": " + e.getMessage(), e);
        }
    }

    /**
     * Waits for one client of a listening channel without a time limit.
     *
     * @param server the listening channel
     * @param handshake time limit of the handshake, which begins when the client has connected
     * @return the connection
     * @throws IOException if the channel fails
     * @throws InterruptedException if the thread was interrupted
     */
    public static Tcp accept(ServerSocketChannel server, Duration handshake) throws IOException, InterruptedException {
        try (Selector arrival = Selector.open()) {
            server.register(arrival, SelectionKey.OP_ACCEPT);
            for (; ; ) {
                arrival.select();
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                SocketChannel client = server.accept();
                if (client != null) {
                    return new Tcp(client, System.nanoTime(), handshake);
                }
            }
        }
    }

    /** Returns the time at which a message that begins now must be complete, as {@link System#nanoTime}. */
    private long limit() {
        return patience == null ? begin + handshake.toNanos() : System.nanoTime() + patience.toNanos();
    }

    private void await(int operation, long limit, String problem) throws IOException, InterruptedException {
        key.interestOps(operation);
        selector.selectedKeys().clear();
        do {
            long left = limit - System.nanoTime();
            if (left <= 0) {
                throw new IOException(problem + " within " + seconds(patience == null ? handshake : patience));
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            selector.select(Math.max(1, left / 1_000_000));
        } while (selector.selectedKeys().isEmpty());
    }

    private static String seconds(Duration time) {
        return time.toMillis() % 1_000 == 0 ? time.toSeconds() + " s" : time.toMillis() + " ms";
    }

    /**
     * Sends bytes, as many as possible in one packet: the C tools rely on it.
     *
     * @param bytes the message
     * @param what the message's name for an error
     * @throws IOException if the peer has gone or takes too long
     * @throws InterruptedException if the thread was interrupted
     */
    public void write(byte[] bytes, String what) throws IOException, InterruptedException {
        ByteBuffer rest = ByteBuffer.wrap(bytes);
        long limit = limit();
        while (rest.hasRemaining()) {
            int sent;
            try {
                sent = channel.write(rest);
            } catch (ClosedByInterruptException e) {
                throw interrupted(e);
            } catch (IOException e) {
                throw new PeerGoneException("can't send " + what + " to the peer: " + e.getMessage(), e);
            }
            if (sent == 0) {
                await(SelectionKey.OP_WRITE, limit, "the peer did not accept all bytes of " + what);
            }
        }
    }

    /**
     * Receives a message.
     *
     * @param count its length in bytes
     * @param what the message's name for an error
     * @return the bytes
     * @throws IOException if the peer has gone or takes too long
     * @throws InterruptedException if the thread was interrupted
     */
    public byte[] read(int count, String what) throws IOException, InterruptedException {
        return read(count, what, limit());
    }

    private byte[] read(int count, String what, long limit) throws IOException, InterruptedException {
        ByteBuffer bytes = ByteBuffer.allocate(count);
        if (hasByte && count > 0) {
            bytes.put(early);
            hasByte = false;
        }
        while (bytes.hasRemaining()) {
            int got;
            try {
                got = channel.read(bytes);
            } catch (ClosedByInterruptException e) {
                throw interrupted(e);
            } catch (IOException e) {
                throw new PeerGoneException(
                        "the connection broke before the peer sent " + what + ": " + e.getMessage(), e);
            }
            if (got < 0) {
                throw new PeerGoneException("the peer closed the connection after " + bytes.position() + " of the "
                        + count + " bytes of " + what + ". Did it fail?");
            }
            if (got == 0) {
                await(
                        SelectionKey.OP_READ,
                        limit,
                        "the peer sent " + bytes.position() + " of the " + count + " bytes of " + what);
            }
        }
        return bytes.array();
    }

    /**
     * Receives a line.
     *
     * @param most its largest length in bytes
     * @param what the line's name for an error
     * @return the line without its end
     * @throws IOException if the peer has gone, takes too long or sends a longer line
     * @throws InterruptedException if the thread was interrupted
     */
    public String readLine(int most, String what) throws IOException, InterruptedException {
        StringBuilder line = new StringBuilder();
        long limit = limit();
        for (int i = 0; i < most; i++) {
            char next = (char) read(1, what, limit)[0];
            if (next == '\n') {
                return line.toString();
            }
            line.append(next);
        }
        throw new IOException("the peer sent " + most + " bytes without the end of a line: is it another tool?");
    }

    /** Converts the exception of an interrupted channel, and clears the interrupt status. */
    private static InterruptedException interrupted(ClosedByInterruptException e) {
        Thread.interrupted();
        InterruptedException interrupted = new InterruptedException();
        interrupted.initCause(e);
        return interrupted;
    }

    /**
     * Tells whether the peer has sent data or has closed the connection.
     *
     * @return true if a read would not wait
     * @throws IOException if the connection fails
     */
    public boolean hasMore() throws IOException {
        if (hasByte) {
            return true;
        }
        key.interestOps(SelectionKey.OP_READ);
        selector.selectedKeys().clear();
        return selector.selectNow() > 0;
    }

    /**
     * Throws if the peer has closed the connection. Data that it has sent can still be read.
     *
     * @throws IOException if the peer has gone
     * @throws InterruptedException if the thread was interrupted
     */
    public void checkPeer() throws IOException, InterruptedException {
        if (!hasByte && hasMore()) {
            ByteBuffer one = ByteBuffer.allocate(1);
            try {
                if (channel.read(one) < 0) {
                    throw new PeerGoneException("the peer has closed the connection. Did it fail, or was it stopped?");
                }
            } catch (ClosedByInterruptException e) {
                throw interrupted(e);
            }
            hasByte = one.position() > 0;
            early = one.get(0);
        }
    }

    /**
     * Ends the handshake: from now on, each message has a time limit of its own.
     *
     * @param time the time limit of a message
     */
    public void patience(Duration time) {
        patience = time;
    }

    /**
     * Throws if the peer has sent more data than expected.
     *
     * @param what the name of the data
     * @throws IOException if there is more
     */
    public void expectNoMore(String what) throws IOException {
        if (hasByte || channel.read(ByteBuffer.allocate(1)) > 0) {
            throw new IOException("the peer sent more than " + what + ": is it another tool?");
        }
    }

    @Override
    public void close() throws IOException {
        selector.close();
        channel.close();
    }
}
