package dev.verbena.internal.lifetime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Finds the arena that owns a segment, and checks that the memory outlives the object that uses it. */
final class SegmentOwnership {
    /** The scopes of memory that nobody can free: of the global and automatic arenas, and of direct and mapped buffers. */
    private static final Set<Class<?>> UNCLOSABLE = Set.copyOf(List.of(
            Arena.global().scope().getClass(),
            Arena.ofAuto().scope().getClass(),
            MemorySegment.ofArray(new byte[0]).scope().getClass()));

    private SegmentOwnership() {}

    /**
     * Returns the verbs arena that owns the memory. Returns null for memory of the global or an automatic arena, which
     * lives as long as it is reachable.
     *
     * @throws IllegalArgumentException if another kind of arena owns the memory, or it is on the heap
     * @throws IllegalStateException if the memory was freed
     */
    static @Nullable ArenaLifetime require(MemorySegment memory) {
        ArenaLifetime owner = find(memory);
        if (owner == null && !livesWhileReachable(memory.scope())) {
            throw new IllegalArgumentException(
                    "The segment's arena can be closed while an adapter still writes to the memory. Allocate with "
                            + "VerbsArena.allocate() (or map a file with channel.map(mode, offset, size, verbsArena)), or "
                            + "take Arena.ofAuto() or Arena.global(). If you free the memory after its registration yourself, "
                            + "register it by RegionOptions.foreign(memory)");
        }
        return owner;
    }

    /** Returns the verbs arena that owns the memory, or null if no verbs arena does. */
    static @Nullable ArenaLifetime find(MemorySegment memory) {
        if (!memory.isNative()) {
            throw new IllegalArgumentException(
                    "An adapter can't use a heap segment, because the garbage collector moves it. "
                            + "Allocate with VerbsArena.allocate(), and copy");
        }
        if (!memory.scope().isAlive()) {
            throw new IllegalStateException("The segment's memory was freed: its arena is closed");
        }
        return ArenaLifetime.owning(memory);
    }

    /** Returns true for memory that nobody can free. The JDK has no method for this, but such scopes have own classes. */
    private static boolean livesWhileReachable(MemorySegment.Scope scope) {
        return UNCLOSABLE.contains(scope.getClass());
    }
}
