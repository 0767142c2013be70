package dev.verbena.internal.lifetime;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.NativeLibraries;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The lifetime of an arena: its objects, its memory, and the order in which they are destroyed and freed. */
public final class ArenaLifetime extends Lifetime {
    /**
     * The open arenas by their scope. The map tells which arena owns a segment. It also keeps open arenas reachable, because
     * their memory may be registered with an adapter.
     */
    private static final ConcurrentHashMap<MemorySegment.Scope, ArenaLifetime> OPEN = new ConcurrentHashMap<>();

    private static final CFunction CALLOC = new CFunction(NativeLibraries.C, "calloc");
    private static final CFunction FREE = new CFunction(NativeLibraries.C, "free");

    /** The most bytes that {@link #allocateUntouched} takes of the JDK while the process calls no C. */
    private static final long MOST_FIRST = 16 << 20;

    private static final AtomicLong FIRST = new AtomicLong();

    private static volatile @Nullable Function<VerbsArena, ArenaLifetime> accessor;

    private final VerbsArena arena;
    private final Arena memory;
    private final LinkedHashSet<ObjectLifetime> objects = new LinkedHashSet<>();

    /** Held by the thread that closes the arena. */
    private final Mutex closing = new Mutex();

    /** True once the objects are destroyed and the memory is freed. Until then a close can be tried again. */
    private boolean freed;

    /** The newest of the blocks of {@link #allocateUntouched}. */
    private final AtomicReference<@Nullable Block> blocks = new AtomicReference<>();

    /**
     * A block of C's memory. A cleanup action of the JDK's arena would not do: it needs heap, and its failure would leave the
     * arena closed for the JDK and open here.
     */
    private static final class Block {
        final AtomicLong address = new AtomicLong();

        @Nullable
        Block next;

        /** Frees the block, unless another thread has. */
        void free() {
            FREE.callQuietly(address.getAndSet(0), 0, 0, 0);
        }
    }

    /**
     * Begins the lifetime of an arena.
     *
     * @param arena the arena
     * @param memory allocates its memory
     * @param owner the only thread that may use the arena, or null for all threads
     */
    public ArenaLifetime(VerbsArena arena, Arena memory, @Nullable Thread owner) {
        super(owner);
        this.arena = arena;
        this.memory = memory;
        OPEN.put(memory.scope(), this);
    }

    /** Installs the function that finds the lifetime of an arena. Only {@link VerbsArena} calls this. */
    public static void install(Function<VerbsArena, ArenaLifetime> function) {
        accessor = function;
    }

    /** Returns the lifetime of an arena. */
    public static ArenaLifetime of(VerbsArena arena) {
        return Objects.requireNonNull(accessor).apply(arena);
    }

    /** Returns the lifetime of the open arena that owns a segment's memory, or null if there is none. */
    static @Nullable ArenaLifetime owning(MemorySegment segment) {
        return OPEN.get(segment.scope());
    }

    @Override
    VerbsArena subject() {
        return arena;
    }

    /**
     * Allocates zeroed memory that the arena frees ({@code calloc}). The system provides a page of a large block when the page
     * is first used, so this takes no longer for a large block. The JDK's arenas write all of it, which took 15 s for 1 GiB
     * in a guest. The block does not count as the JVM's direct memory. But the first 16 MiB of a process that calls no C come
     * from the JDK: the first call of C takes a start longer than to write them.
     *
     * @param alignment a power of two
     * @throws OutOfMemoryError if the system refuses the memory
     */
    public MemorySegment allocateUntouched(long bytes, long alignment) {
        MemorySegment first = CFunction.isInUse() ? null : ofJdk(bytes, alignment);
        return first == null ? ofC(bytes, alignment) : first;
    }

    /** Returns null if the process has no more memory for this, or has had its share. */
    private @Nullable MemorySegment ofJdk(long bytes, long alignment) {
        if (bytes > MOST_FIRST || FIRST.addAndGet(bytes) > MOST_FIRST) {
            return null;
        }
        try {
            return memory.allocate(bytes, alignment);
        } catch (OutOfMemoryError limited) {
            return null;
        }
    }

    private MemorySegment ofC(long bytes, long alignment) {
        long whole = Math.addExact(bytes, alignment);
        FREE.find();
        Block block = new Block();
        do {
            block.next = blocks.get();
        } while (!blocks.compareAndSet(block.next, block));
        long address = CALLOC.call(1, whole, 0);
        if (address == 0) {
            throw new OutOfMemoryError("calloc(" + whole + "): the system has no memory of this size");
        }
        block.address.set(address);
        try {
            return MemorySegment.ofAddress(address)
                    .reinterpret(whole, memory, null)
                    .asSlice(-address & (alignment - 1), bytes);
        } catch (Throwable closed) {
            block.free();
            throw closed;
        }
    }

    /** Destroys the objects, the youngest first, then frees the memory: see {@link VerbsArena#close}. */
    public void close() {
        if (!closeUnlessClosed()) {
            throw closedAlready();
        }
    }

    /** Does the same as {@link #close}, but returns false if the arena is closed already. */
    public boolean closeUnlessClosed() {
        takeOverFromEndedThread();
        checkThread();
        try (var _ = closingHeld(closing)) {
            if (freed) {
                return false;
            }
            checkNothingForeignDepends();
            shut();
            try {
                // Check again: an object may have been made before this lifetime was shut.
                checkNothingForeignDepends();
                for (ObjectLifetime object : objectsYoungestFirst()) {
                    destroyInOrder(object);
                }
                freeMemory();
            } catch (Throwable failure) {
                reopen();
                throw failure;
            }
            if (!memory.scope().isAlive()) { // else the entry refuses segments of an ended thread for ever
                OPEN.remove(memory.scope());
            }
            freed = true;
            return true;
        }
    }

    private void freeMemory() {
        if (memory.scope().isAlive()) { // else an earlier attempt came so far
            memory.close();
        }
        for (Block block = blocks.getAndSet(null); block != null; block = block.next) {
            block.free();
        }
    }

    /** Takes over a confined arena whose thread has ended, and its objects: nobody else could close them. */
    private void takeOverFromEndedThread() {
        Thread before = owner();
        if (before == null || before.isAlive()) {
            return;
        }
        try (var _ = closing.held()) {
            if (owner() == before) { // no other thread was faster
                takeOver();
                objectsYoungestFirst().forEach(each -> each.takeOver());
            }
        }
    }

    private void destroyInOrder(ObjectLifetime object) {
        for (ObjectLifetime first : object.closedBefore()) {
            if (first.arena() == this) {
                first.destroyOnce();
            }
        }
        // Dependents are younger and gone, except those that came later: an id that moved, a queue pair with a counter.
        for (ObjectLifetime dependent : object.dependents().reversed()) {
            if (dependent.arena() == this) {
                destroyInOrder(dependent);
            }
        }
        object.destroyOnce();
    }

    void add(ObjectLifetime object) {
        synchronized (objects) {
            objects.add(object);
        }
    }

    void forget(ObjectLifetime object) {
        synchronized (objects) {
            objects.remove(object);
        }
    }

    /** Returns the objects that the arena owns, the youngest first. */
    public List<VerbsObject> objects() {
        return objectsYoungestFirst().stream().map(ObjectLifetime::subject).toList();
    }

    private List<ObjectLifetime> objectsYoungestFirst() {
        synchronized (objects) {
            return new ArrayList<>(objects.reversed());
        }
    }

    /** Checks that no object has to stay, before the first one is destroyed. A child that comes later makes the close fail. */
    private void checkNothingForeignDepends() {
        checkOnlyOwn(this);
        for (ObjectLifetime object : objectsYoungestFirst()) {
            checkOnlyOwn(object);
        }
    }

    private void checkOnlyOwn(Lifetime guard) {
        List<ObjectLifetime> foreign = new ArrayList<>();
        for (ObjectLifetime dependent : guard.dependents()) {
            if (dependent.arena() != this) {
                foreign.add(dependent);
            }
        }
        if (!foreign.isEmpty()) {
            throw guard.busy(foreign);
        }
    }
}
