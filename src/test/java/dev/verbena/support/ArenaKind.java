package dev.verbena.support;

import dev.verbena.VerbsArena;
import java.util.function.Supplier;

/** The kinds of arena, for tests of rules that hold for all of them. */
public enum ArenaKind {
    CONFINED(VerbsArena::ofConfined),
    SHARED(VerbsArena::ofShared);

    private final Supplier<VerbsArena> maker;

    ArenaKind(Supplier<VerbsArena> maker) {
        this.maker = maker;
    }

    public VerbsArena make() {
        return maker.get();
    }
}
