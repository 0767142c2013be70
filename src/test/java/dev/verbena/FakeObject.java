package dev.verbena;

import dev.verbena.internal.lifetime.ObjectLifetime;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Consumer;

/** A verbs object without verbs: it tells when it is destroyed, and refuses to be when told so. */
class FakeObject extends VerbsObject {
    private static final Consumer<FakeObject> NOTHING = object -> {};

    private final ObjectLifetime lifetime;
    private final String name;
    private final Consumer<FakeObject> whenDestroyed;
    private boolean refusing;
    private int timesDestroyed;

    FakeObject(ObjectLifetime lifetime, String name, Consumer<FakeObject> whenDestroyed) {
        super(lifetime);
        this.lifetime = lifetime;
        lifetime.destroyedBy(this::destroy);
        this.name = name;
        this.whenDestroyed = whenDestroyed;
    }

    static FakeObject in(VerbsArena arena, String name, VerbsObject... parents) {
        return in(arena, name, NOTHING, parents);
    }

    static FakeObject in(VerbsArena arena, String name, Consumer<FakeObject> whenDestroyed, VerbsObject... parents) {
        return ObjectLifetime.create(arena, lifetime -> new FakeObject(lifetime, name, whenDestroyed), parents);
    }

    /** One that adds its name to a list when it is destroyed. */
    static FakeObject in(VerbsArena arena, String name, List<String> destroyed, VerbsObject... parents) {
        return in(arena, name, object -> destroyed.add(object.name), parents);
    }

    /** One that lets an adapter, if there were one, use memory. */
    static FakeObject over(VerbsArena arena, MemorySegment memory, String name, VerbsObject... parents) {
        return ObjectLifetime.createOver(arena, memory, lifetime -> new FakeObject(lifetime, name, NOTHING), parents);
    }

    static FakeObject overForeign(VerbsArena arena, MemorySegment memory, String name, VerbsObject... parents) {
        return ObjectLifetime.createOverForeign(
                arena, memory, lifetime -> new FakeObject(lifetime, name, NOTHING), parents);
    }

    /** One that can't be made. */
    static FakeObject failing(VerbsArena arena, RuntimeException why, VerbsObject... parents) {
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    throw why;
                },
                parents);
    }

    /** From now on it can't be destroyed, or can again. */
    FakeObject refuse(boolean yes) {
        refusing = yes;
        return this;
    }

    int timesDestroyed() {
        return timesDestroyed;
    }

    ObjectLifetime lifetime() {
        return lifetime;
    }

    /** Does something while no thread can close this. */
    void use(Runnable work) {
        lifetime.hold();
        try {
            work.run();
        } finally {
            lifetime.release();
        }
    }

    /** As {@link #use}, in the manner of the data path. */
    void useFast(Runnable work) {
        int way = lifetime.enter();
        try {
            work.run();
        } finally {
            lifetime.exit(way);
        }
    }

    private void destroy() {
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
