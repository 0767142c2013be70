package dev.verbena.internal.link;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.util.Collection;

/** Registers memory: a node does, for all of its channels, and a channel's connection does, for that channel. */
public interface Registrar {
    /** Registers memory that this library keeps from being freed. */
    MemoryRegion register(MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena);
}
