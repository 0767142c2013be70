package dev.verbena.internal.lifetime;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A verbs object without verbs, whose destruction a test can watch, delay or refuse. */
final class GuardedObject extends VerbsObject {
    final ObjectLifetime lifetime;
    private final String name;
    private final List<String> destroyed;
    volatile @Nullable Runnable whenDestroyed;
    volatile boolean refusing;

    private GuardedObject(ObjectLifetime lifetime, String name, List<String> destroyed) {
        super(lifetime);
        this.lifetime = lifetime;
        this.name = name;
        this.destroyed = destroyed;
        lifetime.destroyedBy(this::destroy);
    }

    /** Makes an object that adds its name to a list when it is destroyed. */
    static GuardedObject in(VerbsArena arena, String name, List<String> destroyed, VerbsObject... parents) {
        return in(arena, name, destroyed, () -> {}, parents);
    }

    /** Makes an object whose maker does something while the arena and the parents are held. */
    static GuardedObject in(
            VerbsArena arena, String name, List<String> destroyed, Runnable meanwhile, VerbsObject... parents) {
        return ObjectLifetime.create(arena, lifetime -> made(lifetime, name, destroyed, meanwhile), parents);
    }

    /** Makes an object that lets an adapter use memory. */
    static GuardedObject over(
            MemorySegment memory, VerbsArena arena, String name, List<String> destroyed, Runnable meanwhile) {
        return ObjectLifetime.createOver(arena, memory, lifetime -> made(lifetime, name, destroyed, meanwhile));
    }

    private static GuardedObject made(
            ObjectLifetime lifetime, String name, List<String> destroyed, Runnable meanwhile) {
        GuardedObject made = new GuardedObject(lifetime, name, destroyed);
        meanwhile.run();
        return made;
    }

    /** Makes two objects of one lifetime, which is refused. */
    static void twins(VerbsArena arena, List<String> destroyed) {
        ObjectLifetime.create(arena, lifetime -> {
            GuardedObject first = new GuardedObject(lifetime, "first", destroyed);
            GuardedObject second = new GuardedObject(lifetime, "second", destroyed);
            return second.name.isEmpty() ? first : second;
        });
    }

    private void destroy() {
        Runnable first = whenDestroyed;
        if (first != null) {
            first.run();
        }
        if (refusing) {
            throw new VerbsException("guarded_destroy", name, 16, "");
        }
        destroyed.add(name);
    }

    @Override
    public String toString() {
        return name;
    }
}
