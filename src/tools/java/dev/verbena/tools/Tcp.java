package dev.verbena.tools;

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

/** A TCP connection over which two tools exchange their endpoints. Waits have a time limit and can be interrupted. */
final class Tcp implements AutoCloseable {
    private final SocketChannel channel;
    private final Selector selector;
    private final SelectionKey key;
    private Duration patience;
    private boolean hasByte;
    private byte early;

    private Tcp(SocketChannel channel, Duration patience) throws IOException {
        this.channel = channel;
        this.patience = patience;
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        selector = Selector.open();
        key = channel.register(selector, 0);
    }

    /** Connects to the first address of a server that answers. */
    static Tcp connect(String host, int port, Duration patience) throws IOException, InterruptedException {
        InetAddress[] addresses;
        try {
            addresses = InetAddress.getAllByName(host);
        } catch (UnknownHostException e) {
            throw new IOException("host '" + host + "' not found", e);
        }
        IOException failure = null;
        for (InetAddress address : addresses) {
            SocketChannel channel = SocketChannel.open();
            try {
                Tcp tcp = new Tcp(channel, patience);
                channel.connect(new InetSocketAddress(address, port));
                while (!channel.finishConnect()) {
                    tcp.await(SelectionKey.OP_CONNECT, "no answer");
                }
                return tcp;
            } catch (ClosedByInterruptException e) {
                throw interrupted(e);
            } catch (IOException e) {
                channel.close();
                failure = e;
            }
        }
        throw new IOException(
                "can't connect to " + host + ":" + port + ": "
                        + (failure == null ? "it has no address" : failure.getMessage()) + ". Is the server running?",
                failure);
    }

    /** Waits for one client without a time limit. */
    static Tcp accept(int port, Duration patience) throws IOException, InterruptedException {
        try (ServerSocketChannel server = ServerSocketChannel.open();
                Selector arrival = Selector.open()) {
            server.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            try {
                server.bind(new InetSocketAddress(port), 1);
            } catch (IOException e) {
                throw new IOException("can't listen on port " + port + ": " + e.getMessage(), e);
            }
            server.configureBlocking(false);
            server.register(arrival, SelectionKey.OP_ACCEPT);
            for (; ; ) {
                arrival.select();
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                SocketChannel client = server.accept();
                if (client != null) {
                    return new Tcp(client, patience);
                }
            }
        }
    }

    private void await(int operation, String problem) throws IOException, InterruptedException {
        key.interestOps(operation);
        selector.selectedKeys().clear();
        long limit = System.nanoTime() + patience.toNanos();
        while (selector.select(Math.max(1, (limit - System.nanoTime()) / 1_000_000)) == 0) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            if (System.nanoTime() > limit) {
                throw new IOException(problem + " within " + patience.toSeconds() + " s");
            }
        }
    }

    /** Sends bytes, as many as possible in one packet: the C tools rely on it. */
    void write(byte[] bytes, String what) throws IOException, InterruptedException {
        ByteBuffer rest = ByteBuffer.wrap(bytes);
        try {
            while (rest.hasRemaining()) {
                if (channel.write(rest) == 0) {
                    await(SelectionKey.OP_WRITE, "the peer accepted no data");
                }
            }
        } catch (ClosedByInterruptException e) {
            throw interrupted(e);
        } catch (IOException e) {
            throw new IOException("can't send " + what + " to the peer: " + e.getMessage(), e);
        }
    }

    /** Receives {@code count} bytes. */
    byte[] read(int count, String what) throws IOException, InterruptedException {
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
                throw new IOException("the connection broke before the peer sent " + what + ": " + e.getMessage(), e);
            }
            if (got < 0) {
                throw new IOException("the peer closed the connection after " + bytes.position() + " of the " + count
                        + " bytes of " + what + ". Did it fail?");
            }
            if (got == 0) {
                await(
                        SelectionKey.OP_READ,
                        "the peer sent " + bytes.position() + " of the " + count + " bytes of " + what
                                + " and then nothing");
            }
        }
        return bytes.array();
    }

    /** Receives a line of at most {@code most} bytes, and returns the line without its end. */
    String readLine(int most, String what) throws IOException, InterruptedException {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < most; i++) {
            char next = (char) read(1, what)[0];
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

    /** Tells whether the peer has sent data or has closed the connection. */
    boolean hasMore() throws IOException {
        if (hasByte) {
            return true;
        }
        key.interestOps(SelectionKey.OP_READ);
        selector.selectedKeys().clear();
        return selector.selectNow() > 0;
    }

    /** Throws if the peer has closed the connection. Data that it has sent can still be read. */
    void checkPeer() throws IOException, InterruptedException {
        if (!hasByte && hasMore()) {
            ByteBuffer one = ByteBuffer.allocate(1);
            try {
                if (channel.read(one) < 0) {
                    throw new IOException("the peer has closed the connection. Did it fail, or was it stopped?");
                }
            } catch (ClosedByInterruptException e) {
                throw interrupted(e);
            }
            hasByte = one.position() > 0;
            early = one.get(0);
        }
    }

    /** Sets the time limit for each wait from now on. */
    void patience(Duration time) {
        patience = time;
    }

    /** Throws if the peer has sent more data than expected. */
    void expectNoMore(String what) throws IOException {
        if (channel.read(ByteBuffer.allocate(1)) > 0) {
            throw new IOException("the peer sent more than " + what + ": is it another tool?");
        }
    }

    @Override
    public void close() throws IOException {
        selector.close();
        channel.close();
    }
}
