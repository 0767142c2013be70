package dev.verbena.sockets;

import dev.verbena.CName;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.ServerSocketChannel;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A {@code ServerSocketChannel} over RDMA ({@code rlisten}). All threads may use it at once; one accepts at a time. */
final class RdmaServerSocketChannel extends ServerSocketChannel {
    /**
     * The least length of the queue of requests, which is the longest that the kernel allows by default. A request that does
     * not fit is refused, where TCP would delay it.
     */
    private static final int REQUESTS = 1_024;

    private static final long CLOSE_MILLISECONDS = 1_000;

    private final ReentrantLock acceptLock = new ReentrantLock();
    private final ReentrantLock stateLock = new ReentrantLock();
    private final Waiter waiter = new Waiter();
    private final RdmaSelectorProvider ours;
    private final SocketDescriptor descriptor;
    private final Readiness readiness;
    private final AddressRules rules;
    private volatile @Nullable InetSocketAddress local;
    private @Nullable ServerSocketAdaptor adaptor;

    RdmaServerSocketChannel(RdmaSelectorProvider provider, AddressRules rules) throws IOException {
        super(provider);
        this.ours = provider;
        this.rules = rules;
        this.descriptor = SocketDescriptor.open(rules.isSix());
        this.readiness = new Readiness(descriptor, Readiness.Phase.UNCONNECTED);
    }

    Readiness readiness() {
        return readiness;
    }

    @Nullable
    InetSocketAddress local() {
        return local;
    }

    private void checkOpen() throws ClosedChannelException {
        if (!isOpen()) {
            throw new ClosedChannelException();
        }
    }

    private void enter() throws ClosedChannelException {
        if (!descriptor.enter()) {
            throw new AsynchronousCloseException();
        }
    }

    @Override
    @CName("rlisten")
    public ServerSocketChannel bind(@Nullable SocketAddress address, int backlog) throws IOException {
        InetSocketAddress to = rules.forListen(address);
        stateLock.lock();
        try {
            checkOpen();
            if (local != null) {
                throw new AlreadyBoundException();
            }
            enter();
            try {
                int errno = descriptor.bind(to);
                if (errno != 0) {
                    throw SocketFailures.bind("rbind", to, errno);
                }
                errno = descriptor.listen(Math.max(backlog, REQUESTS));
                if (errno != 0) {
                    throw SocketFailures.bind("rlisten", to, errno);
                }
                local = descriptor.localAddress();
                readiness.phase(Readiness.Phase.LISTENING);
            } finally {
                descriptor.leave();
            }
            return this;
        } finally {
            stateLock.unlock();
        }
    }

    @Override
    @CName("raccept")
    public @Nullable RdmaSocketChannel accept() throws IOException {
        return accept(isBlocking(), 0);
    }

    /** Accepts for the adaptor, which is in blocking mode. Waits at most the given time; 0 is no limit. */
    @Nullable
    RdmaSocketChannel acceptBefore(long nanoseconds) throws IOException {
        return accept(true, nanoseconds);
    }

    private @Nullable RdmaSocketChannel accept(boolean blocking, long nanoseconds) throws IOException {
        acceptLock.lock();
        try {
            checkOpen();
            if (local == null) {
                throw new NotYetBoundException();
            }
            SocketDescriptor accepted = null;
            boolean over = false;
            try {
                if (blocking) {
                    begin();
                }
                enter();
                try {
                    long start = System.nanoTime();
                    while (true) {
                        accepted = descriptor.accept();
                        if (accepted != null || !blocking || !isOpen()) {
                            break;
                        }
                        long left = nanoseconds == 0 ? 0 : nanoseconds - (System.nanoTime() - start);
                        if (nanoseconds != 0 && left <= 0) {
                            over = true;
                            throw new SocketTimeoutException("Accept timed out");
                        }
                        waiter.await(descriptor, PollSet.IN, left, descriptor.mayMissEvents(), this::isOpen);
                    }
                } finally {
                    descriptor.leave();
                }
            } finally {
                if (blocking) {
                    endAccept(accepted, over);
                }
            }
            return accepted == null ? null : RdmaSocketChannel.accepted(ours, rules, accepted);
        } finally {
            acceptLock.unlock();
        }
    }

    /** Ends a blocking accept. If an interrupt keeps the caller from the connection, the connection is closed. */
    private void endAccept(@Nullable SocketDescriptor accepted, boolean over) throws AsynchronousCloseException {
        try {
            end(accepted != null || over);
        } catch (AsynchronousCloseException e) {
            if (accepted != null) {
                accepted.close();
            }
            throw e;
        }
    }

    @Override
    protected void implCloseSelectableChannel() {
        descriptor.close();
        waiter.close();
        readiness.changed();
        descriptor.awaitClosed(CLOSE_MILLISECONDS); // the port is free then
    }

    @Override
    protected void implConfigureBlocking(boolean block) throws IOException {
        acceptLock.lock();
        try {
            checkOpen(); // the descriptor is always non-blocking
        } finally {
            acceptLock.unlock();
        }
    }

    @Override
    public <T> ServerSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
        OptionTable.OF_SERVERS.check(name, value);
        stateLock.lock();
        try {
            checkOpen();
            enter();
            try {
                OptionTable.OF_SERVERS.set(descriptor, name, value);
            } finally {
                descriptor.leave();
            }
            return this;
        } finally {
            stateLock.unlock();
        }
    }

    @Override
    @SuppressWarnings("unchecked") // the table has the options' types
    public <T> T getOption(SocketOption<T> name) throws IOException {
        OptionTable.OF_SERVERS.check(name);
        stateLock.lock();
        try {
            checkOpen();
            enter();
            try {
                return (T) OptionTable.OF_SERVERS.get(descriptor, name);
            } finally {
                descriptor.leave();
            }
        } finally {
            stateLock.unlock();
        }
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return OptionTable.OF_SERVERS.names();
    }

    @Override
    public @Nullable SocketAddress getLocalAddress() throws IOException {
        checkOpen();
        return local;
    }

    @Override
    public ServerSocket socket() {
        stateLock.lock();
        try {
            ServerSocketAdaptor known = adaptor;
            if (known == null) {
                adaptor = known = ServerSocketAdaptor.of(this);
            }
            return known;
        } finally {
            stateLock.unlock();
        }
    }

    @Override
    public String toString() {
        return getClass().getName() + "[" + (isOpen() ? local == null ? "unbound" : local : "closed") + "]";
    }
}
