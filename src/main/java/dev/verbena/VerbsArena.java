package dev.verbena;

import dev.verbena.access.ArenaLifetime;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * An {@link Arena} that owns verbs objects as well as memory, and gives them back in the right order.
 *
 * <p>{@link #close()} destroys the verbs objects, the youngest first, and frees the memory last: an adapter can never
 * write into memory that was given back. When an object can't be destroyed, {@code close()} throws, <em>keeps the
 * memory alive and stays open</em>, and can be called again. For the same reason an arena that is forgotten without
 * being closed is never collected.
 *
 * <p>Every factory that makes a verbs object has a last parameter for the arena that will close it, and an overload
 * that takes the parent's:
 *
 * <pre>{@code
 * try (VerbsArena arena = VerbsArena.ofConfined()) {
 *     Context context = Device.named("rxe0").open(arena);
 *     ProtectionDomain pd = context.allocateProtectionDomain();      // closed with the arena
 *     MemoryRegion buffer = pd.register(arena.allocate(4096, 64));   // before the memory is freed
 * }
 * }</pre>
 *
 * <table>
 *   <caption>Two kinds of arena</caption>
 *   <tr><th>kind</th><th>used by</th><th>closed by</th></tr>
 *   <tr><td>{@link #ofConfined()}</td><td>the thread that made it</td><td>the same thread</td></tr>
 *   <tr><td>{@link #ofShared()}</td><td>all threads</td><td>any thread, at any time</td></tr>
 * </table>
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
     * An arena for one thread: only the thread that makes it can use and close it and what it owns.
     *
     * @return a new arena
     */
    public static VerbsArena ofConfined() {
        return new VerbsArena(Arena.ofConfined(), Thread.currentThread());
    }

    /**
     * An arena for all threads.
     *
     * @return a new arena
     */
    public static VerbsArena ofShared() {
        return new VerbsArena(Arena.ofShared(), null);
    }

    /**
     * Allocates memory that lives as long as this arena. It is zeroed. Small alignments are fine for RDMA; 64 keeps
     * buffers from sharing a cache line, 4096 from sharing a page.
     *
     * @throws IllegalStateException if the arena is closed
     * @throws WrongThreadException if it is confined to another thread
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
     * @throws ResourceBusyException if something of another arena depends on an object or on memory of this one:
     *     nothing was destroyed then, unless it was made while this was closing
     * @throws VerbsException if an object could not be destroyed: it and all older ones stay open, so does the memory,
     *     and closing can be tried again
     * @throws IllegalStateException if it is closed already
     * @throws WrongThreadException if it is confined to another thread
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
