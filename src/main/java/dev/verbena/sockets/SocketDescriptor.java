package dev.verbena.sockets;

import dev.verbena.ResourceBusyException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.HiddenDescriptor;
import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.Rsocket;
import dev.verbena.internal.raw.sockaddr_storage;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
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

    private static final int INET = IpAddresses.INET;
    private static final int INET6 = IpAddresses.INET6;
    private static final int STREAM = 1;
    private static final int SET_FLAGS = 4;
    private static final int NON_BLOCKING = 04000;
    private static final int SHUTDOWN_WRITE = 1;
    private static final int SHUTDOWN_BOTH = 2;
    private static final int ERROR = 4;
    private static final int CLOSED = 1 << 31;
    private static final int CLOSERS = 16;

    /** The longest time for the last data of a closed socket, which is about as long as TCP takes. */
    private static final long LONGEST_CLOSE = TimeUnit.SECONDS.toNanos(60);

    private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(50);
    private static final int UNKNOWN = -2;
    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(SocketDescriptor.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** The threads that close. They wait for no peer, and end when they have nothing to do. */
    private static final ScheduledThreadPoolExecutor APART =
            new ScheduledThreadPoolExecutor(CLOSERS, thread("closer").factory());

    static {
        APART.setKeepAliveTime(1, TimeUnit.SECONDS);
        APART.allowCoreThreadTimeOut(true);
    }

    private static void later(Runnable work, long nanoseconds) {
        Future<?> _ = APART.schedule(work, nanoseconds, TimeUnit.NANOSECONDS);
    }

    private static Thread.Builder thread(String job) {
        return Thread.ofPlatform().daemon().name("verbena-socket-" + job).inheritInheritableThreadLocals(false);
    }

    private final int number;
    private final CountDownLatch gone = new CountDownLatch(1);
    private final MappedMemory mapped = new MappedMemory(this);
    private int pollNumber;
    private volatile boolean listening;

    /** The completion channel, which never changes once it is found. */
    private volatile int channel = UNKNOWN;

    private volatile boolean waitsForChannel;

    private final ReentrantLock channelLock = new ReentrantLock();
    private final WaitTurn turn = new WaitTurn();

    /** The threads that wait in {@code rpoll}, which must not be while others wait for the completion channel. */
    private int inPoll;

    /** True once the connection is known to be there. */
    private volatile boolean connected;

    /** Whether the socket is connected, or was to be. */
    private volatile boolean connecting;

    /** Gives back the place in a service thread. */
    private Runnable atEnd = () -> {};

    /** The number of uses, and the bit {@link #CLOSED}. */
    @SuppressWarnings("unused") // the handle uses it
    private volatile int state;

    private SocketDescriptor(int number) {
        this.number = number;
        this.pollNumber = number;
    }

    /** Opens an rsocket. C takes addresses of both families, whichever family the socket is of. */
    static SocketDescriptor open(boolean six) throws IOException {
        ServiceThreads.prepare();
        int number = (int) Rsocket.SOCKET.call(six ? INET6 : INET, STREAM, 0);
        if (number < 0) {
            throw SocketFailures.of("rsocket", CFunction.errno());
        }
        return nonBlocking(number);
    }

    private static SocketDescriptor nonBlocking(int number) throws IOException {
        if ((int) Rsocket.CONTROL.call(number, SET_FLAGS, NON_BLOCKING) < 0) {
            int errno = CFunction.errno();
            Rsocket.CLOSE.call(number);
            throw SocketFailures.of("rfcntl", errno);
        }
        return new SocketDescriptor(number);
    }

    /** Returns the number for functions of C. */
    int number() {
        return number;
    }

    /** Returns the number for {@code rpoll}: of a listener, the queue of its connections. */
    int pollNumber() {
        return pollNumber;
    }

    /** Returns the memory that the peer writes to. */
    MappedMemory mapped() {
        return mapped;
    }

    /** Returns whether {@code rpoll} may miss events: of a listener whose queue was not found. */
    boolean mayMissEvents() {
        return pollNumber == number;
    }

    /** Returns whether waits use the completion channel. */
    boolean hasChannel() {
        return waitsForChannel;
    }

    /** Returns the completion channel: see {@link HiddenDescriptor#completionChannel}. */
    int channel() {
        return channel;
    }

    /** Returns whose turn it is to wait for the completion channel. */
    WaitTurn turn() {
        return turn;
    }

    /** Notes that the connection is there, as data that went through shows. A full send queue hides that later. */
    void connected() {
        if (!connected) {
            connected = true;
        }
    }

    /** Begins a wait for the completion channel, or returns false: then the thread waits in {@code rpoll}, and ends that. */
    boolean beginWait() {
        if (waitsForChannel) {
            return true;
        }
        channelLock.lock();
        try {
            if (inPoll == 0 && !listening && isConnected() && findChannel()) {
                waitsForChannel = true;
                return true;
            }
            inPoll++;
            return false;
        } finally {
            channelLock.unlock();
        }
    }

    /** Ends a wait in {@code rpoll}. */
    void endWait() {
        channelLock.lock();
        try {
            inPoll--;
        } finally {
            channelLock.unlock();
        }
    }

    /**
     * Returns whether the connection is there: C may accept it before. It is not seen to be there when the send queue is full
     * and no data is known to have gone through. The caller has the lock.
     */
    private boolean isConnected() {
        if (!connected) {
            PollSet set = new PollSet(1);
            set.set(0, number, PollSet.OUT);
            connected = set.poll(1, false) > 0;
        }
        return connected;
    }

    private boolean findChannel() {
        if (channel == UNKNOWN) {
            channel = HiddenDescriptor.completionChannel(number);
        }
        return channel >= 0;
    }

    /** Begins a use. Returns false if the descriptor was closed. */
    boolean enter() {
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
        APART.execute(new Closing());
    }

    /**
     * Closes the rsocket in steps that wait for no peer. {@code rclose} would wait until the peer's adapter has acknowledged
     * all data, and soft-RoCE never gives up.
     */
    private final class Closing implements Runnable {
        private final long begin = System.nanoTime();
        private long pause = TimeUnit.MILLISECONDS.toNanos(1);
        private boolean ending;

        @Override
        public void run() {
            if (!patient()) {
                thread("last-data").start(this::finish); // C waits
            } else if (isEnded() || System.nanoTime() - begin > LONGEST_CLOSE) {
                finish();
            } else {
                later(this, pause);
                pause = Math.min(2 * pause, LONGEST_PAUSE);
            }
        }

        /**
         * Returns whether no function of C waits. The channel of a connection that is not there yet is not looked for: C
         * would wait for the peer's answer then.
         */
        private boolean patient() {
            channelLock.lock();
            try {
                return !connecting || !isConnected() || findChannel();
            } finally {
                channelLock.unlock();
            }
        }

        /**
         * Tells the peer the end, and returns whether its adapter has acknowledged that, or there was no connection yet. A
         * connection that was told to end is always readable.
         */
        private boolean isEnded() {
            if (!hasConnection()) {
                return true;
            }
            ending = ending || shutdown(SHUTDOWN_BOTH);
            PollSet set = new PollSet(1);
            set.set(0, number, PollSet.IN);
            return set.poll(1, false) == 0 || (ending && (set.reported(0) & PollSet.FAILED) != 0);
        }

        /** Returns whether there is a connection, and so perhaps data that the peer's adapter has not acknowledged. */
        private boolean hasConnection() {
            channelLock.lock();
            try {
                return connecting && isConnected();
            } finally {
                channelLock.unlock();
            }
        }

        private void finish() {
            try {
                if (connecting) {
                    shutdown(SHUTDOWN_BOTH); // C disconnects
                }
                endMapped();
                if (listening) {
                    closeWaiting();
                }
                Rsocket.CLOSE.call(number);
            } finally {
                atEnd.run();
                gone.countDown();
            }
        }
    }

    /** Tells the peer the end of the stream. Returns false if there is no room for that in the send queue. */
    private boolean shutdown(int how) {
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

    /** Ends a call of C that places bytes, which may be long: see {@link MappedMemory#place}. The channel is closing. */
    void endPlacing() {
        if (mapped.isPlacing() && enter()) {
            APART.execute(() -> {
                try {
                    shutdown(SHUTDOWN_BOTH);
                } finally {
                    leave();
                }
            });
        }
    }

    /** Closes the connections that nobody has accepted. C would forget them, and their peers would wait for ever. */
    private void closeWaiting() {
        try {
            for (SocketDescriptor next = accept(); next != null; next = accept()) {
                next.close();
            }
        } catch (IOException e) {
            // The listener is closed all the same.
        }
    }

    /** Waits until C has closed the descriptor, or the time is over. An interrupt ends the wait, and stays set. */
    void awaitClosed(long milliseconds) {
        try {
            if (!gone.await(milliseconds, TimeUnit.MILLISECONDS)) {
                return; // the closer goes on
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
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
        ServiceThreads.addListener();
        atEnd = ServiceThreads::removeListener;
        int errno = errnoOf((int) Rsocket.LISTEN.call(number, backlog));
        if (errno == 0) {
            int queue = HiddenDescriptor.acceptQueue(number);
            pollNumber = queue == HiddenDescriptor.NOT_FOUND ? number : queue;
            listening = true;
        }
        return errno;
    }

    /** Accepts a connection ({@code raccept}). Returns null if there is none. */
    @Nullable
    SocketDescriptor accept() throws IOException {
        ServiceThreads.addConnection(); // before C does
        int accepted = (int) Rsocket.ACCEPT.call(number, 0, 0);
        if (accepted >= 0) {
            SocketDescriptor descriptor = nonBlocking(accepted);
            descriptor.atEnd = ServiceThreads::removeConnection;
            descriptor.connecting = true;
            return descriptor;
        }
        int errno = CFunction.errno();
        ServiceThreads.removeConnection();
        if (errno == Errno.EAGAIN || errno == Errno.EINTR) {
            return null;
        }
        throw SocketFailures.of("raccept", errno);
    }

    /** Begins to connect ({@code rconnect}). Returns 0 or an error number. */
    int connect(InetSocketAddress address) throws IOException {
        ServiceThreads.addConnection();
        atEnd = ServiceThreads::removeConnection;
        connecting = true;
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment to = IpAddresses.write(address, scratch);
            return errnoOf((int) Rsocket.CONNECT.call(number, to.address(), IpAddresses.length(address)));
        }
    }

    /**
     * Ends the stream to the peer ({@code rshutdown}). Where the send queue has no room for that, or C would wait for the
     * peer, another thread does it.
     */
    void shutdownOutput(Runnable then) {
        boolean mayWait;
        channelLock.lock();
        try {
            mayWait = !findChannel();
        } finally {
            channelLock.unlock();
        }
        if (mayWait) {
            if (enter()) {
                thread("last-data").start(() -> endOutput(then));
            }
        } else if (shutdown(SHUTDOWN_WRITE)) {
            then.run();
        } else if (enter()) {
            later(() -> endOutput(then), LONGEST_PAUSE);
        }
    }

    /** Ends the stream to the peer in another thread, which has entered. */
    private void endOutput(Runnable then) {
        boolean done = isClosed() || shutdown(SHUTDOWN_WRITE);
        if (done) {
            leave();
            then.run();
        } else {
            later(() -> endOutput(then), LONGEST_PAUSE);
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
