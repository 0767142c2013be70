package dev.verbena.internal.lifetime;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.StackRoom;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The lifetime of a verbs object: its arena, the objects that it depends on, and the function that destroys it.
 *
 * <p>Factories call {@link #create}, which hands a new lifetime to the object's constructor. The object keeps the
 * lifetime, and brackets its calls into C with it.
 */
public final class ObjectLifetime extends Lifetime {
    private static volatile @Nullable Function<VerbsObject, ObjectLifetime> accessor;

    private final ArenaLifetime arena;
    private @Nullable VerbsObject object;
    private @Nullable Runnable destroyer;
    private @Nullable Runnable undoer;
    private @Nullable Supplier<? extends Collection<? extends VerbsObject>> closedBefore;

    /** The parents. One may be there twice. */
    private volatile List<Lifetime> parents = List.of();

    /**
     * Held by the thread that destroys the object. A thread that closes the arena takes it for each object, so that no close
     * of an object waits for that of its arena.
     */
    private final Mutex closing = new Mutex();

    /** True once C has destroyed the object. Until then a close can be tried again. */
    private volatile boolean destroyed;

    private ObjectLifetime(ArenaLifetime arena) {
        super(arena.owner());
        this.arena = arena;
    }

    /** Installs the function that finds the lifetime of an object. Only {@link VerbsObject} calls this. */
    public static void install(Function<VerbsObject, ObjectLifetime> function) {
        accessor = function;
    }

    /** Returns the lifetime of an object. */
    public static ObjectLifetime of(VerbsObject object) {
        return Objects.requireNonNull(accessor).apply(object);
    }

    /**
     * Makes an object and hands it to its arena. Neither the arena nor a parent is closed meanwhile.
     *
     * @param <T> the object's type
     * @param arena the arena that will destroy the object
     * @param maker calls C and wraps the result; when it throws, an object with a {@link #destroyedBy destroyer}
     *     is destroyed
     * @param parents the objects that the new one depends on
     * @return the object
     * @throws IllegalStateException if the arena or a parent is closed
     * @throws WrongThreadException if the arena or a parent is confined to another thread
     */
    public static <T extends VerbsObject> T create(
            VerbsArena arena, Function<ObjectLifetime, T> maker, VerbsObject... parents) {
        return create(arena, List.of(parents), maker);
    }

    /** Does the same as {@link #create(VerbsArena, Function, VerbsObject...)}. */
    public static <T extends VerbsObject> T create(
            VerbsArena arena, Collection<? extends VerbsObject> parents, Function<ObjectLifetime, T> maker) {
        return createUnder(ArenaLifetime.of(arena), maker, guards(parents));
    }

    /** Does the same, with an arena for the structs that the maker fills for C. */
    public static <T extends VerbsObject> T create(
            VerbsArena arena, Collection<? extends VerbsObject> parents, BiFunction<ObjectLifetime, Arena, T> maker) {
        return create(arena, parents, lifetime -> {
            try (Arena scratch = Arena.ofConfined()) {
                return maker.apply(lifetime, scratch);
            }
        });
    }

    /**
     * Makes an object that lets an adapter use memory. Makes sure that the memory outlives the object.
     *
     * @param <T> the object's type
     * @param arena the arena that will destroy the object
     * @param memory the memory that an adapter will read and write
     * @param maker calls C and wraps the result; when it throws, an object with a {@link #destroyedBy destroyer}
     *     is destroyed
     * @param parents the objects that the new one depends on
     * @return the object
     * @throws IllegalArgumentException if the memory is on the heap, or might be freed before the object is destroyed
     * @throws IllegalStateException if the memory was freed, or the arena or a parent is closed
     * @throws WrongThreadException if the arena or a parent is confined to another thread
     */
    public static <T extends VerbsObject> T createOver(
            VerbsArena arena, MemorySegment memory, Function<ObjectLifetime, T> maker, VerbsObject... parents) {
        return createOwned(arena, SegmentOwnership.require(memory), maker, parents);
    }

    /**
     * Makes an object that lets an adapter use memory of a foreign arena. The caller makes sure that the memory is freed
     * after the object is destroyed. Memory of a verbs arena is guarded as by {@link #createOver}.
     *
     * @param <T> the object's type
     * @param arena the arena that will destroy the object
     * @param memory the memory that an adapter will read and write
     * @param maker calls C and wraps the result; when it throws, an object with a {@link #destroyedBy destroyer}
     *     is destroyed
     * @param parents the objects that the new one depends on
     * @return the object
     * @throws IllegalArgumentException if the memory is on the heap
     * @throws IllegalStateException if the memory was freed, or the arena or a parent is closed
     * @throws WrongThreadException if the arena or a parent is confined to another thread
     */
    public static <T extends VerbsObject> T createOverForeign(
            VerbsArena arena, MemorySegment memory, Function<ObjectLifetime, T> maker, VerbsObject... parents) {
        return createOwned(arena, SegmentOwnership.find(memory), maker, parents);
    }

    private static <T extends VerbsObject> T createOwned(
            VerbsArena arena,
            @Nullable ArenaLifetime owner,
            Function<ObjectLifetime, T> maker,
            VerbsObject... parents) {
        List<Lifetime> guards = new ArrayList<>(guards(List.of(parents)));
        ArenaLifetime own = ArenaLifetime.of(arena);
        if (owner != null && owner != own) {
            guards.add(owner); // the owner does not free the memory while the object lives
        }
        return createUnder(own, maker, List.copyOf(guards));
    }

    private static List<Lifetime> guards(Collection<? extends VerbsObject> objects) {
        List<Lifetime> guards = new ArrayList<>();
        for (VerbsObject object : objects) {
            guards.add(of(object));
        }
        return List.copyOf(guards);
    }

    private static <T extends VerbsObject> T createUnder(
            ArenaLifetime arena, Function<ObjectLifetime, T> maker, List<Lifetime> parents) {
        StackRoom.forLinking(); // and for what must be known to all, or undone
        List<Lifetime> guards = new ArrayList<>(List.of(arena));
        guards.addAll(parents);
        holdAll(guards);
        try {
            ObjectLifetime lifetime = new ObjectLifetime(arena);
            try {
                T object = maker.apply(lifetime);
                lifetime.publish(parents);
                return object;
            } catch (Throwable failure) {
                lifetime.undo(parents, failure);
                throw failure;
            }
        } finally {
            releaseAll(guards);
        }
    }

    /** Keeps all of these open until {@link #releaseAll}. */
    private static void holdAll(List<Lifetime> guards) {
        for (int i = 0; i < guards.size(); i++) {
            try {
                guards.get(i).hold();
            } catch (Throwable refused) {
                releaseFirst(i, guards);
                throw refused;
            }
        }
    }

    private static void releaseAll(List<Lifetime> guards) {
        releaseFirst(guards.size(), guards);
    }

    /** Allocates nothing, so that no shortage of memory keeps an object open for ever. */
    private static void releaseFirst(int count, List<Lifetime> guards) {
        for (int i = 0; i < count; i++) {
            guards.get(i).release();
        }
    }

    /** Destroys an object whose maker has failed. An object that C refuses to destroy stays until its arena closes. */
    private void undo(List<Lifetime> known, Throwable failure) {
        Runnable back = undoer == null ? destroyer : undoer;
        if (back != null) {
            shut();
            try {
                back.run();
            } catch (Throwable refused) {
                failure.addSuppressed(refused);
                reopen();
                publish(known);
                return;
            }
        }
        leaveParentsAndArena();
    }

    /**
     * Makes the object known to its parents and to its arena. Another thread may find it with one parent and close it
     * before the next parent knows it: that thread waits until the object is known to all, and so removes it from all.
     */
    private void publish(List<Lifetime> known) {
        hold();
        try {
            parents = known;
            for (Lifetime parent : known) {
                parent.addDependent(this);
            }
            arena.add(this);
        } finally {
            release();
        }
    }

    /** Begins the lifetime of an object. Only {@link VerbsObject} calls this. */
    public void begin(VerbsObject begun) {
        if (object != null) {
            throw new IllegalStateException("The lifetime belongs to another object: " + object);
        }
        object = begun;
        closing.guards(begun);
    }

    /**
     * Sets the function that calls C to destroy the object. No other call uses the object meanwhile, and nothing depends on
     * the object. The function throws if C refused; the object is then unchanged.
     *
     * <p>The maker calls this as soon as the function would work, before anything that may fail. If the maker fails later,
     * the function undoes what C has done.
     */
    public void destroyedBy(Runnable function) {
        destroyer = function;
    }

    /**
     * Sets the function that undoes the work of a maker that fails. This is for a maker that wraps an object of C which
     * its caller keeps, and destroys, when the maker fails.
     */
    public void undoneBy(Runnable function) {
        undoer = function;
    }

    /**
     * Does work during which no other thread closes the object. The work itself may close it.
     *
     * @param <T> the type of the result
     * @param work replaces the object, for example
     * @return the result of the work
     */
    public <T> T withoutClosing(Supplier<T> work) {
        checkThread();
        try (var _ = closingHeld(closing)) {
            return work.get();
        }
    }

    /**
     * Sets the function that names objects to destroy before this one when the arena of both closes. These objects do not
     * depend on this one.
     */
    public void closesAfter(Supplier<? extends Collection<? extends VerbsObject>> objects) {
        closedBefore = objects;
    }

    Collection<ObjectLifetime> closedBefore() {
        if (closedBefore == null) {
            return List.of();
        }
        List<ObjectLifetime> lifetimes = new ArrayList<>();
        for (VerbsObject each : closedBefore.get()) {
            lifetimes.add(of(each));
        }
        return lifetimes;
    }

    ArenaLifetime arena() {
        return arena;
    }

    /** Returns the arena that destroys the object. */
    public VerbsArena arenaOfObject() {
        return arena.subject();
    }

    @Override
    VerbsObject subject() {
        return Objects.requireNonNull(object);
    }

    /** Destroys the object without waiting for its arena: see {@link VerbsObject#close}. */
    public void close() {
        checkThread();
        destroyOnce();
    }

    /**
     * Destroys the object by another function than that of {@link #destroyedBy}: by one that has C hand the object over to a
     * new one, for example.
     */
    public void closeBy(Runnable function) {
        checkThread();
        destroyOnce(function);
    }

    /** Destroys the object unless it is gone. Waits for another thread that does. */
    void destroyOnce() {
        destroyOnce(Objects.requireNonNull(destroyer));
    }

    private void destroyOnce(Runnable function) {
        StackRoom.check(); // for what must not end halfway
        try (var _ = closingHeld(closing)) {
            if (!destroyed) {
                destroy(function);
            }
        } finally {
            if (destroyed) {
                leaveParentsAndArena();
            }
        }
    }

    private void destroy(Runnable function) {
        checkNoDependents();
        shut();
        try {
            checkNoDependents(); // one may have been made before this lifetime was shut
            function.run();
            destroyed = true;
        } finally {
            if (!destroyed) {
                reopen();
            }
        }
    }

    /**
     * Notes that C has destroyed the object. What fails after that, for lack of memory for example, leaves the object closed:
     * C must not destroy it again.
     */
    public void noteDestroyed() {
        destroyed = true;
    }

    private void leaveParentsAndArena() {
        List<Lifetime> left = parents;
        for (int i = 0; i < left.size(); i++) { // without an iterator, for which there may be no memory
            left.get(i).removeDependent(this);
        }
        arena.forget(this);
    }

    /**
     * Moves the object from one parent to another. Neither the object, nor a parent, nor an arena of these is closed
     * meanwhile: an arena that closes at the same time waits, and then closes all of its objects or none. No two threads may
     * move an object at once.
     *
     * @param before the parent until now
     * @param after the parent from now on
     * @param mover calls C to move the object; when it throws, the object keeps its parent
     * @throws IllegalStateException if the object, a parent or an arena is closed
     * @throws WrongThreadException if the object or a parent is confined to another thread
     */
    public void move(VerbsObject before, VerbsObject after, Runnable mover) {
        ObjectLifetime from = of(before);
        ObjectLifetime to = of(after);
        List<Lifetime> guards = List.of(arena, this, from.arena, from, to.arena, to);
        holdAll(guards);
        try {
            mover.run();
            dependOn(to);
            endDependenceOn(from);
        } finally {
            releaseAll(guards);
        }
    }

    /**
     * Makes the object depend on one more object, until it is destroyed. Neither of the two, nor their arenas, are closed
     * meanwhile. The same parent can be added again.
     *
     * @param added the parent
     * @param call calls C; when it throws, the object does not depend on the parent by this call
     * @throws IllegalStateException if the object, the parent or an arena is closed
     * @throws WrongThreadException if the object or the parent is confined to another thread
     */
    public void addParent(VerbsObject added, Runnable call) {
        ObjectLifetime parent = of(added);
        List<Lifetime> guards = List.of(arena, this, parent.arena, parent);
        holdAll(guards);
        try {
            dependOn(parent);
            try {
                call.run();
            } catch (Throwable refused) {
                endDependenceOn(parent);
                throw refused;
            }
        } finally {
            releaseAll(guards);
        }
    }

    private synchronized void dependOn(ObjectLifetime parent) {
        List<Lifetime> more = new ArrayList<>(parents);
        more.add(parent);
        parents = List.copyOf(more);
        parent.addDependent(this); // last: if memory is missing for it, it is not needed to leave
    }

    /** Takes back one call of {@link #dependOn}. The parent keeps its dependent if there was another. */
    private synchronized void endDependenceOn(ObjectLifetime parent) {
        List<Lifetime> fewer = new ArrayList<>(parents);
        fewer.remove(parent);
        parents = List.copyOf(fewer);
        if (!fewer.contains(parent)) {
            parent.removeDependent(this);
        }
    }
}
