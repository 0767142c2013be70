package dev.verbena.sockets;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.Checks;
import dev.verbena.internal.Errno;
import dev.verbena.internal.PollSet;
import dev.verbena.sockets.SocketDescriptor.Phase;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SocketChannel;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A {@code SocketChannel} over RDMA ({@code rsocket}). {@link RdmaSockets} opens it, and a server channel accepts it.
 *
 * <p>It keeps the contract of {@link SocketChannel}: blocking and non-blocking mode, selectors, half close, and closing or
 * interrupting from other threads. The peer must be an RDMA socket too. In blocking mode, {@code close} waits up to a
 * second for the peer's adapter to acknowledge the last data. In non-blocking mode, it does not wait.
 *
 * {@snippet file="SocketSnippets.java" region="connect"}
 *
 * <p>All threads may use a channel at once. One thread reads and one writes at a time.
 */
@CName("rclose")
public final class RdmaSocketChannel extends SocketChannel {
    /** The most bytes of one call into C, so that a thread is never in C for long. */
    static final int LONGEST = 1 << 20;

    private static final long CLOSE_MILLISECONDS = 1_000;

    private final ChannelSocket socket;
    private final SocketDescriptor descriptor;
    private final SocketInput input;
    private final SocketOutput output;
    private volatile @Nullable InetSocketAddress remote;
    private volatile int linger = -1;
    private @Nullable SocketAdaptor adaptor;

    /** Opens an unconnected channel. */
    RdmaSocketChannel(RdmaSelectorProvider provider, AddressRules rules) throws IOException {
        this(provider, rules, SocketDescriptor.open(rules.isSix()));
    }

    private RdmaSocketChannel(RdmaSelectorProvider provider, AddressRules rules, SocketDescriptor descriptor) {
        super(provider);
        this.descriptor = descriptor;
        this.input = new SocketInput(this, descriptor);
        this.output = new SocketOutput(this, descriptor);
        this.socket = new ChannelSocket(this, rules, OptionTable.OF_SOCKETS, new Readiness(descriptor, input, output));
        input.waiter.join(output.waiter);
    }

    /** Makes the channel of an accepted connection. */
    static RdmaSocketChannel accepted(RdmaSelectorProvider provider, AddressRules rules, SocketDescriptor descriptor) {
        RdmaSocketChannel channel = new RdmaSocketChannel(provider, rules, descriptor);
        channel.socket.noteAddress();
        channel.remote = descriptor.remoteAddress();
        return channel;
    }

    Readiness readiness() {
        return socket.readiness;
    }

    void checkConnected() throws ClosedChannelException {
        socket.checkOpen();
        if (!descriptor.phase().isConnected()) { // isConnected() is false too if the channel is closed meanwhile
            throw new NotYetConnectedException();
        }
    }

    /** Begins an operation that may wait. An interrupt of the thread closes the channel. */
    void beginBlocking() {
        begin();
    }

    /** Ends an operation that may have waited. Throws if the channel was closed meanwhile and nothing was done. */
    void endBlocking(boolean completed) throws AsynchronousCloseException {
        end(completed);
    }

    SocketInput input() {
        return input;
    }

    SocketOutput output() {
        return output;
    }

    // Reading and writing

    @Override
    @CName({"rrecv", "rread"})
    public int read(ByteBuffer destination) throws IOException {
        return input.read(destination, 0);
    }

    @Override
    public long read(ByteBuffer[] destinations, int offset, int length) throws IOException {
        return input.scatter(destinations, offset, length);
    }

    @Override
    @CName({"rsend", "rwrite"})
    public int write(ByteBuffer source) throws IOException {
        return output.write(source);
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
        return output.gather(sources, offset, length);
    }

    // Memory that the peer writes to

    /**
     * Maps memory at the offset that is its address, until this channel is closed ({@code riomap}).
     *
     * @param segment the memory; see {@link #map(MemorySegment, long, VerbsArena)}
     * @return the mapped segment
     * @throws IOException if the peer takes no more segments, or the memory can't be pinned
     */
    @CName("riomap")
    public MappedSegment map(MemorySegment segment) throws IOException {
        return map(segment, segment.address());
    }

    /**
     * Maps memory until this channel is closed ({@code riomap}).
     *
     * @param segment the memory; see {@link #map(MemorySegment, long, VerbsArena)}
     * @param offset the offset of its first byte for the peer
     * @return the mapped segment
     * @throws IOException if the peer takes no more segments, or the memory can't be pinned
     */
    @CName("riomap")
    public MappedSegment map(MemorySegment segment, long offset) throws IOException {
        return map(segment, offset, descriptor.mapped().arena());
    }

    /**
     * Maps memory, which the peer then writes to ({@code riomap}). The peer's adapter places the bytes: they are not copied
     * here, and this process is not told. The peer must take mapped segments, with
     * {@link RdmaSocketOptions#RDMA_IOMAPSIZE}. {@link MappedSegment} has an example.
     *
     * <p>In blocking mode, this waits for room in the send queue. The memory must outlive the mapping, as with
     * {@link dev.verbena.verbs.ProtectionDomain#register(MemorySegment, java.util.Collection, VerbsArena)}.
     *
     * @param segment a native segment of 1 byte to 4 GiB - 1
     * @param offset the offset of its first byte for the peer, which must not overlap another mapped segment's offsets
     * @param arena the arena that will close the mapped segment, if this channel is not closed before
     * @return the mapped segment
     * @throws IllegalArgumentException if the segment is read-only, on the heap, empty, too long, mapped already, or of an
     *     arena that might free it too early; or if its offsets overlap
     * @throws IOException if the peer takes no more segments, or the memory can't be pinned; or in non-blocking mode if the
     *     send queue is full
     */
    @CName("riomap")
    public MappedSegment map(MemorySegment segment, long offset, VerbsArena arena) throws IOException {
        return output.map(segment, offset, arena);
    }

    /**
     * Writes bytes into memory that the peer has mapped ({@code riowrite}). The peer's program is not told. It has all the
     * bytes when it reads a byte that this channel writes to the stream afterwards.
     *
     * <p>The bytes are copied once, into this side's registered memory. They arrive in any order. In blocking mode, this
     * waits until all are sent. In non-blocking mode, it sends what the queue has room for. As with the stream, the queue
     * has no room while the peer does not read what was written to the stream.
     *
     * @param source the bytes, on the heap or not
     * @param remoteOffset the peer's offset for the first byte; all bytes must be in one mapped segment of the peer
     * @return the number of bytes that were sent
     * @throws IndexOutOfBoundsException if the peer has mapped nothing at an offset; some bytes may have been sent
     * @throws IOException if the connection is broken
     */
    @CName("riowrite")
    public long write(MemorySegment source, long remoteOffset) throws IOException {
        Checks.checkRange("remote offset", remoteOffset, Long.MAX_VALUE - source.byteSize());
        return output.place(source, remoteOffset);
    }

    // Connecting

    /** Work that no read or write runs beside. */
    private interface Work<T> {
        T run() throws IOException;
    }

    private <T> T alone(Work<T> work) throws IOException {
        input.lock.lock();
        output.lock.lock();
        try {
            return work.run();
        } finally {
            output.lock.unlock();
            input.lock.unlock();
        }
    }

    @Override
    @CName("rbind")
    public RdmaSocketChannel bind(@Nullable SocketAddress address) throws IOException {
        InetSocketAddress to = socket.rules.forBind(address);
        return alone(() -> {
            try (var _ = socket.lock.held()) {
                socket.checkOpen();
                if (descriptor.phase() == Phase.CONNECTING) {
                    throw new ConnectionPendingException();
                }
                socket.bind(to, null);
                return this;
            }
        });
    }

    @Override
    @CName("rconnect")
    public boolean connect(SocketAddress address) throws IOException {
        return connect(address, isBlocking(), 0);
    }

    /** Connects. If it is to wait, waits at most the given time; 0 is no limit. */
    boolean connect(SocketAddress address, boolean blocking, long nanoseconds) throws IOException {
        InetSocketAddress to = socket.rules.forConnect(address);
        return alone(() -> connect(new Connecting(to), true, blocking, nanoseconds));
    }

    @Override
    public boolean finishConnect() throws IOException {
        return alone(() -> {
            socket.checkOpen();
            return switch (descriptor.phase()) {
                case ACCEPTED, CONNECTED -> true;
                case CONNECTING -> connect(new Connecting(Objects.requireNonNull(remote)), false, isBlocking(), 0);
                default -> throw new NoConnectionPendingException();
            };
        });
    }

    private boolean connect(Connecting connecting, boolean start, boolean blocking, long nanoseconds)
            throws IOException {
        try {
            try {
                if (blocking) {
                    begin();
                }
                if (start) {
                    start(connecting.to);
                }
                output.waiter.perform(connecting, blocking, nanoseconds);
                return connecting.done;
            } finally {
                if (blocking) {
                    end(connecting.done);
                }
            }
        } catch (ClosedChannelException e) {
            throw e;
        } catch (IOException e) {
            close();
            throw e;
        }
    }

    private void start(InetSocketAddress to) throws IOException {
        try (var _ = socket.lock.held()) {
            socket.checkOpen();
            switch (descriptor.phase()) {
                case ACCEPTED, CONNECTED -> throw new AlreadyConnectedException();
                case CONNECTING -> throw new ConnectionPendingException();
                default -> {
                    remote = to;
                    descriptor.enter();
                    try {
                        int errno = descriptor.connect(to);
                        if (errno != 0 && errno != Errno.EINPROGRESS) {
                            throw SocketFailures.connect(to, errno);
                        }
                    } finally {
                        descriptor.leave();
                    }
                }
            }
        }
        socket.readiness.changed();
    }

    /** The look whether the connection is there. */
    private final class Connecting implements Waiter.Attempt {
        private final InetSocketAddress to;
        private boolean done;

        Connecting(InetSocketAddress to) {
            this.to = to;
        }

        @Override
        public boolean isDone() throws IOException {
            int reported = Rsocket.look(descriptor.number(), PollSet.OUT);
            if (reported == 0) {
                return false;
            }
            int error = (reported & PollSet.FAILED) == 0 ? 0 : descriptor.takeError();
            if (error != 0) {
                throw SocketFailures.connect(to, error);
            }
            try (var _ = socket.lock.held()) {
                socket.checkOpen();
                socket.noteAddress();
                descriptor.connected();
            }
            socket.readiness.changed();
            done = true;
            return true;
        }

        @Override
        public boolean goesOn() {
            return isOpen();
        }

        @Override
        public String lateMessage() {
            return "Connect timed out: " + to;
        }
    }

    @Override
    public boolean isConnected() {
        return isOpen() && descriptor.phase().isConnected();
    }

    @Override
    public boolean isConnectionPending() {
        return isOpen() && descriptor.phase() == Phase.CONNECTING;
    }

    // Closing

    @Override
    public RdmaSocketChannel shutdownInput() throws IOException {
        try (var _ = socket.lock.held()) {
            checkConnected();
            input.close();
        }
        lookAnew();
        return this;
    }

    @Override
    @CName("rshutdown")
    public RdmaSocketChannel shutdownOutput() throws IOException {
        try (var _ = socket.lock.held()) {
            checkConnected();
            if (output.isClosed()) {
                return this;
            }
            output.close();
        }
        output.waiter.wake();
        socket.readiness.changed();
        // the writing thread has left
        try (var _ = output.lock.held()) {
            descriptor.enter();
            try {
                descriptor.closing().endOutput(this::lookAnew);
            } finally {
                descriptor.leave();
            }
        }
        return this;
    }

    /** Has readers and selectors look anew: rshutdown may have taken the event that would have woken them. */
    private void lookAnew() {
        input.waiter.wake();
        socket.readiness.changed();
    }

    @Override
    protected void implCloseSelectableChannel() {
        descriptor.closing().endPlacing();
        socket.close(input.waiter, output.waiter);
        if (isBlocking() && linger != 0) {
            descriptor.closing().await(Math.max(CLOSE_MILLISECONDS, linger * 1_000L));
        }
    }

    @Override
    protected void implConfigureBlocking(boolean block) throws IOException {
        alone(() -> {
            socket.checkOpen(); // the descriptor is always non-blocking
            return block;
        });
    }

    // Options and addresses

    @Override
    @CName("rsetsockopt")
    public <T> RdmaSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
        socket.setOption(name, value);
        if (name == StandardSocketOptions.SO_LINGER) {
            linger = Math.clamp((Integer) value, -1, 65_535);
        }
        return this;
    }

    @Override
    @CName("rgetsockopt")
    @SuppressWarnings("unchecked") // the option is of integers
    public <T> T getOption(SocketOption<T> name) throws IOException {
        if (name == StandardSocketOptions.SO_LINGER) {
            socket.checkOpen();
            return (T) (Integer) linger;
        }
        return socket.getOption(name);
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return OptionTable.OF_SOCKETS.names();
    }

    @Override
    @CName("rgetsockname")
    public @Nullable SocketAddress getLocalAddress() throws IOException {
        socket.checkOpen();
        return socket.local();
    }

    @Override
    @CName("rgetpeername")
    public @Nullable SocketAddress getRemoteAddress() throws IOException {
        socket.checkOpen();
        return remote();
    }

    @Nullable
    InetSocketAddress local() {
        return socket.local();
    }

    /** Returns the peer's address, also once the channel is closed; null if it was never connected. */
    @Nullable
    InetSocketAddress remote() {
        return descriptor.phase().isConnected() ? remote : null;
    }

    @Override
    public Socket socket() {
        try (var _ = socket.lock.held()) {
            SocketAdaptor known = adaptor;
            if (known == null) {
                adaptor = known = SocketAdaptor.of(this);
            }
            return known;
        }
    }

    @Override
    public String toString() {
        String state = !isOpen()
                ? "closed"
                : switch (descriptor.phase()) {
                    case ACCEPTED, CONNECTED ->
                        "connected" + (input.isClosed() ? " ishut" : "") + (output.isClosed() ? " oshut" : "");
                    case CONNECTING -> "connection-pending";
                    default -> "unconnected";
                };
        InetSocketAddress local = local();
        InetSocketAddress peer = remote();
        return getClass().getName() + "[" + state + (local == null ? "" : " local=" + local)
                + (peer == null ? "" : " remote=" + peer) + "]";
    }
}
