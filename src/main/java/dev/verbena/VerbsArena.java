package dev.verbena;

import dev.verbena.internal.LockedMemory;
import dev.verbena.internal.lifetime.ArenaLifetime;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * An {@link Arena} that owns verbs objects as well as memory.
 *
 * <p>{@link #close()} destroys the verbs objects, the youngest first, and frees the memory last. An adapter can therefore
 * never write to freed memory. If an object can't be destroyed, {@code close()} throws. The arena then <em>keeps its
 * memory and stays open</em>, and {@code close()} can be called again. An arena that was never closed is never collected,
 * because an adapter may still use its memory.
 *
 * <p>The last parameter of every factory of verbs objects is the arena that closes the object. An overload without it uses
 * the arena of the parent:
 *
 * {@snippet file="DeviceSnippets.java" region="arena"}
 *
 * <table class="plain">
 *   <caption>Two kinds of arena</caption>
 *   <tr><th>kind</th><th>used by</th><th>closed by</th></tr>
 *   <tr><td>{@link #ofConfined()}</td><td>the thread that made it</td><td>the same thread; once this thread has ended,
 *   any thread</td></tr>
 *   <tr><td>{@link #ofShared()}</td><td>all threads</td><td>any thread, at any time</td></tr>
 * </table>
 *
 * <p>A thread may end without closing its confined arena. The first other thread that calls {@link #close()} then takes the
 * arena over with its objects, and closes them. The arena's memory is freed, and no thread can access its segments, although
 * the {@link #scope()} stays alive. A file that was mapped with the arena stays mapped. Cleanup actions of
 * {@link MemorySegment#reinterpret(Arena, java.util.function.Consumer)} do not run.
 */
public final class VerbsArena implements Arena {
    static {
        ArenaLifetime.install(arena -> arena.lifetime);
    }

    private final Arena memory;
    private final ArenaLifetime lifetime;

    private VerbsArena(Arena memory, @Nullable Thread owner) {
        this.memory = memory;
        this.lifetime = new ArenaLifetime(this, memory, owner);
    }

    /**
     * Creates an arena for one thread. Only the calling thread can use and close the arena and its objects. Once this
     * thread has ended, any thread can close the arena.
     *
     * @return a new arena
     */
    public static VerbsArena ofConfined() {
        return new VerbsArena(new ConfinedMemory(), Thread.currentThread());
    }

    /**
     * Creates an arena for all threads.
     *
     * @return a new arena
     */
    public static VerbsArena ofShared() {
        return new VerbsArena(Arena.ofShared(), null);
    }

    /**
     * Returns the number of bytes that this process has registered with devices, and that so stay in memory. Memory that is
     * registered twice counts twice, as for the limit on locked memory. Memory registered with {@code ON_DEMAND} does not
     * count, nor what other libraries of this process register.
     *
     * @return the number of bytes now, over all arenas
     */
    public static long pinnedBytes() {
        return LockedMemory.pinned();
    }

    /**
     * Allocates zeroed memory that lives as long as this arena. RDMA works with any alignment. With an alignment of 64
     * buffers do not share a cache line, with 4096 they do not share a page.
     *
     * @throws IllegalStateException if this arena is closed
     * @throws WrongThreadException if this arena is confined to another thread
     */
    @Override
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        return memory.allocate(byteSize, byteAlignment);
    }

    @Override
    public MemorySegment.Scope scope() {
        return memory.scope();
    }

    /**
     * Destroys the verbs objects, the youngest first, then frees the memory.
     *
     * @throws ResourceBusyException if an object of another arena depends on an object or on memory of this arena. Nothing
     *     was destroyed, unless that object was made while this arena was closing. Also if a thread has been in a call that
     *     uses this arena or an object of it for more than a minute: the thread is named
     * @throws VerbsException if an object could not be destroyed. This object and all older ones stay open, the memory
     *     stays allocated, and closing can be repeated
     * @throws IllegalStateException if this arena is closed already
     * @throws WrongThreadException if this arena is confined to another thread that has not ended
     */
    @Override
    public void close() {
        lifetime.close();
    }

    @Override
    public String toString() {
        int count = lifetime.objects().size();
        return (lifetime.isConfined() ? "confined" : "shared") + " VerbsArena (" + count
                + (count == 1 ? " object" : " objects") + (lifetime.isClosed() ? ", closed)" : ")");
    }
}
