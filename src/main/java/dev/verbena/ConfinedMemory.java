package dev.verbena;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The memory of an arena for one thread. Segments have the scope of a confined arena, so only the thread can access them.
 *
 * <p>The JDK lets no other thread close a confined arena, and never frees the arena's memory once its thread has ended. So
 * the memory comes from a second arena, which no segment shows, and which any thread can close.
 */
final class ConfinedMemory implements Arena {
    private final Thread owner = Thread.currentThread();
    private final Arena access = Arena.ofConfined();
    private @Nullable Arena blocks;

    @Override
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        checkAccess();
        if (blocks == null) {
            blocks = Arena.ofShared();
        }
        return blocks.allocate(byteSize, byteAlignment).reinterpret(access, null);
    }

    /** Throws as a confined arena does if it is closed, or if this is not its thread. */
    private void checkAccess() {
        MemorySegment ignored = MemorySegment.NULL.reinterpret(access, null);
    }

    @Override
    public MemorySegment.Scope scope() {
        return access.scope();
    }

    /**
     * Frees the memory. If another thread than the owner calls this, the owner has ended. The scope then stays alive, but no
     * thread can access the segments: the JDK checks the thread first.
     */
    @Override
    public void close() {
        if (Thread.currentThread() == owner) {
            access.close();
        }
        if (blocks != null) {
            blocks.close();
        }
    }
}
