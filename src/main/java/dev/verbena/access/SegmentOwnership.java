package dev.verbena.access;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Decides whose memory a segment is, and whether it can be trusted to outlive what is made over it. */
final class SegmentOwnership {
    /** Of the global arena, of automatic arenas, and of direct and mapped buffers, which go like heap memory. */
    private static final Set<Class<?>> UNCLOSABLE = Stream.of(
                    Arena.global().scope(),
                    Arena.ofAuto().scope(),
                    MemorySegment.ofArray(new byte[0]).scope())
            .map(Object::getClass)
            .collect(Collectors.toUnmodifiableSet());

    private SegmentOwnership() {}

    /**
     * The verbs arena that owns the memory, or null when it is global or automatic and so lives as long as it is
     * reachable.
     *
     * @throws IllegalArgumentException if it is neither
     */
    static @Nullable ArenaLifetime require(MemorySegment memory) {
        ArenaLifetime owner = find(memory);
        if (owner == null && !livesWhileReachable(memory.scope())) {
            throw new IllegalArgumentException(
                    "This segment's arena can be closed while an adapter still writes to the memory. Allocate it with "
                            + "VerbsArena.allocate() (or map a file with channel.map(mode, offset, size, verbsArena)), or "
                            + "take Arena.ofAuto() or Arena.global()");
        }
        return owner;
    }

    /** The verbs arena that owns the memory, or null when no verbs arena does. */
    static @Nullable ArenaLifetime find(MemorySegment memory) {
        if (!memory.isNative()) {
            throw new IllegalArgumentException(
                    "A heap segment can't be used by an adapter, since the garbage collector moves it. "
                            + "Allocate with VerbsArena.allocate(), and copy");
        }
        if (!memory.scope().isAlive()) {
            throw new IllegalStateException("The segment's memory was freed: its arena is closed");
        }
        return ArenaLifetime.owning(memory);
    }

    /** The JDK has no question for this, but the scopes of memory that nobody can free have classes of their own. */
    private static boolean livesWhileReachable(MemorySegment.Scope scope) {
        return UNCLOSABLE.contains(scope.getClass());
    }
}
