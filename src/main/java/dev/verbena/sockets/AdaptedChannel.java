package dev.verbena.sockets;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.NetworkChannel;
import java.nio.channels.SelectableChannel;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A channel as {@code java.net} sees it: its options, its addresses, its timeout, and exceptions of the types that
 * {@code java.net} has. The JDK's {@code Socket} and {@code ServerSocket} set and read all options through this object. Their
 * adaptors override the methods that connect, accept, transfer and close.
 *
 * @param <C> the type of the channel
 */
final class AdaptedChannel<C extends SelectableChannel & NetworkChannel> extends SocketImpl {
    /** The options by the numbers of {@link java.net.SocketOptions}. */
    private static final Map<Integer, SocketOption<?>> OPTIONS = Map.of(
            TCP_NODELAY, StandardSocketOptions.TCP_NODELAY,
            SO_LINGER, StandardSocketOptions.SO_LINGER,
            SO_SNDBUF, StandardSocketOptions.SO_SNDBUF,
            SO_RCVBUF, StandardSocketOptions.SO_RCVBUF,
            SO_KEEPALIVE, StandardSocketOptions.SO_KEEPALIVE,
            SO_REUSEADDR, StandardSocketOptions.SO_REUSEADDR);

    private final C channel;
    private final Supplier<@Nullable InetSocketAddress> local;
    private final Supplier<@Nullable InetSocketAddress> shown;
    private volatile int timeout;

    /**
     * Adapts a channel.
     *
     * @param local returns the channel's own address
     * @param shown returns the address of {@link java.net.Socket#getInetAddress}
     */
    AdaptedChannel(
            C channel, Supplier<@Nullable InetSocketAddress> local, Supplier<@Nullable InetSocketAddress> shown) {
        this.channel = channel;
        this.local = local;
        this.shown = shown;
    }

    /** Converts an exception of a channel to the one that {@code java.net} has. */
    static IOException ofNet(IOException e) {
        if (e.getClass() == ClosedChannelException.class || e.getClass() == AsynchronousCloseException.class) {
            SocketException closed = new SocketException("Socket closed");
            closed.initCause(e);
            return closed;
        }
        return e;
    }

    private static SocketException socketException(IOException e) {
        if (ofNet(e) instanceof SocketException socket) {
            return socket;
        }
        SocketException other = new SocketException(e.getMessage());
        other.initCause(e);
        return other;
    }

    void checkBlocking() {
        if (!channel.isBlocking()) {
            throw new IllegalBlockingModeException();
        }
    }

    void checkOpen() throws SocketException {
        if (!channel.isOpen()) {
            throw new SocketException("Socket is closed");
        }
    }

    /** Returns the timeout of reads or accepts; 0 is no limit. */
    long nanoseconds() {
        return TimeUnit.MILLISECONDS.toNanos(timeout);
    }

    // Options

    @Override
    public void setOption(int number, Object value) throws SocketException {
        switch (number) {
            case SO_TIMEOUT -> timeout = (int) value;
            case SO_OOBINLINE, IP_TOS -> checkOpen(); // there is no urgent data, and RDMA sockets do not take the hint
            case SO_LINGER -> set(OPTIONS.get(number), value instanceof Boolean ? -1 : value);
            default -> set(OPTIONS.get(number), value);
        }
    }

    private <T> void set(@Nullable SocketOption<T> name, Object value) throws SocketException {
        try {
            channel.setOption(Objects.requireNonNull(name), name.type().cast(value));
        } catch (IOException e) {
            throw socketException(e);
        }
    }

    @Override
    public Object getOption(int number) throws SocketException {
        checkOpen();
        return switch (number) {
            case SO_TIMEOUT -> timeout;
            case SO_OOBINLINE -> false;
            case IP_TOS -> 0;
            case SO_BINDADDR -> address(local);
            default -> {
                try {
                    yield channel.getOption(Objects.requireNonNull(OPTIONS.get(number)));
                } catch (IOException e) {
                    throw socketException(e);
                }
            }
        };
    }

    @Override
    protected <T> void setOption(SocketOption<T> name, T value) throws IOException {
        channel.setOption(name, value);
    }

    @Override
    protected <T> T getOption(SocketOption<T> name) throws IOException {
        return channel.getOption(name);
    }

    @Override
    protected Set<SocketOption<?>> supportedOptions() {
        return channel.supportedOptions();
    }

    // Addresses

    private static InetAddress address(Supplier<@Nullable InetSocketAddress> of) {
        return Objects.requireNonNull(of.get()).getAddress();
    }

    @Override
    protected InetAddress getInetAddress() {
        return address(shown);
    }

    @Override
    protected int getPort() {
        return Objects.requireNonNull(shown.get()).getPort();
    }

    @Override
    protected int getLocalPort() {
        return Objects.requireNonNull(local.get()).getPort();
    }

    // The adaptors do not call these

    @Override
    protected void create(boolean stream) {
        // the channel is open
    }

    @Override
    protected void connect(String host, int port) {
        throw new UnsupportedOperationException();
    }

    @Override
    protected void connect(InetAddress host, int port) {
        throw new UnsupportedOperationException();
    }

    @Override
    protected void connect(SocketAddress to, int milliseconds) {
        throw new UnsupportedOperationException();
    }

    @Override
    protected void bind(InetAddress host, int port) {
        throw new UnsupportedOperationException();
    }

    @Override
    protected void listen(int backlog) {
        throw new UnsupportedOperationException();
    }

    @Override
    protected void accept(SocketImpl accepted) {
        throw new UnsupportedOperationException();
    }

    @Override
    protected InputStream getInputStream() {
        throw new UnsupportedOperationException();
    }

    @Override
    protected OutputStream getOutputStream() {
        throw new UnsupportedOperationException();
    }

    @Override
    protected int available() {
        throw new UnsupportedOperationException();
    }

    @Override
    protected void close() {
        throw new UnsupportedOperationException();
    }

    @Override
    protected void sendUrgentData(int data) {
        throw new UnsupportedOperationException();
    }
}
