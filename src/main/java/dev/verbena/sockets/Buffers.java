package dev.verbena.sockets;

import dev.verbena.internal.Mutex;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Direct memory for the bytes of heap buffers on their way between Java and C. */
final class Buffers {
    /** The most bytes of one transfer of a heap buffer. */
    static final int SIZE = 1 << 16;

    static final ByteBuffer EMPTY = ByteBuffer.allocate(0);
    static final ByteBuffer[] NONE = {};

    private static final int KEPT = 16;
    private static final Mutex LOCK = new Mutex();
    private static final List<Buffers> FREE = new ArrayList<>(KEPT);

    private final MemorySegment memory = Arena.ofAuto().allocate(SIZE, 64);
    private final ByteBuffer view = memory.asByteBuffer();

    private Buffers() {}

    /** Checks that a read may fill a buffer. */
    static void checkWritable(ByteBuffer buffer) {
        if (buffer.isReadOnly()) {
            throw new IllegalArgumentException("Read-only buffer");
        }
    }

    /** Returns whether to copy a buffer together with the next ones: each call of C takes an entry of the send queue. */
    static boolean isSmall(ByteBuffer[] buffers, int from, int to) {
        return from + 1 < to && buffers[from].remaining() < SIZE / 2;
    }

    /** Borrows memory. */
    static Buffers take() {
        try (var _ = LOCK.held()) {
            if (!FREE.isEmpty()) {
                return FREE.removeLast();
            }
        }
        return new Buffers();
    }

    /** Gives memory back. */
    void giveBack() {
        try (var _ = LOCK.held()) {
            if (FREE.size() < KEPT) {
                FREE.add(this);
            }
        }
    }

    /** Returns the memory. */
    MemorySegment memory() {
        return memory;
    }

    /** Copies bytes of a heap buffer into the memory. Does not change the buffer's position. */
    void fill(ByteBuffer from, int length) {
        view.put(0, from, from.position(), length);
    }

    /** Copies as many bytes of a buffer as there is room for. Does not change the buffer's position. Returns their number. */
    int append(ByteBuffer from, int filled) {
        int length = Math.min(from.remaining(), SIZE - filled);
        view.put(filled, from, from.position(), length);
        return length;
    }

    /** Copies bytes of the memory into a heap buffer, and moves the buffer's position. */
    void drain(ByteBuffer to, int length) {
        to.put(to.position(), view, 0, length);
        to.position(to.position() + length);
    }
}
