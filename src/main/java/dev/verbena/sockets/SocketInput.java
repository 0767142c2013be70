package dev.verbena.sockets;

import dev.verbena.internal.Errno;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.Rsocket;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The direction of a connection in which a channel reads. One thread reads at a time. */
final class SocketInput implements Waiter.Attempt {
    private static final int UNAVAILABLE = -2;
    private static final int END = -1;

    final Mutex lock = new Mutex();
    final Waiter waiter;
    private final RdmaSocketChannel channel;
    private final SocketDescriptor descriptor;
    private final BufferMemory memory = new BufferMemory();
    private volatile boolean closed;

    /** The buffers of the read under way, or one buffer. The lock guards them and the count. */
    private @Nullable ByteBuffer one;

    private ByteBuffer @Nullable [] many;
    private int offset;
    private int end;
    private long count;

    SocketInput(RdmaSocketChannel channel, SocketDescriptor descriptor) {
        this.channel = channel;
        this.descriptor = descriptor;
        this.waiter = new Waiter(descriptor, false);
    }

    boolean isClosed() {
        return closed;
    }

    /** Ends reading. The caller wakes the waiter. */
    void close() {
        closed = true;
    }

    /** Reads into one buffer. In blocking mode, waits at most the given time; 0 is no limit. */
    int read(ByteBuffer to, long nanoseconds) throws IOException {
        Buffers.checkWritable(to);
        lock.lock();
        try {
            one = to;
            return (int) read(nanoseconds);
        } finally {
            one = null;
            lock.unlock();
        }
    }

    /** Reads into several buffers. */
    long read(ByteBuffer[] to, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, to.length);
        for (int i = offset; i < offset + length; i++) {
            Buffers.checkWritable(to[i]);
        }
        lock.lock();
        try {
            many = to;
            this.offset = offset;
            end = offset + length;
            return read(0);
        } finally {
            many = null;
            lock.unlock();
        }
    }

    private long read(long nanoseconds) throws IOException {
        channel.checkConnected();
        boolean blocking = channel.isBlocking();
        count = UNAVAILABLE;
        boolean late = false;
        try {
            if (blocking) {
                channel.beginBlocking();
            }
            if (closed) {
                return END;
            }
            waiter.perform(this, blocking, nanoseconds);
        } catch (SocketTimeoutException e) {
            late = true;
            throw e;
        } finally {
            if (blocking) {
                channel.endBlocking(late || count != UNAVAILABLE);
            }
        }
        if (count == UNAVAILABLE) {
            return closed ? END : 0;
        }
        return count;
    }

    @Override
    public boolean isDone() throws IOException {
        ByteBuffer to = one;
        count = to != null ? receive(to) : scatter(Objects.requireNonNull(many));
        return count != UNAVAILABLE;
    }

    @Override
    public boolean goesOn() {
        return channel.isOpen() && !closed;
    }

    @Override
    public boolean isLikelyToWait() {
        return true;
    }

    @Override
    public String lateMessage() {
        return "Read timed out";
    }

    private long scatter(ByteBuffer[] buffers) throws IOException {
        long sum = 0;
        for (int i = offset; i < end; i++) {
            int room = buffers[i].remaining();
            int received = receive(buffers[i]);
            if (received < 0) {
                return sum > 0 ? sum : received;
            }
            sum += received;
            if (received < room) {
                return sum;
            }
        }
        return sum;
    }

    /** Receives once. Returns the number of bytes, {@link #END} or {@link #UNAVAILABLE}. */
    private int receive(ByteBuffer to) throws IOException {
        int room = to.remaining();
        if (room == 0) {
            return 0;
        }
        int received;
        if (to.isDirect()) {
            received = receive(memory.of(to), to.position(), Math.min(room, RdmaSocketChannel.LONGEST));
            if (received > 0) {
                to.position(to.position() + received);
            }
        } else {
            Buffers buffers = Buffers.take();
            try {
                received = receive(buffers.memory(), 0, Math.min(room, Buffers.SIZE));
                if (received > 0) {
                    buffers.drain(to, received);
                }
            } finally {
                buffers.giveBack();
            }
        }
        return received;
    }

    private int receive(MemorySegment to, long at, long length) throws IOException {
        long received;
        do {
            received = Rsocket.receive(descriptor.number(), to, at, length, waiter.takes());
        } while (received == -Errno.EINTR);
        if (received > 0) {
            descriptor.connected();
            return (int) received;
        }
        if (received == 0) {
            int error = descriptor.takeError(); // a broken connection ends the stream like a closed one
            if (error != 0) {
                throw SocketFailures.read(error);
            }
            return END;
        }
        if (received == -Errno.EAGAIN) {
            return UNAVAILABLE;
        }
        throw SocketFailures.read((int) -received);
    }

    /** Returns the number of bytes that can be read without waiting, up to {@link Buffers#SIZE}. */
    int available() throws IOException {
        try (var _ = lock.held()) {
            channel.checkConnected();
            if (closed) {
                return 0;
            }
            descriptor.enter();
            Buffers buffers = Buffers.take();
            try {
                return (int) Math.max(0, Rsocket.peek(descriptor.number(), buffers.memory(), Buffers.SIZE));
            } finally {
                buffers.giveBack();
                descriptor.leave();
            }
        }
    }
}
