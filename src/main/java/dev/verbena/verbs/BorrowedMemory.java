package dev.verbena.verbs;

import dev.verbena.internal.lifetime.ObjectLifetime;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Access to memory that C allocates and frees. The owner of the memory ends the access before C frees it. */
final class BorrowedMemory {
    private final Arena access;

    /** The only thread that can access the memory, or null. */
    private final @Nullable Thread owner;

    /**
     * Prepares the access to memory of an object.
     *
     * @param lifetime the object's lifetime: only the thread of a confined object gets access
     */
    BorrowedMemory(ObjectLifetime lifetime) {
        owner = lifetime.isConfined() ? Thread.currentThread() : null;
        access = owner == null ? Arena.ofShared() : Arena.ofConfined();
    }

    /** Returns memory that C has allocated as a segment. */
    MemorySegment segment(long address, long length) {
        return MemorySegment.ofAddress(address).reinterpret(length, access, null);
    }

    /**
     * Ends the access of all threads. A confined arena can only be closed by its thread: if another thread calls this, the
     * owner has ended, and no thread can access the memory. Ending twice does nothing.
     *
     * @throws IllegalStateException if a call of the JDK uses the memory, such as one of a file channel
     */
    void end() {
        if (access.scope().isAlive() && (owner == null || owner == Thread.currentThread())) {
            access.close();
        }
    }
}
