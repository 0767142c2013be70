package dev.verbena.sockets;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.ServerSocketChannel;
import org.jspecify.annotations.Nullable;

/** The {@code ServerSocket} of an RDMA server channel. All threads may use it at once. */
final class ServerSocketAdaptor extends ServerSocket {
    private final RdmaServerSocketChannel channel;
    private final AdaptedChannel<RdmaServerSocketChannel> adapted;

    private ServerSocketAdaptor(RdmaServerSocketChannel channel, AdaptedChannel<RdmaServerSocketChannel> adapted) {
        super(adapted);
        this.channel = channel;
        this.adapted = adapted;
    }

    static ServerSocketAdaptor of(RdmaServerSocketChannel channel) {
        return new ServerSocketAdaptor(channel, new AdaptedChannel<>(channel, channel::local, channel::local));
    }

    @Override
    public void bind(@Nullable SocketAddress address, int backlog) throws IOException {
        adapted.checkOpen();
        if (isBound()) {
            throw new SocketException("Already bound");
        }
        if (address instanceof InetSocketAddress ip && ip.isUnresolved()) {
            throw new SocketException("Unresolved address");
        }
        channel.bind(address, backlog);
    }

    @Override
    public Socket accept() throws IOException {
        if (!isBound()) {
            throw new NotYetBoundException();
        }
        adapted.checkBlocking();
        try {
            RdmaSocketChannel accepted = channel.accept(true, adapted.nanoseconds());
            if (accepted == null) {
                throw new SocketException("Socket closed");
            }
            return accepted.socket();
        } catch (IOException e) {
            throw AdaptedChannel.ofNet(e);
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    @Override
    public ServerSocketChannel getChannel() {
        return channel;
    }

    @Override
    public boolean isBound() {
        return channel.local() != null;
    }

    @Override
    public boolean isClosed() {
        return !channel.isOpen();
    }
}
