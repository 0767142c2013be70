package dev.verbena;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Something of the verbs API that must be destroyed: a device context, a protection domain, a queue pair.
 *
 * <p>It belongs to the {@link VerbsArena} that was named when it was made, which destroys it when it closes, after
 * everything that was made later. {@link #close()} destroys it earlier. It knows the objects that depend on it, and
 * is not destroyed before them.
 *
 * <p>An object of a confined arena may be used by the arena's thread only; one of a shared arena by all threads, also
 * while another closes it: calls under way are waited for, and later ones get an {@link IllegalStateException}.
 */
public abstract class VerbsObject extends Guarded implements AutoCloseable {
    private final VerbsArena arena;
    private volatile List<Guarded> parents = List.of();
    private @Nullable Arena scratch;

    /**
     * Makes the Java side of an object that exists already in C. Call it within {@link #create}.
     *
     * @param arena what will destroy the object
     */
    protected VerbsObject(VerbsArena arena) {
        super(arena.owner());
        this.arena = arena;
    }

    /**
     * Makes an object and hands it to its arena. Neither the arena nor a parent is closed meanwhile.
     *
     * @param <T> the object's type
     * @param arena what will destroy the object
     * @param maker calls C and wraps what it answers; when it throws, there must be nothing to destroy
     * @param parents what the object depends on
     * @return the object
     * @throws IllegalStateException if the arena or a parent is closed
     * @throws WrongThreadException if the arena or a parent is confined to another thread
     */
    protected static <T extends VerbsObject> T create(VerbsArena arena, Supplier<T> maker, VerbsObject... parents) {
        return createUnder(arena, maker, List.of(parents));
    }

    /**
     * As {@link #create}, for an object that lets an adapter use memory: makes sure that the memory outlives it.
     *
     * @param <T> the object's type
     * @param arena what will destroy the object
     * @param memory what an adapter will read and write
     * @param maker calls C and wraps what it answers; when it throws, there must be nothing to destroy
     * @param parents what the object depends on
     * @return the object
     * @throws IllegalArgumentException if the memory is on the heap, or might be freed before the object is destroyed
     * @throws IllegalStateException if the memory was freed, or the arena or a parent is closed
     * @throws WrongThreadException if the arena or a parent is confined to another thread
     */
    protected static <T extends VerbsObject> T createOver(
            VerbsArena arena, MemorySegment memory, Supplier<T> maker, VerbsObject... parents) {
        return createOwned(arena, MemoryOwner.require(memory), maker, parents);
    }

    /**
     * As {@link #createOver}, for memory of an arena that is not known here: the caller makes sure that it is freed after
     * the object is destroyed. Memory of a verbs arena is looked after all the same.
     *
     * @param <T> the object's type
     * @param arena what will destroy the object
     * @param memory what an adapter will read and write
     * @param maker calls C and wraps what it answers; when it throws, there must be nothing to destroy
     * @param parents what the object depends on
     * @return the object
     * @throws IllegalArgumentException if the memory is on the heap
     * @throws IllegalStateException if the memory was freed, or the arena or a parent is closed
     * @throws WrongThreadException if the arena or a parent is confined to another thread
     */
    protected static <T extends VerbsObject> T createOverForeign(
            VerbsArena arena, MemorySegment memory, Supplier<T> maker, VerbsObject... parents) {
        return createOwned(arena, MemoryOwner.find(memory), maker, parents);
    }

    private static <T extends VerbsObject> T createOwned(
            VerbsArena arena, @Nullable VerbsArena owner, Supplier<T> maker, VerbsObject... parents) {
        List<Guarded> all = new ArrayList<>(List.of(parents));
        if (owner != null && owner != arena) {
            all.add(owner); // it will not free the memory while this object lives
        }
        return createUnder(arena, maker, List.copyOf(all));
    }

    private static <T extends VerbsObject> T createUnder(
            VerbsArena arena, Supplier<T> maker, List<Guarded> parents) {
        List<Guarded> held = new ArrayList<>();
        try {
            hold(arena, held);
            parents.forEach(parent -> hold(parent, held));
            T object = maker.get();
            ((VerbsObject) object).parents = parents;
            parents.forEach(parent -> parent.addDependent(object));
            arena.add(object);
            return object;
        } finally {
            held.forEach(Guarded::release);
        }
    }

    private static void hold(Guarded guarded, List<Guarded> held) {
        guarded.hold();
        held.add(guarded);
    }

    /**
     * The arena that will destroy this object.
     *
     * @return the arena named when it was made
     */
    public final VerbsArena arena() {
        return arena;
    }

    /**
     * Whether the object can still be used.
     *
     * @return false once it was destroyed
     */
    public final boolean isOpen() {
        return !isClosed();
    }

    /**
     * Destroys this object now, without waiting for its arena. Closing twice does nothing.
     *
     * @throws ResourceBusyException if others depend on it: they are named, and it stays open
     * @throws VerbsException if C refused: it stays open, and closing can be tried again
     * @throws WrongThreadException if it is confined to another thread
     */
    @Override
    public final void close() {
        checkThread();
        arena.destroy(this);
    }

    /** The arena's half of {@link #close()}: one at a time in an arena. */
    final void destroyOnce() {
        if (isClosed()) {
            return;
        }
        checkNoDependents();
        shut();
        try {
            checkNoDependents(); // one may have been made before the door was shut
            destroy();
        } catch (Throwable failure) {
            reopen();
            throw failure;
        }
        parents.forEach(parent -> parent.removeDependent(this));
        if (scratch != null) {
            scratch.close();
        }
    }

    /**
     * Lets this object depend on another one than before. Hold all three while doing so, and no two at once.
     *
     * @param before what it depended on
     * @param after what it depends on now
     */
    protected final void changeParent(VerbsObject before, VerbsObject after) {
        List<Guarded> changed = new ArrayList<>(parents);
        changed.remove(before);
        changed.add(after);
        after.addDependent(this);
        parents = List.copyOf(changed);
        before.removeDependent(this);
    }

    /**
     * Memory for the object's own use, such as the work requests that C reads: freed once the object is destroyed.
     * Call this while the object is being made.
     *
     * @return the same arena each time
     */
    protected final Arena scratch() {
        if (scratch == null) {
            scratch = owner() == null ? Arena.ofShared() : Arena.ofConfined();
        }
        return scratch;
    }

    /**
     * Objects that must go before this one when the arena of both closes, although they were not made from it.
     *
     * @return the objects, open or not; none unless overridden
     */
    protected Collection<? extends VerbsObject> closedBefore() {
        return List.of();
    }

    /**
     * Calls the C function that destroys the object. No other call is using it, and nothing depends on it.
     *
     * @throws VerbsException if C refused; the object is then as it was
     */
    protected abstract void destroy();
}
