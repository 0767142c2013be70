package dev.verbena.sockets;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The {@code Socket} of an RDMA channel: {@link RdmaSocketChannel#socket()}. All threads may use it at once. */
final class SocketAdaptor extends Socket {
    private final RdmaSocketChannel channel;
    private final AdaptedChannel<RdmaSocketChannel> adapted;

    private SocketAdaptor(RdmaSocketChannel channel, AdaptedChannel<RdmaSocketChannel> adapted) throws SocketException {
        super(adapted);
        this.channel = channel;
        this.adapted = adapted;
    }

    static SocketAdaptor of(RdmaSocketChannel channel) {
        try {
            return new SocketAdaptor(channel, new AdaptedChannel<>(channel, channel::local, channel::remote));
        } catch (SocketException impossible) {
            throw new AssertionError(impossible);
        }
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
    public int getPort() {
        InetSocketAddress remote = channel.remote();
        return remote == null ? 0 : remote.getPort();
    }

    @Override
    public @Nullable SocketAddress getRemoteSocketAddress() {
        return channel.remote();
    }

    @Override
    public SocketChannel getChannel() {
        return channel;
    }

    @Override
    public InputStream getInputStream() throws IOException {
        checkConnected();
        if (isInputShutdown()) {
            throw new SocketException("Socket input is shutdown");
        }
        return new Input();
    }

    @Override
    public OutputStream getOutputStream() throws IOException {
        checkConnected();
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
}
