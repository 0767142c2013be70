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

/** A TCP connection over which two tools tell each other who they are. Each wait has an end, or Ctrl-C. */
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

    /** Connects to a server, at the first of its addresses that answers. */
    static Tcp connect(String host, int port, Duration patience) throws IOException, InterruptedException {
        InetAddress[] addresses;
        try {
            addresses = InetAddress.getAllByName(host);
        } catch (UnknownHostException e) {
            throw new IOException("There is no host '" + host + "'", e);
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
                "Couldn't connect to " + host + ":" + port + ": " + failure.getMessage()
                        + ". Has the server been started?",
                failure);
    }

    /** Waits for one client, for as long as it takes. */
    static Tcp accept(int port, Duration patience) throws IOException, InterruptedException {
        try (ServerSocketChannel server = ServerSocketChannel.open();
                Selector arrival = Selector.open()) {
            server.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            try {
                server.bind(new InetSocketAddress(port), 1);
            } catch (IOException e) {
                throw new IOException("Couldn't listen to port " + port + ": " + e.getMessage(), e);
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

    /** Sends bytes; as many as fit go with one packet, which the C tools rely on. */
    void write(byte[] bytes, String what) throws IOException, InterruptedException {
        ByteBuffer rest = ByteBuffer.wrap(bytes);
        try {
            while (rest.hasRemaining()) {
                if (channel.write(rest) == 0) {
                    await(SelectionKey.OP_WRITE, "the peer takes nothing");
                }
            }
        } catch (ClosedByInterruptException e) {
            throw interrupted(e);
        } catch (IOException e) {
            throw new IOException("Couldn't send " + what + " to the peer: " + e.getMessage(), e);
        }
    }

    /** Receives so many bytes. */
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
                throw new IOException("The peer broke off before it sent " + what + ": " + e.getMessage(), e);
            }
            if (got < 0) {
                throw new IOException("The peer closed the connection after " + bytes.position() + " of the " + count
                        + " bytes of " + what + ". Has it failed?");
            }
            if (got == 0) {
                await(
                        SelectionKey.OP_READ,
                        "The peer sent " + bytes.position() + " of the " + count + " bytes of " + what
                                + " and no more");
            }
        }
        return bytes.array();
    }

    /** Receives a line of at most so many bytes, whose end it leaves out. */
    String readLine(int most, String what) throws IOException, InterruptedException {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < most; i++) {
            char next = (char) read(1, what)[0];
            if (next == '\n') {
                return line.toString();
            }
            line.append(next);
        }
        throw new IOException("The peer sent " + most + " bytes and no end of the line: is it another tool?");
    }

    /** What the channel makes of an interrupt that comes while it is used. */
    private static InterruptedException interrupted(ClosedByInterruptException e) {
        Thread.interrupted();
        InterruptedException interrupted = new InterruptedException();
        interrupted.initCause(e);
        return interrupted;
    }

    /** Whether the peer has sent something, or has gone. */
    boolean hasMore() throws IOException {
        if (hasByte) {
            return true;
        }
        key.interestOps(SelectionKey.OP_READ);
        selector.selectedKeys().clear();
        return selector.selectNow() > 0;
    }

    /** Makes sure that the peer is still there. What it has sent is still to be read. */
    void checkPeer() throws IOException, InterruptedException {
        if (!hasByte && hasMore()) {
            ByteBuffer one = ByteBuffer.allocate(1);
            try {
                if (channel.read(one) < 0) {
                    throw new IOException("The peer has closed the connection. Has it failed, or was it ended?");
                }
            } catch (ClosedByInterruptException e) {
                throw interrupted(e);
            }
            hasByte = one.position() > 0;
            early = one.get(0);
        }
    }

    /** How long to wait for the peer from now on. */
    void patience(Duration time) {
        patience = time;
    }

    /** Makes sure that no more has come than was due. */
    void expectNoMore(String what) throws IOException {
        if (channel.read(ByteBuffer.allocate(1)) > 0) {
            throw new IOException("The peer sent more than " + what + ": is it another tool?");
        }
    }

    @Override
    public void close() throws IOException {
        selector.close();
        channel.close();
    }
}
