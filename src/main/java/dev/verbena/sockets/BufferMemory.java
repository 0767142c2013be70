package dev.verbena.sockets;

import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The memory of the direct buffer that a channel has used last: a program that uses one buffer again and again allocates
 * nothing, whether or not the compiler sees through {@link MemorySegment#ofBuffer}. Does not keep the buffer.
 *
 * <p>One thread at a time may use this object.
 */
final class BufferMemory {
    private WeakReference<@Nullable ByteBuffer> last = new WeakReference<>(null);
    private WeakReference<@Nullable MemorySegment> memory = new WeakReference<>(null);

    /** Returns the memory of a direct buffer from its first byte to its capacity. */
    MemorySegment of(ByteBuffer buffer) {
        MemorySegment known = last.refersTo(buffer) ? memory.get() : null;
        if (known == null) {
            known = MemorySegment.ofBuffer(buffer.duplicate().clear());
            last = new WeakReference<>(buffer);
            memory = new WeakReference<>(known);
        }
        return known;
    }
}
