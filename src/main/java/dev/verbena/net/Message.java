package dev.verbena.net;

import dev.verbena.verbs.MemorySlice;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A piece of registered memory for one message of a {@link Channel}, to send or received. The channel makes its messages
 * once and lends them.
 *
 * <p>A message to send belongs to the program from {@link Channel#message} until {@link Channel#send} or {@link #close}. A
 * received message belongs to the program from {@link Channel#receive} until {@link #close}, which lets the peer send
 * another one. After that, the methods of the message throw until the channel lends it again, perhaps to another thread: do
 * not keep a message that was sent or closed.
 *
 * <p>One thread at a time uses a message: the thread that got it, or a thread that it was handed to.
 */
public final class Message implements AutoCloseable {
    /** The states of a message. The channel's lock guards all changes. */
    enum State {
        /** The channel has it: it is free, or posted as a receive. */
        IDLE,
        /** The program fills it. */
        LENT,
        /** It was posted for sending. */
        SENDING,
        /** It has arrived, and no thread has received it yet. */
        ARRIVED,
        /** The program reads it. */
        RECEIVED
    }

    final int index;
    private final Channel channel;
    private final MemorySlice whole;
    private final MemorySegment memory;
    volatile State state = State.IDLE;
    private long length;

    /** The first bytes of the memory, as they were last asked for. So messages of equal lengths allocate nothing. */
    private MemorySlice slice;

    private MemorySegment view;

    Message(Channel channel, int index, MemorySlice whole) {
        this.channel = channel;
        this.index = index;
        this.whole = whole;
        this.memory = whole.segment();
        this.slice = whole;
        this.view = memory;
        this.length = whole.length();
    }

    /** Changes the length, for the channel. */
    void setLength(long bytes) {
        length = bytes;
    }

    /** Returns the bytes to send. */
    MemorySlice slice() {
        MemorySlice known = slice;
        if (known.length() != length) {
            known = whole.slice(0, length);
            slice = known;
        }
        return known;
    }

    /** Returns the whole memory, for receives. */
    MemorySlice whole() {
        return whole;
    }

    private void checkOwned() {
        State now = state;
        if (now != State.LENT && now != State.RECEIVED) {
            throw new IllegalStateException(
                    now == State.SENDING
                            ? "The message was sent: take another one with Channel.message()"
                            : "The message was closed");
        }
    }

    /**
     * Returns the bytes of this message. The segment has {@link #length} bytes. Its object is made anew when the length is
     * another one than before, so that messages of equal lengths allocate nothing.
     *
     * @return the bytes
     * @throws IllegalStateException if this message was sent or closed
     */
    public MemorySegment segment() {
        checkOwned();
        MemorySegment known = view;
        if (known.byteSize() != length) {
            known = memory.asSlice(0, length);
            view = known;
        }
        return known;
    }

    /**
     * Returns the whole memory, of which a message uses the first {@link #length} bytes. The segment is always the same
     * object. The bytes behind the length are those of an earlier message.
     *
     * @return the memory
     * @throws IllegalStateException if this message was sent or closed
     */
    public MemorySegment memory() {
        checkOwned();
        return memory;
    }

    /**
     * Returns the number of bytes.
     *
     * @return the number of bytes to send, or that have arrived
     * @throws IllegalStateException if this message was sent or closed
     */
    public long length() {
        checkOwned();
        return length;
    }

    /**
     * Sets the number of bytes to send. A new message has as many as the channel allows.
     *
     * @param bytes from 0 to {@link Channel#maxMessageSize}
     * @return this message
     * @throws IllegalArgumentException if the number is out of range
     * @throws IllegalStateException if this message was received, sent or closed
     */
    public Message length(long bytes) {
        checkOwned();
        if (state != State.LENT) {
            throw new IllegalStateException("A received message keeps its length");
        }
        if (bytes < 0 || bytes > channel.maxMessageSize()) {
            throw new IllegalArgumentException("length of a message must be from 0 to " + channel.maxMessageSize()
                    + " bytes on this channel, got " + bytes + ": see NodeOptions.messageSize() of both nodes");
        }
        length = bytes;
        return this;
    }

    /**
     * Returns the channel of this message.
     *
     * @return the channel
     */
    public Channel channel() {
        return channel;
    }

    /** Gives this message back. Closing a message that was sent or closed does nothing. Also see the class. */
    @Override
    public void close() {
        channel.giveBack(this);
    }

    /** Returns for example {@code received message of 64 bytes, channel to 10.9.9.1:7174}. */
    @Override
    public String toString() {
        State now = state;
        String what = switch (now) {
            case LENT -> "message to send, " + length + " bytes, ";
            case SENDING -> "message under way, ";
            case RECEIVED -> "received message of " + length + " bytes, ";
            case IDLE, ARRIVED -> "closed message, ";
        };
        return what + channel;
    }

    /** Checks that the program may send this message on a channel. */
    void checkSendable(@Nullable Channel on) {
        if (channel != on) {
            throw new IllegalArgumentException("The message belongs to another " + channel);
        }
        if (state != State.LENT) {
            throw new IllegalStateException(
                    state == State.RECEIVED
                            ? "A received message can't be sent: copy it to one of Channel.message()"
                            : "The message was sent or closed: take another one with Channel.message()");
        }
    }
}
