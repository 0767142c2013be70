package dev.verbena.sockets;

import java.io.IOException;
import java.net.SocketException;
import java.net.SocketOption;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.NetworkChannel;
import java.nio.channels.SelectableChannel;
import java.util.concurrent.TimeUnit;

/**
 * A channel as {@code java.net} sees it: its options, its timeout, and exceptions of the types that {@code java.net} has.
 * The two adaptors of channels share it.
 *
 * @param <C> the type of the channel
 */
final class AdaptedChannel<C extends SelectableChannel & NetworkChannel> {
    private final C channel;
    private volatile int timeout;

    AdaptedChannel(C channel) {
        this.channel = channel;
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

    <T> void set(SocketOption<T> name, T value) throws SocketException {
        try {
            channel.setOption(name, value);
        } catch (IOException e) {
            throw socketException(e);
        }
    }

    /** Sets the size of a buffer, which must be positive here. */
    void setSize(SocketOption<Integer> name, int size) throws SocketException {
        if (size <= 0) {
            throw new IllegalArgumentException("Invalid buffer size: " + size);
        }
        set(name, size);
    }

    <T> T get(SocketOption<T> name) throws SocketException {
        try {
            return channel.getOption(name);
        } catch (IOException e) {
            throw socketException(e);
        }
    }

    void setTimeout(int milliseconds) throws SocketException {
        checkOpen();
        if (milliseconds < 0) {
            throw new IllegalArgumentException("timeout < 0");
        }
        timeout = milliseconds;
    }

    int timeout() throws SocketException {
        checkOpen();
        return timeout;
    }

    /** Returns the timeout of reads or accepts; 0 is no limit. */
    long nanoseconds() {
        return TimeUnit.MILLISECONDS.toNanos(timeout);
    }
}
