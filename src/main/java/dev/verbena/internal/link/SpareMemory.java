package dev.verbena.internal.link;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.util.Set;

/** Memory for a transfer, with an arena of its own, which the next transfer may use. */
public record SpareMemory(VerbsArena arena, MemoryRegion region) {
    private static final long PAGE = 4096;

    /** The peer reads the one side's memory, and the adapter writes into the other's. */
    private static final Set<AccessFlag> ACCESS = Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);

    public static SpareMemory make(Carrier.Connection on, long size) {
        VerbsArena arena = VerbsArena.ofShared();
        try {
            return new SpareMemory(arena, on.register(arena.allocate(size, PAGE), ACCESS, arena));
        } catch (Throwable t) {
            arena.close();
            throw t;
        }
    }

    public void free() {
        arena.close();
    }
}
