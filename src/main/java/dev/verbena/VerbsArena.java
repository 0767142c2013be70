package dev.verbena;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * An {@link Arena} that owns verbs objects as well as memory, and gives them back in the right order.
 *
 * <p>{@link #close()} destroys the verbs objects, the youngest first, and frees the memory last: an adapter can never
 * write into memory that was given back. When an object can't be destroyed, {@code close()} throws, <em>keeps the
 * memory alive and stays open</em>, and can be called again. For the same reason an arena that is forgotten without
 * being closed is never collected.
 *
 * <p>Every factory that makes a verbs object has a last parameter for the arena that will close it, and an overload
 * that takes the parent's:
 *
 * <pre>{@code
 * try (VerbsArena arena = VerbsArena.ofConfined()) {
 *     Context context = Device.named("rxe0").open(arena);
 *     ProtectionDomain pd = context.allocateProtectionDomain();      // closed with the arena
 *     MemoryRegion buffer = pd.register(arena.allocate(4096, 64));   // before the memory is freed
 * }
 * }</pre>
 *
 * <table>
 *   <caption>Two kinds of arena</caption>
 *   <tr><th>kind</th><th>used by</th><th>closed by</th></tr>
 *   <tr><td>{@link #ofConfined()}</td><td>the thread that made it</td><td>the same thread</td></tr>
 *   <tr><td>{@link #ofShared()}</td><td>all threads</td><td>any thread, at any time</td></tr>
 * </table>
 */
public final class VerbsArena extends Guarded implements Arena {
    /**
     * The open arenas by their scope. It tells whose memory a segment is; and it keeps an arena that nobody refers to
     * reachable, because memory that it owns or keeps reachable may be registered with an adapter.
     */
    private static final ConcurrentHashMap<MemorySegment.Scope, VerbsArena> OPEN = new ConcurrentHashMap<>();

    private final Arena memory;
    private final LinkedHashSet<VerbsObject> objects = new LinkedHashSet<>();
    private final ReentrantLock closing = new ReentrantLock();

    private VerbsArena(Arena memory, @Nullable Thread owner) {
        super(owner);
        this.memory = memory;
        OPEN.put(memory.scope(), this);
    }

    /**
     * An arena for one thread: only the thread that makes it can use and close it and what it owns.
     *
     * @return a new arena
     */
    public static VerbsArena ofConfined() {
        return new VerbsArena(Arena.ofConfined(), Thread.currentThread());
    }

    /**
     * An arena for all threads.
     *
     * @return a new arena
     */
    public static VerbsArena ofShared() {
        return new VerbsArena(Arena.ofShared(), null);
    }

    /** The open verbs arena whose memory a segment is, if there is one. */
    static Optional<VerbsArena> owning(MemorySegment segment) {
        return Optional.ofNullable(OPEN.get(segment.scope()));
    }

    /**
     * Allocates memory that lives as long as this arena. It is zeroed. Small alignments are fine for RDMA; 64 keeps
     * buffers from sharing a cache line, 4096 from sharing a page.
     *
     * @throws IllegalStateException if the arena is closed
     * @throws WrongThreadException if it is confined to another thread
     */
    @Override
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        return memory.allocate(byteSize, byteAlignment);
    }

    @Override
    public MemorySegment.Scope scope() {
        return memory.scope();
    }

    /**
     * Destroys the verbs objects, the youngest first, then frees the memory.
     *
     * @throws ResourceBusyException if something of another arena depends on an object or on memory of this one:
     *     nothing was destroyed then, unless it was made while this was closing
     * @throws VerbsException if an object could not be destroyed: it and all older ones stay open, so does the memory,
     *     and closing can be tried again
     * @throws IllegalStateException if it is closed already
     * @throws WrongThreadException if it is confined to another thread
     */
    @Override
    public void close() {
        checkThread();
        closing.lock();
        try {
            if (isClosed()) {
                throw closedAlready();
            }
            checkNothingForeignDepends();
            shut();
            try {
                // One more look: an object may have been made before the door was shut.
                checkNothingForeignDepends();
                objectsYoungestFirst().forEach(this::destroyInOrder);
                memory.close();
            } catch (Throwable failure) {
                reopen();
                throw failure;
            }
            OPEN.remove(memory.scope());
        } finally {
            closing.unlock();
        }
    }

    /** Destroys one object before its time. */
    void destroy(VerbsObject object) {
        closing.lock();
        try {
            destroyAndForget(object);
        } finally {
            closing.unlock();
        }
    }

    private void destroyInOrder(VerbsObject object) {
        object.closedBefore().stream().filter(other -> other.arena() == this).forEach(this::destroyAndForget);
        // What depends on it is younger and gone, unless it came to depend on it later: an id that changed its channel.
        for (Object dependent : object.dependents().reversed()) {
            if (dependent instanceof VerbsObject ours && ours.arena() == this) {
                destroyInOrder(ours);
            }
        }
        destroyAndForget(object);
    }

    private void destroyAndForget(VerbsObject object) {
        object.destroyOnce();
        synchronized (objects) {
            objects.remove(object);
        }
    }

    void add(VerbsObject object) {
        synchronized (objects) {
            objects.add(object);
        }
    }

    List<VerbsObject> objectsYoungestFirst() {
        synchronized (objects) {
            return new ArrayList<>(objects.reversed());
        }
    }

    /** Either all is destroyed or nothing: so look, before the first, whether one will have to stay. */
    private void checkNothingForeignDepends() {
        checkOnlyOwn(this);
        objectsYoungestFirst().forEach(this::checkOnlyOwn);
    }

    private void checkOnlyOwn(Guarded guarded) {
        List<Object> foreign = guarded.dependents().stream()
                .filter(dependent -> !(dependent instanceof VerbsObject object && object.arena() == this))
                .toList();
        if (!foreign.isEmpty()) {
            throw new ResourceBusyException(guarded, foreign);
        }
    }

    @Override
    public String toString() {
        int count;
        synchronized (objects) {
            count = objects.size();
        }
        return (owner() == null ? "shared" : "confined") + " VerbsArena (" + count
                + (count == 1 ? " object" : " objects") + (isClosed() ? ", closed)" : ")");
    }
}
