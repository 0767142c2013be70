package dev.verbena.sockets;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.PollSet;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The direction of a connection in which a channel writes. One thread writes at a time. */
final class SocketOutput implements Waiter.Attempt {
    private static final int UNAVAILABLE = MappedMemory.UNAVAILABLE;

    final Mutex lock = new Mutex();
    final Waiter waiter;
    private final RdmaSocketChannel channel;
    private final SocketDescriptor descriptor;
    private final Waiter roomWaiter;
    private final BufferMemory memory = new BufferMemory();
    private volatile boolean closed;

    /** Buffers to write to the stream. The lock guards this and what follows. */
    private ByteBuffer[] buffers = Buffers.NONE;

    /** The index of the first buffer that has bytes left, and the end of the buffers. */
    private int at;

    private int end;

    /** Holds the buffer of a write of one. */
    private final ByteBuffer[] single = {Buffers.EMPTY};

    /** Bytes to write into the peer's memory, in place of the buffers; else null. */
    private @Nullable MemorySegment segment;

    private long remoteOffset;
    private long sum;

    SocketOutput(RdmaSocketChannel channel, SocketDescriptor descriptor) {
        this.channel = channel;
        this.descriptor = descriptor;
        this.waiter = new Waiter(descriptor, false);
        this.roomWaiter = new Waiter(descriptor, true);
    }

    boolean isClosed() {
        return closed;
    }

    /** Ends writing. The caller wakes the waiter. */
    void close() {
        closed = true;
    }

    private void checkOpen() throws ClosedChannelException {
        channel.checkConnected();
        if (closed) {
            throw new ClosedChannelException();
        }
    }

    /** Writes one buffer to the stream. */
    int write(ByteBuffer from) throws IOException {
        Objects.requireNonNull(from);
        lock.lock();
        try {
            single[0] = from;
            return (int) write(single, 0, 1);
        } finally {
            single[0] = Buffers.EMPTY;
            lock.unlock();
        }
    }

    /** Writes several buffers to the stream. */
    long gather(ByteBuffer[] from, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, from.length);
        for (int i = offset; i < offset + length; i++) {
            Objects.requireNonNull(from[i]);
        }
        try (var _ = lock.held()) {
            return write(from, offset, offset + length);
        }
    }

    /** Writes buffers. The caller holds the lock. */
    private long write(ByteBuffer[] from, int begin, int behind) throws IOException {
        buffers = from;
        at = begin;
        end = behind;
        skipEmpty();
        try {
            return write();
        } finally {
            buffers = Buffers.NONE;
        }
    }

    private void skipEmpty() {
        while (at < end && !buffers[at].hasRemaining()) {
            at++;
        }
    }

    /** Writes bytes into memory that the peer has mapped. */
    long place(MemorySegment source, long remoteOffset) throws IOException {
        lock.lock();
        try {
            segment = source;
            at = end; // a write before may have left some
            this.remoteOffset = remoteOffset;
            return write();
        } finally {
            segment = null;
            lock.unlock();
        }
    }

    private long write() throws IOException {
        checkOpen();
        boolean blocking = channel.isBlocking();
        sum = 0;
        try {
            if (blocking) {
                channel.beginBlocking();
            }
            waiter.perform(this, blocking, 0);
        } catch (IOException e) {
            if (sum == 0 || segment != null) {
                throw e;
            } // else the next write reports it
        } finally {
            if (blocking) {
                channel.endBlocking(sum > 0 || isComplete());
            }
        }
        if (sum == 0 && closed && !isComplete()) {
            throw new AsynchronousCloseException();
        }
        return sum;
    }

    private boolean isComplete() {
        return segment == null ? at == end : sum == segment.byteSize();
    }

    @Override
    public boolean isDone() throws IOException {
        while (goesOn() && !isComplete()) {
            // Few frames: with more, C2 does not see through the call of C, and each call allocates 40 bytes.
            long count = segment != null
                    ? placeSome(segment)
                    : Buffers.isSmall(buffers, at, end) ? sendTogether() : send(buffers[at]);
            if (count == UNAVAILABLE) {
                return false;
            }
            sum += count;
            skipEmpty();
        }
        return isComplete();
    }

    @Override
    public boolean goesOn() {
        return channel.isOpen() && !closed;
    }

    private long placeSome(MemorySegment from) throws IOException {
        return descriptor.mapped().place(from, sum, remoteOffset + sum, waiter.takes());
    }

    private long sendTogether() throws IOException {
        Buffers together = Buffers.take();
        try {
            int filled = 0;
            for (int i = at; i < end && filled < Buffers.SIZE; i++) {
                filled += together.append(buffers[i], filled);
            }
            long count = send(together.memory(), 0, filled);
            for (long left = count, i = at; left > 0; i++) {
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
        long count;
        if (from.isDirect()) {
            count = send(memory.of(from), from.position(), Math.min(left, RdmaSocketChannel.LONGEST));
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
            count = Rsocket.send(descriptor.number(), from, at, length, waiter.takes());
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

    /** Maps memory for the peer, once the send queue has room for the message that tells it. */
    MappedSegment map(MemorySegment memory, long offset, VerbsArena arena) throws IOException {
        MappedMemory.check(memory, offset);
        try (var _ = lock.held()) {
            checkOpen();
            Mapping mapping = new Mapping(memory, offset, arena, channel.isBlocking());
            try {
                if (mapping.mayWait) {
                    channel.beginBlocking();
                }
                roomWaiter.perform(mapping, mapping.mayWait, 0);
            } finally {
                if (mapping.mayWait) {
                    channel.endBlocking(mapping.result != null);
                }
            }
            if (mapping.result == null) {
                throw new AsynchronousCloseException();
            }
            return mapping.result;
        }
    }

    /** The mapping of memory. Nothing else needs room for a message, and no event tells it. */
    private final class Mapping implements Waiter.Attempt {
        private final MemorySegment memory;
        private final long offset;
        private final VerbsArena arena;
        private final boolean mayWait;
        private @Nullable MappedSegment result;

        Mapping(MemorySegment memory, long offset, VerbsArena arena, boolean mayWait) {
            this.memory = memory;
            this.offset = offset;
            this.arena = arena;
            this.mayWait = mayWait;
        }

        @Override
        public boolean isDone() throws IOException {
            int reported = Rsocket.look(descriptor.number(), PollSet.OUT);
            if ((reported & PollSet.OUT) == 0) {
                if ((reported & PollSet.FAILED) != 0) {
                    throw SocketFailures.write(descriptor.takeError());
                }
                if (!mayWait) {
                    throw new IOException("The send queue is full: try again when the channel is ready for OP_WRITE");
                }
                return false;
            }
            try {
                result = descriptor.mapped().map(channel, memory, offset, arena);
                return true;
            } finally {
                closed |= descriptor.mapped().isBroken();
            }
        }

        @Override
        public boolean goesOn() {
            return SocketOutput.this.goesOn();
        }
    }
}
