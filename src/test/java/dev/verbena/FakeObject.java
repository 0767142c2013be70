package dev.verbena;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Consumer;

/** A verbs object without verbs: it tells when it is destroyed, and refuses to be when told so. */
class FakeObject extends VerbsObject {
    private static final Consumer<FakeObject> NOTHING = object -> {};

    private final String name;
    private final Consumer<FakeObject> whenDestroyed;
    private boolean refusing;
    private int timesDestroyed;

    FakeObject(VerbsArena arena, String name, Consumer<FakeObject> whenDestroyed) {
        super(arena);
        this.name = name;
        this.whenDestroyed = whenDestroyed;
    }

    static FakeObject in(VerbsArena arena, String name, VerbsObject... parents) {
        return in(arena, name, NOTHING, parents);
    }

    static FakeObject in(
            VerbsArena arena, String name, Consumer<FakeObject> whenDestroyed, VerbsObject... parents) {
        return create(arena, () -> new FakeObject(arena, name, whenDestroyed), parents);
    }

    /** One that adds its name to a list when it is destroyed. */
    static FakeObject in(VerbsArena arena, String name, List<String> destroyed, VerbsObject... parents) {
        return in(arena, name, object -> destroyed.add(object.name), parents);
    }

    /** One that lets an adapter, if there were one, use memory. */
    static FakeObject over(VerbsArena arena, MemorySegment memory, String name, VerbsObject... parents) {
        return createOver(arena, memory, () -> new FakeObject(arena, name, NOTHING), parents);
    }

    static FakeObject overForeign(VerbsArena arena, MemorySegment memory, String name, VerbsObject... parents) {
        return createOverForeign(arena, memory, () -> new FakeObject(arena, name, NOTHING), parents);
    }

    /** One that can't be made. */
    static FakeObject failing(VerbsArena arena, RuntimeException why, VerbsObject... parents) {
        return create(arena, () -> {
            throw why;
        }, parents);
    }

    /** From now on it can't be destroyed, or can again. */
    FakeObject refuse(boolean yes) {
        refusing = yes;
        return this;
    }

    int timesDestroyed() {
        return timesDestroyed;
    }

    MemorySegment allocateScratch(long size) {
        return scratch().allocate(size);
    }

    /** Does something while no thread can close this. */
    void use(Runnable work) {
        hold();
        try {
            work.run();
        } finally {
            release();
        }
    }

    /** As {@link #use}, in the manner of the data path. */
    void useFast(Runnable work) {
        int way = enter();
        try {
            work.run();
        } finally {
            exit(way);
        }
    }

    @Override
    protected void destroy() {
        if (refusing) {
            throw new VerbsException("fake_destroy", name, 16, "It was told to refuse");
        }
        whenDestroyed.accept(this);
        timesDestroyed++;
    }

    @Override
    public String toString() {
        return name;
    }
}
