package dev.verbena.sockets;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The {@code Socket} of an RDMA channel: {@link RdmaSocketChannel#socket()}. All threads may use it at once. */
final class SocketAdaptor extends Socket {
    private final RdmaSocketChannel channel;
    private final AdaptedChannel<RdmaSocketChannel> adapted;

    private SocketAdaptor(RdmaSocketChannel channel) throws SocketException {
        super((SocketImpl) null);
        this.channel = channel;
        this.adapted = new AdaptedChannel<>(channel);
    }

    static SocketAdaptor of(RdmaSocketChannel channel) {
        try {
            return new SocketAdaptor(channel);
        } catch (SocketException impossible) {
            throw new AssertionError(impossible);
        }
    }

    @Override
    public void connect(SocketAddress address) throws IOException {
        connect(address, 0);
    }

    @Override
    public void connect(SocketAddress address, int milliseconds) throws IOException {
        if (address == null) {
            throw new IllegalArgumentException("connect: The address can't be null");
        }
        if (milliseconds < 0) {
            throw new IllegalArgumentException("connect: timeout can't be negative");
        }
        adapted.checkOpen();
        if (isConnected()) {
            throw new SocketException("Already connected");
        }
        adapted.checkBlocking();
        if (address instanceof InetSocketAddress ip && ip.isUnresolved()) {
            close();
            throw new UnknownHostException(ip.getHostString());
        }
        try {
            channel.connect(address, true, TimeUnit.MILLISECONDS.toNanos(milliseconds));
        } catch (IOException e) {
            throw AdaptedChannel.ofNet(e);
        }
    }

    @Override
    public void bind(@Nullable SocketAddress address) throws IOException {
        adapted.checkOpen();
        if (isBound()) {
            throw new SocketException("Already bound");
        }
        channel.bind(address);
    }

    @Override
    public @Nullable InetAddress getInetAddress() {
        InetSocketAddress remote = channel.remote();
        return remote == null ? null : remote.getAddress();
    }

    @Override
    public InetAddress getLocalAddress() {
        InetSocketAddress local = channel.isOpen() ? channel.local() : null;
        return local == null ? AddressRules.FOUR.forBind(null).getAddress() : local.getAddress();
    }

    @Override
    public int getPort() {
        InetSocketAddress remote = channel.remote();
        return remote == null ? 0 : remote.getPort();
    }

    @Override
    public int getLocalPort() {
        InetSocketAddress local = channel.local();
        return local == null ? -1 : local.getPort();
    }

    @Override
    public @Nullable SocketAddress getRemoteSocketAddress() {
        return channel.remote();
    }

    @Override
    public @Nullable SocketAddress getLocalSocketAddress() {
        InetSocketAddress local = channel.local();
        return local == null || channel.isOpen() ? local : new InetSocketAddress(getLocalAddress(), local.getPort());
    }

    @Override
    public SocketChannel getChannel() {
        return channel;
    }

    @Override
    public InputStream getInputStream() throws IOException {
        adapted.checkOpen();
        if (!isConnected()) {
            throw new SocketException("Socket is not connected");
        }
        if (isInputShutdown()) {
            throw new SocketException("Socket input is shutdown");
        }
        return new Input();
    }

    @Override
    public OutputStream getOutputStream() throws IOException {
        adapted.checkOpen();
        if (!isConnected()) {
            throw new SocketException("Socket is not connected");
        }
        if (isOutputShutdown()) {
            throw new SocketException("Socket output is shutdown");
        }
        return new Output();
    }

    private final class Input extends InputStream {
        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) > 0 ? one[0] & 0xFF : -1;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            Objects.checkFromIndexSize(offset, length, bytes.length);
            if (length == 0) {
                return 0;
            }
            adapted.checkBlocking();
            try {
                return channel.input().read(ByteBuffer.wrap(bytes, offset, length), adapted.nanoseconds());
            } catch (IOException e) {
                throw AdaptedChannel.ofNet(e);
            }
        }

        @Override
        public int available() throws IOException {
            return channel.input().available();
        }

        @Override
        public void close() throws IOException {
            SocketAdaptor.this.close();
        }
    }

    private final class Output extends OutputStream {
        @Override
        public void write(int value) throws IOException {
            write(new byte[] {(byte) value}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            adapted.checkBlocking();
            ByteBuffer from = ByteBuffer.wrap(bytes, offset, length);
            try {
                while (from.hasRemaining()) {
                    channel.write(from);
                }
            } catch (IOException e) {
                throw AdaptedChannel.ofNet(e);
            }
        }

        @Override
        public void close() throws IOException {
            SocketAdaptor.this.close();
        }
    }

    @Override
    public void setTcpNoDelay(boolean on) throws SocketException {
        adapted.set(StandardSocketOptions.TCP_NODELAY, on);
    }

    @Override
    public boolean getTcpNoDelay() throws SocketException {
        return adapted.get(StandardSocketOptions.TCP_NODELAY);
    }

    @Override
    public void setSoLinger(boolean on, int seconds) throws SocketException {
        if (on && seconds < 0) {
            throw new IllegalArgumentException("invalid value for SO_LINGER");
        }
        adapted.set(StandardSocketOptions.SO_LINGER, on ? seconds : -1);
    }

    @Override
    public int getSoLinger() throws SocketException {
        return adapted.get(StandardSocketOptions.SO_LINGER);
    }

    @Override
    public void sendUrgentData(int data) throws IOException {
        throw new SocketException("Urgent data not supported");
    }

    @Override
    public void setOOBInline(boolean on) throws SocketException {
        adapted.checkOpen(); // there is no urgent data
    }

    @Override
    public boolean getOOBInline() throws SocketException {
        adapted.checkOpen();
        return false;
    }

    @Override
    public void setSoTimeout(int milliseconds) throws SocketException {
        adapted.setTimeout(milliseconds);
    }

    @Override
    public int getSoTimeout() throws SocketException {
        return adapted.timeout();
    }

    @Override
    public void setSendBufferSize(int size) throws SocketException {
        adapted.setSize(StandardSocketOptions.SO_SNDBUF, size);
    }

    @Override
    public int getSendBufferSize() throws SocketException {
        return adapted.get(StandardSocketOptions.SO_SNDBUF);
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
    public void setKeepAlive(boolean on) throws SocketException {
        adapted.set(StandardSocketOptions.SO_KEEPALIVE, on);
    }

    @Override
    public boolean getKeepAlive() throws SocketException {
        return adapted.get(StandardSocketOptions.SO_KEEPALIVE);
    }

    @Override
    public void setTrafficClass(int trafficClass) throws SocketException {
        adapted.checkOpen(); // a hint, which RDMA sockets do not take
    }

    @Override
    public int getTrafficClass() throws SocketException {
        adapted.checkOpen();
        return 0;
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
    public void setPerformancePreferences(int connectionTime, int latency, int bandwidth) {
        // hints, of which none applies
    }

    @Override
    public <T> Socket setOption(SocketOption<T> name, T value) throws IOException {
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
    public void close() throws IOException {
        channel.close();
    }

    @Override
    public void shutdownInput() throws IOException {
        checkConnected();
        channel.shutdownInput();
    }

    @Override
    public void shutdownOutput() throws IOException {
        checkConnected();
        channel.shutdownOutput();
    }

    private void checkConnected() throws SocketException {
        adapted.checkOpen();
        if (!isConnected()) {
            throw new SocketException("Socket is not connected");
        }
    }

    @Override
    public boolean isConnected() {
        return channel.isConnected();
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
    public boolean isInputShutdown() {
        return channel.input().isClosed();
    }

    @Override
    public boolean isOutputShutdown() {
        return channel.output().isClosed();
    }

    @Override
    public String toString() {
        return isConnected()
                ? "Socket[addr=" + getInetAddress() + ",port=" + getPort() + ",localport=" + getLocalPort() + "]"
                : "Socket[unconnected]";
    }
}
