package dev.verbena.sockets;

import dev.verbena.internal.Errno;
import dev.verbena.internal.Mutex;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.Objects;

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

    /** The buffers of the read under way, between two indices. The lock guards them and the count. */
    private ByteBuffer[] buffers = Buffers.NONE;

    private int begin;
    private int end;
    private long count;

    /** Holds the buffer of a read into one. */
    private final ByteBuffer[] single = {Buffers.EMPTY};

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
            single[0] = to;
            return (int) read(single, 0, 1, nanoseconds);
        } finally {
            single[0] = Buffers.EMPTY;
            lock.unlock();
        }
    }

    /** Reads into several buffers. */
    long scatter(ByteBuffer[] to, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, to.length);
        for (int i = offset; i < offset + length; i++) {
            Buffers.checkWritable(to[i]);
        }
        try (var _ = lock.held()) {
            return read(to, offset, offset + length, 0);
        }
    }

    /** Reads into buffers. The caller holds the lock. */
    private long read(ByteBuffer[] to, int begin, int end, long nanoseconds) throws IOException {
        buffers = to;
        this.begin = begin;
        this.end = end;
        try {
            return read(nanoseconds);
        } finally {
            buffers = Buffers.NONE;
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
        count = begin == end ? 0 : UNAVAILABLE;
        for (int i = begin; i < end; i++) {
            int room = buffers[i].remaining();
            int received = receive(buffers[i]);
            if (received >= 0) {
                count = Math.max(count, 0) + received;
            } else if (count == UNAVAILABLE) {
                count = received; // or the end
            }
            if (received < room) {
                break;
            }
        }
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
