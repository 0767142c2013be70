package dev.verbena.sockets;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.Checks;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Rsocket;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SocketChannel;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A {@code SocketChannel} over RDMA ({@code rsocket}). {@link RdmaSockets} opens it, and a server channel accepts it.
 *
 * <p>It keeps the contract of {@link SocketChannel}: blocking and non-blocking mode, selectors, half close, and closing or
 * interrupting from other threads. The peer must be an RDMA socket too. In blocking mode, {@code close} waits up to a
 * second for the peer's adapter to acknowledge the last data. In non-blocking mode, it does not wait.
 *
 * <p>All threads may use a channel at once. One thread reads and one writes at a time.
 */
@CName("rclose")
public final class RdmaSocketChannel extends SocketChannel {
    private static final int UNAVAILABLE = -2;
    private static final int END = -1;

    /** The most bytes of one call into C, so that a thread is never in C for long. */
    private static final int LONGEST = 1 << 20;

    private static final long CLOSE_MILLISECONDS = 1_000;

    private final ReentrantLock readLock = new ReentrantLock();
    private final ReentrantLock writeLock = new ReentrantLock();
    private final ReentrantLock stateLock = new ReentrantLock();
    private final Waiter readWaiter = new Waiter();
    private final Waiter writeWaiter = new Waiter();
    private final BufferMemory readMemory = new BufferMemory();
    private final BufferMemory writeMemory = new BufferMemory();
    private final SocketDescriptor descriptor;
    private final Readiness readiness;
    private final Waiter.Condition mayRead;
    private final Waiter.Condition mayWrite;
    private final AddressRules rules;

    private volatile boolean inputClosed;
    private volatile boolean outputClosed;
    private volatile @Nullable InetSocketAddress local;
    private volatile @Nullable InetSocketAddress remote;
    private volatile int linger = -1;
    private @Nullable SocketAdaptor adaptor;

    /** Opens an unconnected channel. */
    RdmaSocketChannel(RdmaSelectorProvider provider, AddressRules rules) throws IOException {
        this(provider, rules, SocketDescriptor.open(rules.isSix()), Readiness.Phase.UNCONNECTED);
    }

    private RdmaSocketChannel(
            RdmaSelectorProvider provider, AddressRules rules, SocketDescriptor descriptor, Readiness.Phase phase) {
        super(provider);
        this.rules = rules;
        this.descriptor = descriptor;
        this.readiness = new Readiness(descriptor, phase);
        this.mayRead = () -> isOpen() && !inputClosed;
        this.mayWrite = () -> isOpen() && !outputClosed;
    }

    /** Makes the channel of an accepted connection. */
    static RdmaSocketChannel accepted(RdmaSelectorProvider provider, AddressRules rules, SocketDescriptor descriptor) {
        RdmaSocketChannel channel = new RdmaSocketChannel(provider, rules, descriptor, Readiness.Phase.CONNECTED);
        channel.local = descriptor.localAddress();
        channel.remote = descriptor.remoteAddress();
        return channel;
    }

    Readiness readiness() {
        return readiness;
    }

    private void checkOpen() throws ClosedChannelException {
        if (!isOpen()) {
            throw new ClosedChannelException();
        }
    }

    private void checkConnected() throws ClosedChannelException {
        checkOpen();
        if (readiness.phase() != Readiness.Phase.CONNECTED) {
            throw new NotYetConnectedException();
        }
    }

    private void checkMayWrite() throws ClosedChannelException {
        checkConnected();
        if (outputClosed) {
            throw new ClosedChannelException();
        }
    }

    /** Begins a use of the descriptor. */
    private void enter() throws ClosedChannelException {
        if (!descriptor.enter()) {
            throw new AsynchronousCloseException();
        }
    }

    // Reading

    @Override
    @CName({"rrecv", "rread"})
    public int read(ByteBuffer destination) throws IOException {
        Buffers.checkWritable(destination);
        readLock.lock();
        try {
            return (int) readLocked(destination, null, 0, 0);
        } finally {
            readLock.unlock();
        }
    }

    @Override
    public long read(ByteBuffer[] destinations, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, destinations.length);
        for (int i = offset; i < offset + length; i++) {
            Buffers.checkWritable(destinations[i]);
        }
        readLock.lock();
        try {
            return readLocked(null, destinations, offset, length);
        } finally {
            readLock.unlock();
        }
    }

    private long readLocked(@Nullable ByteBuffer one, ByteBuffer @Nullable [] many, int offset, int length)
            throws IOException {
        checkConnected();
        boolean blocking = isBlocking();
        long count = UNAVAILABLE;
        try {
            if (blocking) {
                begin();
            }
            if (inputClosed) {
                return END;
            }
            enter();
            try {
                if (blocking) {
                    readWaiter.begin(descriptor);
                }
                while (true) {
                    count = one != null ? receive(one) : scatter(Objects.requireNonNull(many), offset, length);
                    if (count != UNAVAILABLE || !blocking || !mayRead.holds()) {
                        break;
                    }
                    readWaiter.await(descriptor, PollSet.IN, 0, false, mayRead);
                }
            } finally {
                readWaiter.end(descriptor);
                descriptor.leave();
            }
        } finally {
            if (blocking) {
                end(count != UNAVAILABLE);
            }
        }
        if (count == UNAVAILABLE) {
            return inputClosed ? END : 0;
        }
        return count;
    }

    private long scatter(ByteBuffer[] buffers, int offset, int length) throws IOException {
        long sum = 0;
        boolean any = false;
        for (int i = offset; i < offset + length; i++) {
            ByteBuffer buffer = buffers[i];
            int room = buffer.remaining();
            if (room == 0) {
                continue;
            }
            any = true;
            int count = receive(buffer);
            if (count < 0) {
                return sum > 0 ? sum : count;
            }
            sum += count;
            if (count < room) {
                return sum;
            }
        }
        return any ? sum : 0;
    }

    /** Receives once. Returns the number of bytes, {@link #END} or {@link #UNAVAILABLE}. */
    private int receive(ByteBuffer to) throws IOException {
        int room = to.remaining();
        if (room == 0) {
            return 0;
        }
        long count;
        if (to.isDirect()) {
            count = receive(readMemory.of(to), to.position(), Math.min(room, LONGEST));
            if (count > 0) {
                to.position(to.position() + (int) count);
            }
        } else {
            Buffers buffers = Buffers.take();
            try {
                count = receive(buffers.memory(), 0, Math.min(room, Buffers.SIZE));
                if (count > 0) {
                    buffers.drain(to, (int) count);
                }
            } finally {
                buffers.giveBack();
            }
        }
        return (int) count;
    }

    private long receive(MemorySegment to, long at, long length) throws IOException {
        long count;
        do {
            count = Rsocket.receive(descriptor.number(), to, at, length, readWaiter.leads());
        } while (count == -Errno.EINTR);
        if (count > 0) {
            descriptor.connected();
            return count;
        }
        if (count == 0) {
            int error = descriptor.takeError(); // a broken connection ends the stream like a closed one
            if (error != 0) {
                throw SocketFailures.read(error);
            }
            return END;
        }
        if (count == -Errno.EAGAIN) {
            return UNAVAILABLE;
        }
        throw SocketFailures.read((int) -count);
    }

    /** Reads for the adaptor, which is in blocking mode. Waits at most the given time; 0 is no limit. */
    int readBefore(ByteBuffer to, long nanoseconds) throws IOException {
        if (nanoseconds == 0) {
            return read(to);
        }
        readLock.lock();
        try {
            checkConnected();
            int count = UNAVAILABLE;
            try {
                begin();
                if (inputClosed) {
                    return END;
                }
                enter();
                try {
                    readWaiter.begin(descriptor);
                    long start = System.nanoTime();
                    while (true) {
                        count = receive(to);
                        if (count != UNAVAILABLE || !mayRead.holds()) {
                            break;
                        }
                        long left = nanoseconds - (System.nanoTime() - start);
                        if (left <= 0) {
                            throw new SocketTimeoutException("Read timed out");
                        }
                        readWaiter.await(descriptor, PollSet.IN, left, false, mayRead);
                    }
                } finally {
                    readWaiter.end(descriptor);
                    descriptor.leave();
                }
            } catch (SocketTimeoutException e) {
                count = 0;
                throw e;
            } finally {
                end(count != UNAVAILABLE);
            }
            return count == UNAVAILABLE ? END : count;
        } finally {
            readLock.unlock();
        }
    }

    /** Returns the number of bytes that can be read without waiting, up to {@link Buffers#SIZE}. */
    int available() throws IOException {
        readLock.lock();
        try {
            checkConnected();
            if (inputClosed) {
                return 0;
            }
            enter();
            Buffers buffers = Buffers.take();
            try {
                return (int) Math.max(0, Rsocket.peek(descriptor.number(), buffers.memory(), Buffers.SIZE));
            } finally {
                buffers.giveBack();
                descriptor.leave();
            }
        } finally {
            readLock.unlock();
        }
    }

    // Writing

    @Override
    @CName({"rsend", "rwrite"})
    public int write(ByteBuffer source) throws IOException {
        Objects.requireNonNull(source);
        writeLock.lock();
        try {
            return (int) writeLocked(source, null, 0, 0);
        } finally {
            writeLock.unlock();
        }
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, sources.length);
        for (int i = offset; i < offset + length; i++) {
            Objects.requireNonNull(sources[i]);
        }
        writeLock.lock();
        try {
            return writeLocked(null, sources, offset, length);
        } finally {
            writeLock.unlock();
        }
    }

    private long writeLocked(@Nullable ByteBuffer one, ByteBuffer @Nullable [] many, int offset, int length)
            throws IOException {
        checkMayWrite();
        boolean blocking = isBlocking();
        long sum = 0;
        boolean complete = false;
        try {
            if (blocking) {
                begin();
            }
            enter();
            try {
                while (true) {
                    long count = one != null ? send(one) : gather(Objects.requireNonNull(many), offset, length);
                    sum += Math.max(count, 0);
                    complete = one != null
                            ? !one.hasRemaining()
                            : Buffers.areEmpty(Objects.requireNonNull(many), offset, length);
                    if (complete || !blocking || !mayWrite.holds()) {
                        break;
                    }
                    if (count == UNAVAILABLE) {
                        writeWaiter.await(descriptor, PollSet.OUT, 0, false, mayWrite);
                    }
                }
            } catch (IOException e) {
                if (sum == 0) {
                    throw e;
                } // else the next write reports it
            } finally {
                writeWaiter.end(descriptor);
                descriptor.leave();
            }
        } finally {
            if (blocking) {
                end(complete || sum > 0);
            }
        }
        if (sum == 0 && !complete && outputClosed) {
            throw new AsynchronousCloseException();
        }
        return sum;
    }

    private long gather(ByteBuffer[] buffers, int offset, int length) throws IOException {
        long sum = 0;
        for (int i = offset; i < offset + length; i++) {
            ByteBuffer buffer = buffers[i];
            while (buffer.hasRemaining()) {
                long count = Buffers.isSmall(buffers, i, offset + length)
                        ? sendTogether(buffers, i, offset + length)
                        : send(buffer);
                if (count == UNAVAILABLE) {
                    return sum > 0 ? sum : UNAVAILABLE;
                }
                sum += count;
            }
        }
        return sum;
    }

    private long sendTogether(ByteBuffer[] buffers, int from, int to) throws IOException {
        Buffers together = Buffers.take();
        try {
            int filled = 0;
            for (int i = from; i < to && filled < Buffers.SIZE; i++) {
                filled += together.append(buffers[i], filled);
            }
            long count = send(together.memory(), 0, filled);
            for (long left = count, i = from; left > 0; i++) {
                ByteBuffer buffer = buffers[(int) i];
                int taken = (int) Math.min(left, buffer.remaining());
                buffer.position(buffer.position() + taken);
                left -= taken;
            }
            return count;
        } finally {
            together.giveBack();
        }
    }

    /** Sends once. Returns the number of bytes or {@link #UNAVAILABLE}. */
    private long send(ByteBuffer from) throws IOException {
        int left = from.remaining();
        if (left == 0) {
            return 0;
        }
        long count;
        if (from.isDirect()) {
            count = send(writeMemory.of(from), from.position(), Math.min(left, LONGEST));
        } else {
            Buffers buffers = Buffers.take();
            try {
                int length = Math.min(left, Buffers.SIZE);
                buffers.fill(from, length);
                count = send(buffers.memory(), 0, length);
            } finally {
                buffers.giveBack();
            }
        }
        if (count > 0) {
            from.position(from.position() + (int) count);
        }
        return count;
    }

    private long send(MemorySegment from, long at, long length) throws IOException {
        long count;
        do {
            count = Rsocket.send(descriptor.number(), from, at, length, writeWaiter.leads());
        } while (count == -Errno.EINTR);
        if (count >= 0) {
            descriptor.connected();
            return count;
        }
        if (count == -Errno.EAGAIN) {
            return UNAVAILABLE;
        }
        throw SocketFailures.write((int) -count);
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
     * {@link RdmaSocketOptions#RDMA_IOMAPSIZE}.
     *
     * {@snippet file="SocketSnippets.java" region="map"}
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
        MappedMemory.check(segment, offset);
        writeLock.lock();
        try {
            checkMayWrite();
            boolean blocking = isBlocking();
            boolean done = false;
            try {
                if (blocking) {
                    begin();
                }
                enter();
                try {
                    writeWaiter.awaitRoom(descriptor, mayWrite, blocking);
                    MappedSegment mapped = descriptor.mapped().map(this, segment, offset, arena);
                    done = true;
                    return mapped;
                } finally {
                    outputClosed |= descriptor.mapped().isBroken();
                    descriptor.leave();
                }
            } finally {
                if (blocking) {
                    end(done);
                }
            }
        } finally {
            writeLock.unlock();
        }
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
        writeLock.lock();
        try {
            checkMayWrite();
            boolean blocking = isBlocking();
            long sum = 0;
            try {
                if (blocking) {
                    begin();
                }
                enter();
                try {
                    while (sum < source.byteSize()) {
                        long count = descriptor.mapped().place(source, sum, remoteOffset + sum, writeWaiter.leads());
                        sum += Math.max(count, 0);
                        if (!blocking || !mayWrite.holds()) {
                            break;
                        }
                        if (count == UNAVAILABLE) {
                            writeWaiter.await(descriptor, PollSet.OUT, 0, false, mayWrite);
                        }
                    }
                } finally {
                    writeWaiter.end(descriptor);
                    descriptor.leave();
                }
            } finally {
                if (blocking) {
                    end(sum > 0 || source.byteSize() == 0);
                }
            }
            return sum;
        } finally {
            writeLock.unlock();
        }
    }

    // Connecting

    @Override
    @CName("rbind")
    public RdmaSocketChannel bind(@Nullable SocketAddress address) throws IOException {
        InetSocketAddress to = rules.forBind(address);
        readLock.lock();
        writeLock.lock();
        stateLock.lock();
        try {
            checkOpen();
            if (readiness.phase() == Readiness.Phase.CONNECTING) {
                throw new ConnectionPendingException();
            }
            if (local != null) {
                throw new AlreadyBoundException();
            }
            enter();
            try {
                int errno = descriptor.bind(to);
                if (errno != 0) {
                    throw SocketFailures.bind("rbind", to, errno);
                }
                local = descriptor.localAddress();
            } finally {
                descriptor.leave();
            }
            return this;
        } finally {
            stateLock.unlock();
            writeLock.unlock();
            readLock.unlock();
        }
    }

    @Override
    @CName("rconnect")
    public boolean connect(SocketAddress address) throws IOException {
        InetSocketAddress to = rules.forConnect(address);
        readLock.lock();
        writeLock.lock();
        try {
            return connectLocked(to, isBlocking(), 0);
        } finally {
            writeLock.unlock();
            readLock.unlock();
        }
    }

    /** Connects for the adaptor, which is in blocking mode. Waits at most the given time; 0 is no limit. */
    void connectBefore(SocketAddress address, long nanoseconds) throws IOException {
        InetSocketAddress to = rules.forConnect(address);
        readLock.lock();
        writeLock.lock();
        try {
            connectLocked(to, true, nanoseconds);
        } finally {
            writeLock.unlock();
            readLock.unlock();
        }
    }

    private boolean connectLocked(InetSocketAddress to, boolean blocking, long nanoseconds) throws IOException {
        boolean connected = false;
        try {
            try {
                if (blocking) {
                    begin();
                }
                startConnect(to);
                connected = awaitConnected(to, blocking, nanoseconds);
            } finally {
                if (blocking) {
                    end(connected);
                }
            }
        } catch (AlreadyConnectedException | ConnectionPendingException | ClosedChannelException e) {
            throw e;
        } catch (IOException e) {
            close();
            throw e;
        }
        return connected;
    }

    private void startConnect(InetSocketAddress to) throws IOException {
        stateLock.lock();
        try {
            checkOpen();
            switch (readiness.phase()) {
                case CONNECTED -> throw new AlreadyConnectedException();
                case CONNECTING -> throw new ConnectionPendingException();
                default -> {
                    remote = to;
                    enter();
                    try {
                        int errno = descriptor.connect(to);
                        if (errno != 0 && errno != Errno.EINPROGRESS) {
                            throw SocketFailures.connect(to, errno);
                        }
                    } finally {
                        descriptor.leave();
                    }
                    readiness.phase(Readiness.Phase.CONNECTING);
                }
            }
        } finally {
            stateLock.unlock();
        }
    }

    @Override
    public boolean finishConnect() throws IOException {
        readLock.lock();
        writeLock.lock();
        try {
            checkOpen();
            if (readiness.phase() == Readiness.Phase.CONNECTED) {
                return true;
            }
            if (readiness.phase() != Readiness.Phase.CONNECTING) {
                throw new NoConnectionPendingException();
            }
            InetSocketAddress to = Objects.requireNonNull(remote);
            boolean blocking = isBlocking();
            boolean connected = false;
            try {
                if (blocking) {
                    begin();
                }
                connected = awaitConnected(to, blocking, 0);
            } catch (ClosedChannelException e) {
                throw e;
            } catch (IOException e) {
                close();
                throw e;
            } finally {
                if (blocking) {
                    end(connected);
                }
            }
            return connected;
        } finally {
            writeLock.unlock();
            readLock.unlock();
        }
    }

    /** Looks whether the connection is there, or waits for it. */
    private boolean awaitConnected(InetSocketAddress to, boolean blocking, long nanoseconds) throws IOException {
        enter();
        try {
            long start = System.nanoTime();
            while (true) {
                int reported = writeWaiter.look(descriptor, PollSet.OUT);
                if (reported != 0) {
                    becomeConnected(to, reported);
                    return true;
                }
                if (!blocking || !mayWrite.holds()) {
                    return false;
                }
                long left = nanoseconds == 0 ? 0 : nanoseconds - (System.nanoTime() - start);
                if (left < 0 || (nanoseconds != 0 && left == 0)) {
                    throw new SocketTimeoutException("Connect timed out: " + to);
                }
                writeWaiter.await(descriptor, PollSet.OUT, left, true, mayWrite);
            }
        } finally {
            descriptor.leave();
        }
    }

    private void becomeConnected(InetSocketAddress to, int reported) throws IOException {
        if ((reported & PollSet.FAILED) != 0) {
            int error = descriptor.takeError();
            if (error != 0) {
                throw SocketFailures.connect(to, error);
            }
        }
        stateLock.lock();
        try {
            checkOpen();
            local = descriptor.localAddress();
            descriptor.connected();
            readiness.phase(Readiness.Phase.CONNECTED);
        } finally {
            stateLock.unlock();
        }
    }

    @Override
    public boolean isConnected() {
        return readiness.phase() == Readiness.Phase.CONNECTED;
    }

    @Override
    public boolean isConnectionPending() {
        return readiness.phase() == Readiness.Phase.CONNECTING;
    }

    // Closing

    @Override
    public RdmaSocketChannel shutdownInput() throws IOException {
        stateLock.lock();
        try {
            checkConnected();
            inputClosed = true;
        } finally {
            stateLock.unlock();
        }
        readWaiter.wake();
        return this;
    }

    @Override
    @CName("rshutdown")
    public RdmaSocketChannel shutdownOutput() throws IOException {
        stateLock.lock();
        try {
            checkConnected();
            if (outputClosed) {
                return this;
            }
            outputClosed = true;
        } finally {
            stateLock.unlock();
        }
        writeWaiter.wake();
        writeLock.lock(); // the writing thread has left
        try {
            enter();
            try {
                descriptor.shutdownOutput(this::pollAnew);
            } finally {
                descriptor.leave();
            }
        } finally {
            writeLock.unlock();
        }
        return this;
    }

    /** Has all who wait poll anew: rshutdown may have taken the event that would have woken them. */
    private void pollAnew() {
        readWaiter.wake();
        readiness.changed();
    }

    boolean isInputClosed() {
        return inputClosed;
    }

    boolean isOutputClosed() {
        return outputClosed;
    }

    @Override
    protected void implCloseSelectableChannel() {
        descriptor.endPlacing();
        descriptor.close();
        readWaiter.close();
        writeWaiter.close();
        readiness.changed();
        if (isBlocking() && linger != 0) {
            descriptor.awaitClosed(Math.max(CLOSE_MILLISECONDS, linger * 1_000L));
        }
    }

    @Override
    protected void implConfigureBlocking(boolean block) throws IOException {
        readLock.lock();
        writeLock.lock();
        try {
            checkOpen(); // the descriptor is always non-blocking
        } finally {
            writeLock.unlock();
            readLock.unlock();
        }
    }

    // Options and addresses

    @Override
    @CName("rsetsockopt")
    public <T> RdmaSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
        OptionTable.OF_SOCKETS.check(name, value);
        stateLock.lock();
        try {
            checkOpen();
            enter();
            try {
                OptionTable.OF_SOCKETS.set(descriptor, name, value);
            } finally {
                descriptor.leave();
            }
            if (name == StandardSocketOptions.SO_LINGER) {
                linger = Math.clamp((Integer) value, -1, 65_535);
            }
            return this;
        } finally {
            stateLock.unlock();
        }
    }

    @Override
    @CName("rgetsockopt")
    @SuppressWarnings("unchecked") // the table has the options' types
    public <T> T getOption(SocketOption<T> name) throws IOException {
        OptionTable.OF_SOCKETS.check(name);
        stateLock.lock();
        try {
            checkOpen();
            if (name == StandardSocketOptions.SO_LINGER) {
                return (T) (Integer) linger;
            }
            enter();
            try {
                return (T) OptionTable.OF_SOCKETS.get(descriptor, name);
            } finally {
                descriptor.leave();
            }
        } finally {
            stateLock.unlock();
        }
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return OptionTable.OF_SOCKETS.names();
    }

    @Override
    @CName("rgetsockname")
    public @Nullable SocketAddress getLocalAddress() throws IOException {
        checkOpen();
        return local;
    }

    @Override
    @CName("rgetpeername")
    public @Nullable SocketAddress getRemoteAddress() throws IOException {
        checkOpen();
        return isConnected() ? remote : null;
    }

    @Nullable
    InetSocketAddress local() {
        return local;
    }

    @Nullable
    InetSocketAddress remote() {
        return isConnected() ? remote : null;
    }

    @Override
    public Socket socket() {
        stateLock.lock();
        try {
            SocketAdaptor known = adaptor;
            if (known == null) {
                adaptor = known = SocketAdaptor.of(this);
            }
            return known;
        } finally {
            stateLock.unlock();
        }
    }

    @Override
    public String toString() {
        String state = !isOpen()
                ? "closed"
                : switch (readiness.phase()) {
                    case CONNECTED -> "connected" + (inputClosed ? " ishut" : "") + (outputClosed ? " oshut" : "");
                    case CONNECTING -> "connection-pending";
                    default -> "unconnected";
                };
        return getClass().getName() + "[" + state + (local == null ? "" : " local=" + local)
                + (isConnected() ? " remote=" + remote : "") + "]";
    }
}
