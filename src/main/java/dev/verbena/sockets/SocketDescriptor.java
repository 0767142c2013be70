package dev.verbena.sockets;

import dev.verbena.ResourceBusyException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.DescriptorWaits;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Fields;
import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.PollSet;
import dev.verbena.internal.SystemCall;
import dev.verbena.internal.SystemCallException;
import dev.verbena.internal.raw.sockaddr_storage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.nio.channels.AsynchronousCloseException;
import org.jspecify.annotations.Nullable;

/**
 * A stream rsocket's descriptor, which never blocks, and the count of threads and selectors that use it.
 *
 * <p>Each use is between {@link #enter} and {@link #leave}. After {@link #close} no use begins, and the last one that ends
 * lets other threads close it, once the peer's adapter has acknowledged all data. So no function of C runs with a
 * descriptor that may belong to another socket.
 *
 * <p>All threads may use a descriptor at once.
 */
final class SocketDescriptor {
    static final int SEND_BUFFER = 7;
    static final int RECEIVE_BUFFER = 8;
    static final int SOCKET_LEVEL = 1;
    static final int SHUTDOWN_WRITE = 1;
    static final int SHUTDOWN_BOTH = 2;

    private static final int ERROR = 4;
    private static final int CLOSED = 1 << 31;
    static final int NONE = -1;
    private static final int UNKNOWN = -2;
    private static final VarHandle STATE = Fields.handle(MethodHandles.lookup(), "state", int.class);

    /** The states of an rsocket until it is closed. */
    enum Phase {
        UNCONNECTED,
        LISTENING,
        CONNECTING,
        /** Connected for the program, but C may not have made the connection yet: an accepted one. */
        ACCEPTED,
        CONNECTED;

        /** Returns whether the program may read and write. */
        boolean isConnected() {
            return this == ACCEPTED || this == CONNECTED;
        }
    }

    /** What leads from one phase to another. */
    private enum Event {
        LISTENS,
        CONNECTS,
        /** The connection is there, as C says, or as data that went through shows. A full send queue hides that later. */
        IS_THERE
    }

    private final int number;
    private final RcloseWaitsForPeer closing = new RcloseWaitsForPeer(this);
    private final MappedMemory mapped = new MappedMemory(this);
    private final Mutex lock = new Mutex();
    private volatile Phase phase;

    /** The completion channel, which never changes once it is found. The lock guards this. */
    private int channel = UNKNOWN;

    /** A duplicate of the queue of a listener's connections, or the rsocket itself if the queue was not found. */
    private int queue;

    private volatile @Nullable DescriptorWaits waits;

    /** Gives back the place in a service thread. */
    private Runnable atEnd = () -> {};

    /** True once C has closed the rsocket. The thread that closes it uses this. */
    private boolean closedInC;

    /** The number of uses, and the bit {@link #CLOSED}. */
    @SuppressWarnings("unused") // the handle uses it
    private volatile int state;

    private SocketDescriptor(int number, Phase phase) {
        this.number = number;
        this.queue = number;
        this.phase = phase;
    }

    private static Phase next(Phase phase, Event event) {
        return switch (event) {
            case LISTENS -> Phase.LISTENING;
            case CONNECTS -> Phase.CONNECTING;
            case IS_THERE -> phase == Phase.CONNECTING || phase == Phase.ACCEPTED ? Phase.CONNECTED : phase;
        };
    }

    /** Returns the phase. It stays when the socket is closed. */
    Phase phase() {
        return phase;
    }

    /** Opens an rsocket. C takes addresses of both families, whichever family the socket is of. */
    static SocketDescriptor open(boolean six) throws IOException {
        Rsocket.prepare();
        MovedServiceLists.prepare();
        RcloseWaitsForPeer.prepare();
        boolean ignored = InlineDataLimits.isIgnored();
        int number = Rsocket.open(six ? IpAddresses.INET6 : IpAddresses.INET);
        if (number < 0) {
            throw SocketFailures.of("rsocket", CFunction.errno());
        }
        SocketDescriptor made = nonBlocking(number, Phase.UNCONNECTED);
        if (ignored) {
            try {
                OptionTable.OF_SERVERS.set(made, RdmaSocketOptions.RDMA_INLINE, 0);
            } catch (Throwable t) {
                made.close();
                throw t;
            }
        }
        return made;
    }

    private static SocketDescriptor nonBlocking(int number, Phase phase) throws IOException {
        if (Rsocket.setNonBlocking(number, true) < 0) {
            int errno = CFunction.errno();
            Rsocket.CLOSE.call(number);
            throw SocketFailures.of("rfcntl", errno);
        }
        try {
            return new SocketDescriptor(number, phase);
        } catch (Throwable t) {
            Rsocket.CLOSE.call(number);
            throw t;
        }
    }

    /** Returns the number for functions of C. */
    int number() {
        return number;
    }

    /** Returns the number for {@code rpoll}: of a listener, the queue of its connections. */
    int pollNumber() {
        return queue;
    }

    /**
     * Returns the descriptor that the kernel reports events of: a connection's completion channel, or a listener's queue.
     * Returns {@link #NONE} while there is none, as during a connect.
     */
    int eventNumber() {
        if (phase == Phase.LISTENING) {
            return queue == number ? NONE : queue;
        }
        if (!phase.isConnected() || !isThere()) {
            return NONE;
        }
        try (var _ = lock.held()) {
            connected();
            return findChannel() ? channel : NONE;
        }
    }

    /**
     * Asks for the next event of {@link #eventNumber}. Returns false if none will come before the program reads what is there:
     * the connection has data, or the stream has ended.
     */
    boolean ask() {
        return phase == Phase.LISTENING || Rsocket.arm(number);
    }

    /** Returns the memory that the peer writes to. */
    MappedMemory mapped() {
        return mapped;
    }

    /** Notes that the connection is there. */
    void connected() {
        if (phase != Phase.CONNECTED) {
            phase = next(phase, Event.IS_THERE);
        }
    }

    /**
     * Returns whether the connection is there: C may accept it before. It is not seen to be there when the send queue is full
     * and no data is known to have gone through.
     */
    boolean isThere() {
        return switch (phase) {
            case UNCONNECTED, LISTENING -> false;
            case CONNECTING, ACCEPTED -> Rsocket.look(number, PollSet.OUT) != 0;
            case CONNECTED -> true;
        };
    }

    /** Returns whether {@link #waits} has found a descriptor. */
    boolean hasWaits() {
        return waits != null;
    }

    /** Returns the waits at {@link #eventNumber}; null while there is none. */
    @Nullable
    DescriptorWaits waits() {
        if (waits == null) {
            int events = eventNumber();
            try (var _ = lock.held()) {
                if (waits == null && events != NONE) {
                    waits = new DescriptorWaits(events, SocketDescriptor::cannotWait);
                }
            }
        }
        return waits;
    }

    static UncheckedIOException cannotWait(Object owner, Throwable cause) {
        return new UncheckedIOException(
                cause instanceof SystemCallException refused
                        ? SocketFailures.of(refused.call(), refused.errno())
                        : new IOException("No thread waits for the events of sockets", cause));
    }

    /**
     * Finds the completion channel, so that no function of C waits for the peer any more. Returns false if it is not found:
     * see {@link HiddenDescriptor#completionChannel}. The connection is there.
     */
    boolean findChannel() {
        try (var _ = lock.held()) {
            if (channel == UNKNOWN) {
                channel = HiddenDescriptor.completionChannel(number);
            }
            return channel >= 0;
        }
    }

    /** Begins a use. */
    void enter() throws AsynchronousCloseException {
        if (!tryEnter()) {
            throw new AsynchronousCloseException();
        }
    }

    /** Begins a use. Returns false if the descriptor was closed. */
    boolean tryEnter() {
        int now;
        do {
            now = state;
            if (now < 0) {
                return false;
            }
        } while (!STATE.weakCompareAndSet(this, now, now + 1));
        return true;
    }

    /** Ends a use. */
    void leave() {
        if ((int) STATE.getAndAdd(this, -1) == (CLOSED | 1)) {
            release();
        }
    }

    /** Returns whether {@link #close} was called. */
    boolean isClosed() {
        return state < 0;
    }

    /** Closes the descriptor when its last use ends. The caller wakes those who wait. */
    void close() {
        if ((int) STATE.getAndBitwiseOr(this, CLOSED) == 0) {
            release();
        }
    }

    private void release() {
        DescriptorWaits known = waits;
        try {
            if (known != null) {
                known.close();
            }
        } finally {
            closing.begin();
        }
    }

    /**
     * Has C close the rsocket: {@link RcloseWaitsForPeer} calls this when C does not wait, and again if memory was missing.
     */
    void finish() {
        boolean over = true;
        try {
            closeInC();
        } catch (OutOfMemoryError shortage) {
            over = false;
            throw shortage;
        } finally {
            if (over) {
                atEnd.run();
            }
        }
    }

    private void closeInC() {
        if (!closedInC) {
            if (phase != Phase.UNCONNECTED && phase != Phase.LISTENING) {
                shutdown(SHUTDOWN_BOTH); // C disconnects
            }
            endMapped();
            if (phase == Phase.LISTENING && queue == number) {
                closeQueued(); // a connection that comes later is lost
            }
            Rsocket.CLOSE.call(number);
            closedInC = true; // another socket may get the number now
        }
        if (queue != number) {
            closeUnaccepted();
            SystemCall.close(queue);
            queue = number;
        }
    }

    /** Tells the peer the end of the stream. Returns false if there is no room for that in the send queue. */
    boolean shutdown(int how) {
        return (int) Rsocket.SHUTDOWN.call(number, how) == 0 || CFunction.errno() != Errno.EAGAIN;
    }

    /** Unmaps memory. What the peer places after that breaks the connection. */
    private void endMapped() {
        try {
            mapped.endAll();
        } catch (ResourceBusyException e) {
            // The program has other objects in the channel's arena, which stays open. Nothing is mapped any more.
        }
    }

    /** Returns the steps that close the rsocket. */
    RcloseWaitsForPeer closing() {
        return closing;
    }

    /**
     * Closes the connections that nobody has accepted: C forgets them, and their peers would wait for ever. C has closed the
     * listener before, because until then its thread may add another one.
     */
    private void closeUnaccepted() {
        int next = HiddenDescriptor.takeUnaccepted(queue);
        while (next != HiddenDescriptor.NOT_FOUND) {
            try {
                nonBlocking(next, Phase.ACCEPTED).close();
            } catch (IOException e) {
                // C has closed it.
            }
            next = HiddenDescriptor.takeUnaccepted(queue);
        }
    }

    /** Closes the connections in the queue of a listener whose queue was not found. */
    private void closeQueued() {
        try {
            for (SocketDescriptor next = accept(); next != null; next = accept()) {
                next.close();
            }
        } catch (IOException e) {
            // The listener is closed all the same.
        }
    }

    /** Binds to an address ({@code rbind}). Returns 0 or an error number. */
    int bind(InetSocketAddress address) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment to = IpAddresses.write(address, scratch);
            return errnoOf((int) Rsocket.BIND.call(number, to.address(), IpAddresses.length(address)));
        }
    }

    /** Listens ({@code rlisten}). Returns 0 or an error number. */
    int listen(int backlog) throws IOException {
        MovedServiceLists.addListener();
        atEnd = MovedServiceLists::removeListener;
        int errno = errnoOf((int) Rsocket.LISTEN.call(number, backlog));
        if (errno == 0) {
            int found = HiddenDescriptor.acceptQueue(number);
            if (found != HiddenDescriptor.NOT_FOUND) {
                queue = duplicate(found);
            }
            phase = next(phase, Event.LISTENS);
        }
        return errno;
    }

    private static int duplicate(int descriptor) throws IOException {
        try {
            return SystemCall.duplicate(descriptor);
        } catch (SystemCallException e) {
            throw SocketFailures.of(e.call(), e.errno());
        }
    }

    /** Accepts a connection ({@code raccept}). Returns null if there is none. */
    @Nullable
    SocketDescriptor accept() throws IOException {
        MovedServiceLists.addConnection(); // before C does
        int accepted = (int) Rsocket.ACCEPT.call(number, 0, 0);
        if (accepted >= 0) {
            SocketDescriptor descriptor = nonBlocking(accepted, Phase.ACCEPTED);
            descriptor.atEnd = MovedServiceLists::removeConnection;
            return descriptor;
        }
        int errno = CFunction.errno();
        MovedServiceLists.removeConnection();
        if (errno == Errno.EAGAIN || errno == Errno.EINTR) {
            return null;
        }
        throw SocketFailures.of("raccept", errno);
    }

    /** Begins to connect ({@code rconnect}). Returns 0 or an error number. */
    int connect(InetSocketAddress address) throws IOException {
        MovedServiceLists.addConnection();
        atEnd = MovedServiceLists::removeConnection;
        phase = next(phase, Event.CONNECTS);
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment to = IpAddresses.write(address, scratch);
            return errnoOf((int) Rsocket.CONNECT.call(number, to.address(), IpAddresses.length(address)));
        }
    }

    /** Returns the local address ({@code rgetsockname}). */
    InetSocketAddress localAddress() {
        return address(Rsocket.GET_SOCKET_NAME);
    }

    /** Returns the peer's address ({@code rgetpeername}). */
    InetSocketAddress remoteAddress() {
        return address(Rsocket.GET_PEER_NAME);
    }

    private InetSocketAddress address(CFunction function) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment storage = sockaddr_storage.allocate(scratch);
            MemorySegment length = scratch.allocateFrom(ValueLayout.JAVA_INT, (int) storage.byteSize());
            function.call(number, storage.address(), length.address());
            return IpAddresses.read(storage).orElseGet(() -> new InetSocketAddress(0));
        }
    }

    /** Takes the error of the connection ({@code SO_ERROR}); 0 if there is none. */
    int takeError() {
        return getOption(SOCKET_LEVEL, ERROR);
    }

    /** Returns an option's value, or its first 4 bytes ({@code rgetsockopt}); negative if C does not know the option. */
    int getOption(int level, int option) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment value = scratch.allocate(Long.BYTES, Long.BYTES);
            MemorySegment length = scratch.allocateFrom(ValueLayout.JAVA_INT, Long.BYTES);
            int result = (int) Rsocket.GET_OPTION.call(number, level, option, value.address(), length.address());
            return result != 0 ? -1 : value.get(ValueLayout.JAVA_INT, 0);
        }
    }

    /** Sets an option ({@code rsetsockopt}). Returns 0 or an error number. */
    int setOption(int level, int option, int value, int second) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment pair = scratch.allocateFrom(ValueLayout.JAVA_INT, value, second);
            return errnoOf((int) Rsocket.SET_OPTION.call(number, level, option, pair.address(), Integer.BYTES));
        }
    }

    private static int errnoOf(int result) {
        return result == 0 ? 0 : CFunction.errno();
    }
}
