package dev.verbena.sockets;

import dev.verbena.internal.Mutex;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.ServerSocketChannel;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A {@code ServerSocketChannel} over RDMA ({@code rlisten}). All threads may use it at once; one accepts at a time. */
final class RdmaServerSocketChannel extends ServerSocketChannel {
    /**
     * The least length of the queue of requests, which is the longest that the kernel allows by default. A request that does
     * not fit is refused, where TCP would delay it.
     */
    private static final int REQUESTS = 1_024;

    private static final long CLOSE_MILLISECONDS = 1_000;

    private final Mutex acceptLock = new Mutex();
    private final RdmaSelectorProvider ours;
    private final ChannelSocket socket;
    private final SocketDescriptor descriptor;
    private final Waiter waiter;
    private @Nullable ServerSocketAdaptor adaptor;

    RdmaServerSocketChannel(RdmaSelectorProvider provider, AddressRules rules) throws IOException {
        super(provider);
        this.ours = provider;
        this.descriptor = SocketDescriptor.open(rules.isSix());
        this.socket = new ChannelSocket(this, rules, OptionTable.OF_SERVERS, new Readiness(descriptor, null, null));
        this.waiter = new Waiter(descriptor, false);
    }

    Readiness readiness() {
        return socket.readiness;
    }

    @Nullable
    InetSocketAddress local() {
        return socket.local();
    }

    @Override
    public ServerSocketChannel bind(@Nullable SocketAddress address, int backlog) throws IOException {
        InetSocketAddress to = socket.rules.forListen(address);
        try (var _ = socket.lock.held()) {
            socket.bind(to, () -> descriptor.listen(Math.max(backlog, REQUESTS)));
        }
        socket.readiness.changed();
        return this;
    }

    @Override
    public @Nullable RdmaSocketChannel accept() throws IOException {
        return accept(isBlocking(), 0);
    }

    /** Accepts a connection. If it is to wait, waits at most the given time; 0 is no limit. */
    @Nullable
    RdmaSocketChannel accept(boolean blocking, long nanoseconds) throws IOException {
        try (var _ = acceptLock.held()) {
            socket.checkOpen();
            if (local() == null) {
                throw new NotYetBoundException();
            }
            Accepting accepting = new Accepting();
            boolean late = false;
            try {
                if (blocking) {
                    begin();
                }
                waiter.perform(accepting, blocking, nanoseconds);
            } catch (SocketTimeoutException e) {
                late = true;
                throw e;
            } finally {
                if (blocking) {
                    accepting.end(late);
                }
            }
            SocketDescriptor accepted = accepting.accepted;
            return accepted == null ? null : RdmaSocketChannel.accepted(ours, socket.rules, accepted);
        }
    }

    private final class Accepting implements Waiter.Attempt {
        private @Nullable SocketDescriptor accepted;

        @Override
        public boolean isDone() throws IOException {
            accepted = descriptor.accept();
            return accepted != null;
        }

        @Override
        public boolean goesOn() {
            return isOpen();
        }

        @Override
        public String lateMessage() {
            return "Accept timed out";
        }

        /** Ends a blocking accept. If an interrupt keeps the caller from the connection, the connection is closed. */
        void end(boolean late) throws AsynchronousCloseException {
            try {
                RdmaServerSocketChannel.this.end(accepted != null || late);
            } catch (AsynchronousCloseException e) {
                if (accepted != null) {
                    accepted.close();
                }
                throw e;
            }
        }
    }

    @Override
    protected void implCloseSelectableChannel() {
        socket.close(waiter);
        descriptor.closing().await(CLOSE_MILLISECONDS); // the port is free then
    }

    @Override
    protected void implConfigureBlocking(boolean block) throws IOException {
        try (var _ = acceptLock.held()) {
            socket.checkOpen(); // the descriptor is always non-blocking
        }
    }

    @Override
    public <T> ServerSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
        socket.setOption(name, value);
        return this;
    }

    @Override
    public <T> T getOption(SocketOption<T> name) throws IOException {
        return socket.getOption(name);
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return OptionTable.OF_SERVERS.names();
    }

    @Override
    public @Nullable SocketAddress getLocalAddress() throws IOException {
        socket.checkOpen();
        return local();
    }

    @Override
    public ServerSocket socket() {
        try (var _ = socket.lock.held()) {
            ServerSocketAdaptor known = adaptor;
            if (known == null) {
                adaptor = known = ServerSocketAdaptor.of(this);
            }
            return known;
        }
    }

    @Override
    public String toString() {
        return getClass().getName() + "[" + (isOpen() ? local() == null ? "unbound" : local() : "closed") + "]";
    }
}
