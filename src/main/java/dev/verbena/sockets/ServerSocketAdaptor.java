package dev.verbena.sockets;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.ServerSocketChannel;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The {@code ServerSocket} of an RDMA server channel. All threads may use it at once. */
final class ServerSocketAdaptor extends ServerSocket {
    private final RdmaServerSocketChannel channel;
    private volatile int timeout;

    private ServerSocketAdaptor(RdmaServerSocketChannel channel) {
        super(new NoImplementation());
        this.channel = channel;
    }

    static ServerSocketAdaptor of(RdmaServerSocketChannel channel) {
        return new ServerSocketAdaptor(channel);
    }

    private void checkOpen() throws SocketException {
        if (isClosed()) {
            throw new SocketException("Socket is closed");
        }
    }

    @Override
    public void bind(@Nullable SocketAddress address) throws IOException {
        bind(address, 0);
    }

    @Override
    public void bind(@Nullable SocketAddress address, int backlog) throws IOException {
        checkOpen();
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
        if (!channel.isBlocking()) {
            throw new IllegalBlockingModeException();
        }
        try {
            RdmaSocketChannel accepted = channel.acceptBefore(SocketAdaptor.nanoseconds(timeout));
            if (accepted == null) {
                throw new SocketException("Socket closed");
            }
            return accepted.socket();
        } catch (IOException e) {
            throw SocketAdaptor.ofNet(e);
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
        checkOpen();
        if (milliseconds < 0) {
            throw new IllegalArgumentException("timeout < 0");
        }
        timeout = milliseconds;
    }

    @Override
    public int getSoTimeout() throws IOException {
        checkOpen();
        return timeout;
    }

    @Override
    public void setReuseAddress(boolean on) throws SocketException {
        set(StandardSocketOptions.SO_REUSEADDR, on);
    }

    @Override
    public boolean getReuseAddress() throws SocketException {
        return get(StandardSocketOptions.SO_REUSEADDR);
    }

    @Override
    public void setReceiveBufferSize(int size) throws SocketException {
        SocketAdaptor.checkSize(size);
        set(StandardSocketOptions.SO_RCVBUF, size);
    }

    @Override
    public int getReceiveBufferSize() throws SocketException {
        return get(StandardSocketOptions.SO_RCVBUF);
    }

    private <T> void set(SocketOption<T> name, T value) throws SocketException {
        try {
            channel.setOption(name, value);
        } catch (IOException e) {
            throw SocketAdaptor.socketException(e);
        }
    }

    private <T> T get(SocketOption<T> name) throws SocketException {
        try {
            return channel.getOption(name);
        } catch (IOException e) {
            throw SocketAdaptor.socketException(e);
        }
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

    /** Stands for the implementation that the constructor demands, and is never called. */
    private static final class NoImplementation extends SocketImpl {
        private static UnsupportedOperationException never() {
            return new UnsupportedOperationException("The channel does this");
        }

        @Override
        protected void create(boolean stream) {
            throw never();
        }

        @Override
        protected void connect(String host, int port) {
            throw never();
        }

        @Override
        protected void connect(InetAddress address, int port) {
            throw never();
        }

        @Override
        protected void connect(SocketAddress address, int timeout) {
            throw never();
        }

        @Override
        protected void bind(InetAddress host, int port) {
            throw never();
        }

        @Override
        protected void listen(int backlog) {
            throw never();
        }

        @Override
        protected void accept(SocketImpl accepted) {
            throw never();
        }

        @Override
        protected InputStream getInputStream() {
            throw never();
        }

        @Override
        protected OutputStream getOutputStream() {
            throw never();
        }

        @Override
        protected int available() {
            throw never();
        }

        @Override
        protected void close() {
            throw never();
        }

        @Override
        protected void sendUrgentData(int data) {
            throw never();
        }

        @Override
        public Object getOption(int option) {
            throw never();
        }

        @Override
        public void setOption(int option, Object value) {
            throw never();
        }
    }
}
