package dev.verbena.examples.valkey;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Valkey's transport, below a {@link ValkeyConnection}, which keeps the states of a socket. A stream of bytes goes in each
 * direction of an RDMA connection. Each side tells the other where its ring is, which is registered memory. The other side fills
 * the ring by RDMA writes, whose immediate values are the numbers of bytes. When a ring is full, and all of it is read, its owner
 * tells the other side to begin again.
 *
 * <p>All threads can use a transport: one lock guards all that changes.
 */
@SuppressWarnings("NullAway.Init") // the socket calls what needs a connection after connecting only
final class Transport extends SocketImpl {
    /** The kinds of control messages. */
    private static final short GET_FEATURES = 0, SET_FEATURES = 1, KEEP_ALIVE = 2, REGISTER = 3;

    private static final int MESSAGE = 32, STAGING = 1 << 20; // bytes
    private static final int RECEIVES = 512, WRITES = 256, MESSAGES = 64; // the most that wait
    private static final int SIGNALED = 64; // one write in so many reports its completion
    private static final int AT_ONCE = 64; // the most completions that a call takes which does not wait
    private static final long SILENCE = 3_000, LINGER = 1_000, HANDSHAKE = 30_000; // milliseconds

    private final VerbsArena arena = VerbsArena.ofShared();
    private final Map<Integer, Object> options = new ConcurrentHashMap<>();
    private final ReentrantLock lock = new ReentrantLock(true); // fair: no thread takes completions while others wait
    private final Condition changed = lock.newCondition();

    private Connection connection;
    private MemoryRegion memory; // first what is written from, then the messages
    private MemoryRegion ring; // a region of its own: the peer can reach nothing else

    private boolean waiting; // a thread waits for a completion
    private long arrived, taken; // bytes of the ring
    private RemoteMemory peerRing = new RemoteMemory(0, 0, 0);
    private long filled; // bytes of the peer's ring
    private long posted, completed; // the ids of the last messages and writes
    private int staged;
    private boolean inputShut;
    private volatile boolean ended;
    private @Nullable SocketException failure;

    private final InputStream input = new InputStream() {
        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] to, int from, int length) throws IOException {
            return length == 0 ? 0 : locked(() -> take(to, from, length));
        }

        @Override
        public int available() throws IOException {
            return locked(Transport.this::takeCompleted);
        }
    };

    private final OutputStream output = new OutputStream() {
        @Override
        public void write(int value) throws IOException {
            write(new byte[] {(byte) value}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            locked(() -> put(bytes, from, length));
        }
    };

    /** What a thread does under the lock. */
    private interface Action {
        int run() throws IOException, InterruptedException;
    }

    @Override
    public void setOption(int option, Object value) {
        options.put(option, value);
    }

    @Override
    public Object getOption(int option) {
        Object initial = switch (option) {
            case TCP_NODELAY, SO_KEEPALIVE -> true;
            case SO_REUSEADDR, SO_OOBINLINE -> false;
            case SO_LINGER -> -1; // none
            case SO_RCVBUF -> 1 << 20;
            default -> 0;
        };
        return options.getOrDefault(option, initial);
    }

    @Override
    protected void create(boolean stream) {}

    @Override
    protected void bind(InetAddress host, int port) {} // the route to the server decides

    @Override
    protected void connect(String host, int port) {} // the socket calls the next but one

    @Override
    protected void connect(InetAddress host, int port) {}

    @Override
    protected void connect(SocketAddress to, int timeout) throws IOException {
        if (!(to instanceof InetSocketAddress server) || server.isUnresolved()) {
            throw new UnknownHostException(String.valueOf(to));
        }
        try {
            Duration longest = Duration.ofMillis(timeout == 0 ? HANDSHAKE : timeout);
            QueueCapabilities sizes =
                    QueueCapabilities.of(WRITES + MESSAGES, RECEIVES).inlineSize(MESSAGE);
            connection = Connection.to(server, longest, ConnectionResources.of(sizes), arena);
            memory = connection.register(arena.allocate(STAGING + RECEIVES * MESSAGE), AccessFlag.LOCAL_WRITE);
            MemorySegment received = arena.allocate((int) getOption(SO_RCVBUF));
            ring = connection.register(received, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
            for (long slot = 0; slot < RECEIVES; slot++) {
                receive(slot); // before connecting, because the server sends first
            }
            connection.connect(longest);
            send(message(GET_FEATURES));
            send(message(SET_FEATURES)); // to none: there are none so far
            register();
            InetSocketAddress local = connection.id().localAddress().orElseThrow();
            setOption(SO_BINDADDR, local.getAddress());
            localport = local.getPort();
            address = server.getAddress();
            port = server.getPort();
        } catch (VerbsException | IllegalStateException | InterruptedException e) {
            throw asSocketsDo(e); // the socket is closed, and frees what there is
        }
    }

    @Override
    protected InputStream getInputStream() {
        return input;
    }

    @Override
    protected OutputStream getOutputStream() {
        return output;
    }

    @Override
    protected int available() throws IOException {
        return input.available();
    }

    private void receive(long slot) {
        connection.queuePair().postReceive(slot, memory, STAGING + slot * MESSAGE, MESSAGE);
    }

    private static ByteBuffer message(short kind) {
        return ByteBuffer.allocate(MESSAGE).putShort(0, kind);
    }

    private void send(ByteBuffer message) {
        connection.queuePair().postSendInline(++posted, MemorySegment.ofBuffer(message));
    }

    /** Has the peer fill the ring from its beginning. */
    private void register() {
        arrived = 0;
        taken = 0;
        ByteBuffer message = message(REGISTER).putLong(16, ring.address());
        send(message.putInt(24, (int) ring.length()).putInt(28, ring.remoteKey()));
    }

    /** Waits for bytes, and takes some. Returns -1 after the end. */
    private int take(byte[] to, int from, int length) throws IOException, InterruptedException {
        int timeout = (int) getOption(SO_TIMEOUT);
        await(() -> arrived > taken || inputShut || ended, timeout == 0 ? Long.MAX_VALUE : timeout);
        if (inputShut || arrived == taken) {
            return -1;
        }
        int part = (int) Math.min(length, arrived - taken);
        MemorySegment.copy(ring.segment(), ValueLayout.JAVA_BYTE, taken, to, from, part);
        taken += part;
        if (taken == ring.length() && !ended) {
            register();
        }
        return part;
    }

    /** Writes bytes. Waits while there is no room in the peer's ring, in the queue, or in the memory that is written from. */
    private int put(byte[] bytes, int from, int length) throws IOException, InterruptedException {
        takeCompleted(); // the peer needs receives, also if nobody reads
        for (int done = 0, part; done < length; done += part) {
            await(() -> ended || canWrite(), Long.MAX_VALUE);
            check(!ended, "the peer has closed the connection");
            staged %= STAGING;
            part = (int) Math.min(Math.min(length - done, STAGING - staged), peerRing.length() - filled);
            MemorySegment.copy(bytes, from + done, memory.segment(), ValueLayout.JAVA_BYTE, staged, part);
            LocalMemory source = memory.slice(staged, part);
            RemoteMemory target = new RemoteMemory(peerRing.address() + filled, peerRing.key(), part);
            filled += part;
            staged += part;
            if (++posted % SIGNALED == 0 || staged == STAGING) {
                connection.queuePair().postWriteImmediate(posted, source, target, part);
            } else {
                connection.queuePair().unsignaled().postWriteImmediate(posted, source, target, part);
            }
        }
        return length;
    }

    private boolean canWrite() {
        boolean hasMemory = staged < STAGING || completed == posted;
        return hasMemory && filled < peerRing.length() && posted - completed < WRITES;
    }

    /** Ends reading, also that of threads that wait. */
    @Override
    protected void shutdownInput() throws IOException {
        locked(() -> {
            inputShut = true;
            send(message(KEEP_ALIVE)); // its completion wakes the thread that waits
            return 0;
        });
    }

    @Override
    protected void shutdownOutput() throws IOException {
        throw new SocketException("this transport can't end one direction: close the socket");
    }

    @Override
    protected void sendUrgentData(int data) {} // the socket asks first, and hears that there are none

    @Override
    protected void listen(int backlog) {} // a client has none

    @Override
    protected void accept(SocketImpl peer) {} // a client has none

    /** Closes the connection when all that was written has arrived, or after a second. */
    @Override
    protected void close() {
        try (arena) {
            locked(() -> {
                if (completed < posted && !ended) {
                    send(message(KEEP_ALIVE)); // completes after all writes
                    await(() -> completed == posted || ended, LINGER);
                }
                return 0;
            });
        } catch (IOException unreachable) {
            // There is nothing to wait for.
        }
    }

    private int locked(Action action) throws IOException {
        lock.lock();
        try {
            return action.run();
        } catch (VerbsException | IllegalStateException | InterruptedException e) {
            throw asSocketsDo(e);
        } finally {
            lock.unlock();
        }
    }

    private static IOException asSocketsDo(Exception e) {
        if (e instanceof InterruptedException) {
            Thread.currentThread().interrupt();
            return new InterruptedIOException("interrupted");
        }
        return e instanceof VerbsTimeoutException
                ? new SocketTimeoutException(e.getMessage())
                : new SocketException(e.getMessage(), e);
    }

    /** Waits until a condition holds. One thread at a time waits for a completion; others wait for what it finds. */
    private void await(BooleanSupplier holds, long timeout) throws IOException, InterruptedException {
        long start = System.nanoTime();
        while (!holds.getAsBoolean()) {
            if (failure != null) {
                throw new SocketException(failure.getMessage(), failure);
            }
            long left = timeout - NANOSECONDS.toMillis(System.nanoTime() - start);
            if (left <= 0) {
                throw new SocketTimeoutException("nothing came in " + timeout + " ms");
            }
            if (waiting) {
                changed.await(left, MILLISECONDS);
            } else {
                takeNext(Math.min(left, SILENCE));
            }
        }
    }

    /** Waits for a completion without the lock, and takes it. After a silence, sends a message, which fails if the peer is gone. */
    private void takeNext(long timeout) throws IOException, InterruptedException {
        WorkCompletion next = null;
        waiting = true;
        lock.unlock();
        try {
            next = connection.awaitCompletion(Duration.ofMillis(timeout));
        } catch (ConnectionException disconnected) {
            ended = true;
        } catch (VerbsTimeoutException silence) {
            // The caller sees that nothing came.
        } finally {
            lock.lock();
            waiting = false;
            changed.signalAll();
        }
        if (!take(next) && !ended && timeout == SILENCE && (boolean) getOption(SO_KEEPALIVE)) {
            send(message(KEEP_ALIVE));
        }
    }

    /**
     * Takes some of what has completed: a peer that sends messages without end must not keep this thread, and the lock.
     * Returns the number of bytes that can be read.
     */
    private int takeCompleted() throws IOException {
        int left = AT_ONCE;
        while (left > 0 && take(connection.completionQueue().poll())) {
            left--;
        }
        return inputShut ? 0 : (int) (arrived - taken);
    }

    private boolean take(@Nullable WorkCompletion done) throws SocketException {
        if (done == null || done.status() == WorkStatus.WORK_REQUEST_FLUSHED) { // a wait tells the end
            return done != null;
        }
        check(done.isSuccess(), done);
        if (!done.isReceive()) {
            completed = done.id();
            return true;
        }
        if (done.hasImmediate()) {
            long length = Integer.toUnsignedLong(done.immediate());
            check(length <= ring.length() - arrived, "the peer has announced more bytes than its ring has room for");
            arrived += length;
        } else {
            check(done.byteLength() == MESSAGE, "a control message must have 32 bytes, got " + done.byteLength());
            ByteBuffer message = memory.segment()
                    .asSlice(STAGING + done.id() * MESSAGE, MESSAGE)
                    .asByteBuffer();
            short kind = message.getShort(0);
            long length = Integer.toUnsignedLong(message.getInt(24));
            check(kind == REGISTER || kind == GET_FEATURES || kind == KEEP_ALIVE, "unknown control message " + kind);
            if (kind == REGISTER) {
                peerRing = new RemoteMemory(message.getLong(16), message.getInt(28), length);
                check(length > 0, "the peer's ring has no bytes");
                filled = 0;
            }
        }
        receive(done.id());
        return true;
    }

    private void check(boolean right, Object wrong) throws SocketException {
        if (!right) {
            failure = new SocketException(wrong.toString());
            throw failure;
        }
    }
}
