package dev.verbena.sockets;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.ServerSocketChannel;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The {@code ServerSocket} of an RDMA server channel. All threads may use it at once. */
final class ServerSocketAdaptor extends ServerSocket {
    private final RdmaServerSocketChannel channel;
    private final AdaptedChannel<RdmaServerSocketChannel> adapted;

    private ServerSocketAdaptor(RdmaServerSocketChannel channel) throws IOException {
        this.channel = channel;
        this.adapted = new AdaptedChannel<>(channel);
    }

    static ServerSocketAdaptor of(RdmaServerSocketChannel channel) {
        try {
            return new ServerSocketAdaptor(channel);
        } catch (IOException impossible) { // the superclass opens no socket before it is bound
            throw new AssertionError(impossible);
        }
    }

    @Override
    public void bind(@Nullable SocketAddress address) throws IOException {
        bind(address, 0);
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
    public @Nullable InetAddress getInetAddress() {
        InetSocketAddress local = channel.local();
        return local == null ? null : local.getAddress();
    }

    @Override
    public int getLocalPort() {
        InetSocketAddress local = channel.local();
        return local == null ? -1 : local.getPort();
    }

    @Override
    public @Nullable SocketAddress getLocalSocketAddress() {
        return channel.local();
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

    @Override
    public void setSoTimeout(int milliseconds) throws SocketException {
        adapted.setTimeout(milliseconds);
    }

    @Override
    public int getSoTimeout() throws IOException {
        return adapted.timeout();
    }

    @Override
    public void setReuseAddress(boolean on) throws SocketException {
        adapted.set(StandardSocketOptions.SO_REUSEADDR, on);
    }

    @Override
    public boolean getReuseAddress() throws SocketException {
        return adapted.get(StandardSocketOptions.SO_REUSEADDR);
    }

    @Override
    public void setReceiveBufferSize(int size) throws SocketException {
        adapted.setSize(StandardSocketOptions.SO_RCVBUF, size);
    }

    @Override
    public int getReceiveBufferSize() throws SocketException {
        return adapted.get(StandardSocketOptions.SO_RCVBUF);
    }

    @Override
    public void setPerformancePreferences(int connectionTime, int latency, int bandwidth) {
        // hints, of which none applies
    }

    @Override
    public <T> ServerSocket setOption(SocketOption<T> name, T value) throws IOException {
        channel.setOption(name, value);
        return this;
    }

    @Override
    public <T> T getOption(SocketOption<T> name) throws IOException {
        return channel.getOption(name);
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return channel.supportedOptions();
    }

    @Override
    public String toString() {
        return isBound()
                ? "ServerSocket[addr=" + getInetAddress() + ",localport=" + getLocalPort() + "]"
                : "ServerSocket[unbound]";
    }
}
