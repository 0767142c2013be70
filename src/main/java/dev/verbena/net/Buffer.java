package dev.verbena.net;

import dev.verbena.internal.Fields;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.LocalMemory;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * A piece of registered memory of a channel. The channel lends it to the program as a {@link Message}. The channel's lock
 * guards all changes.
 */
final class Buffer {
    /** The states of a buffer. */
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

    /** The number in {@link #call} of a message that is no part of a call. */
    static final int NO_CALL = -1;

    private static final VarHandle STATE = Fields.handle(MethodHandles.lookup(), "state", State.class);
    private static final VarHandle TURN = Fields.handle(MethodHandles.lookup(), "turn", int.class);

    final int index;

    /** The memory that is posted: that with the header and the seal, or that of a sealed copy. */
    private LocalMemory whole;

    /** The memory of the header, the message and the seal. */
    final MemorySegment all;

    /** True from the time when the message was posted until the adapter has acknowledged it. */
    boolean onWire;

    /** True while the peer may not have the message, which may have to be sent again. */
    boolean kept;

    /** The message that methods lend which allocate nothing, once one of them has. */
    @Nullable
    Message reused;

    /** Written under the channel's lock, and also read without it. A release costs no fence. */
    @SuppressWarnings("unused") // a VarHandle reads it
    private State state = State.IDLE;

    /** Counts the times that the program got this buffer or lost it: odd while the program has it. As the state. */
    private int turn;

    /** The kind of message in {@link Wire}. */
    int kind = Wire.DATA;

    /** The number of the call that this is a request of, or a reply to. */
    int call = NO_CALL;

    private int length;

    /** The message with its header and seal, as last asked for. So messages of equal lengths allocate nothing. */
    private LocalMemory slice;

    private @Nullable MemorySegment view;
    private @Nullable MemorySegment memory;

    /** The number of bytes of the header and of the seal. */
    private final byte around;

    /**
     * Makes a buffer.
     *
     * @param whole memory that begins with the header
     * @param room the number of bytes behind the message that its seal needs
     */
    Buffer(int index, LocalMemory whole, int room) {
        this(index, whole, room, whole.segment());
    }

    /**
     * Makes a buffer.
     *
     * @param all the memory of the program, of the same size
     */
    Buffer(int index, LocalMemory whole, int room, MemorySegment all) {
        this.index = index;
        this.whole = whole;
        this.around = (byte) (Wire.HEADER_BYTES + room);
        this.all = all;
        this.slice = whole;
        this.length = (int) whole.length() - around;
    }

    /** Notes a message of the peer. */
    void arrive(int bytes, int kindOfIt, int callOfIt) {
        length(bytes);
        kind = kindOfIt;
        call = callOfIt;
        state(State.ARRIVED);
    }

    /** Returns true for a request or an offer without a reply. */
    boolean isAsking() {
        return (kind == Wire.CALL || kind == Wire.OFFER) && call != NO_CALL;
    }

    /** Takes the same memory as another device knows it. */
    void move(LocalMemory to) {
        whole = to;
        slice = to;
    }

    LocalMemory whole() {
        return whole;
    }

    /** Returns the message that {@link #lend} lends next. A new one may find no memory, so this comes before any change. */
    Message next(Channel channel, boolean reuse) {
        Message known = reused;
        if (!reuse || known == null) {
            known = new Message(channel, this, turn + 1);
            if (reuse) {
                reused = known;
            }
        }
        return known;
    }

    /** Lends this buffer to the program as a message from {@link #next}. */
    void lend(State as, Message next) {
        int now = turn + 1;
        state(as);
        TURN.setRelease(this, now);
        next.renew(now);
    }

    /** Takes this buffer from the program, whose messages are stale from now on. */
    void take(State as) {
        int lent = turn;
        if ((lent & 1) != 0) {
            TURN.setRelease(this, lent + 1);
        }
        state(as);
    }

    State state() {
        return (State) STATE.getAcquire(this);
    }

    void state(State now) {
        STATE.setRelease(this, now);
    }

    int turn() {
        return (int) TURN.getAcquire(this);
    }

    int length() {
        return length;
    }

    void length(int bytes) {
        length = bytes;
    }

    /** Returns the memory of the message, whatever its length is: always the same object. */
    MemorySegment memory() {
        MemorySegment known = memory;
        if (known == null) {
            known = all.asSlice(Wire.HEADER_BYTES, whole.length() - around);
            memory = known;
        }
        return known;
    }

    /** Returns the bytes of the message. */
    MemorySegment segment() {
        MemorySegment known = view;
        if (known == null || known.byteSize() != length) {
            known = all.asSlice(Wire.HEADER_BYTES, length);
            view = known;
        }
        return known;
    }

    /** Returns the bytes to send: the header, and the message, sealed if the channel is. */
    LocalMemory slice() {
        LocalMemory known = slice;
        if (known.length() != length + around) {
            known = whole.slice(0, length + around);
            slice = known;
        }
        return known;
    }
}
