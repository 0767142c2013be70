package dev.verbena.verbs;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Mutex;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Set;

/**
 * A pool of buffers of one size, cut from memory that is registered once. Taking a buffer and giving it back allocate
 * nothing.
 *
 * {@snippet file="MemorySnippets.java" region="pool"}
 *
 * <p>The id of the completion is the index of the buffer:
 *
 * {@snippet file="MemorySnippets.java" region="pool-return"}
 *
 * <p>All threads that can use the protection domain can use the pool. The pool ends when its region is closed, by the
 * arena or by {@link MemoryRegion#close}.
 */
public final class BufferPool {
    private static final long CACHE_LINE = 64;

    private final MemoryRegion region;
    private final Buffer[] all;
    private final Mutex lock = new Mutex();
    /** The free buffers. The last one given back is on top: its memory is the most likely to be in the cache. */
    private final Buffer[] free;

    private int available;

    private BufferPool(MemoryRegion region, int count, long size, long distance) {
        this.region = region;
        this.all = new Buffer[count];
        this.free = new Buffer[count];
        this.available = count;
        for (int i = 0; i < count; i++) {
            all[i] = new Buffer(this, i, region.slice(i * distance, size));
            free[count - 1 - i] = all[i];
        }
    }

    /**
     * Allocates and registers the buffers of a pool, closed by the domain's arena.
     *
     * @param domain the protection domain that registers the memory
     * @param count the number of buffers
     * @param size the number of bytes of each buffer
     * @param access the rights of the adapter and of peers
     * @return the pool, with all buffers in it
     * @throws IllegalArgumentException if the count or the size is less than 1, or the pool exceeds all memory
     * @throws dev.verbena.VerbsException if the memory can't be pinned, most often because of the limit on locked
     *     memory
     */
    public static BufferPool of(ProtectionDomain domain, int count, long size, AccessFlag... access) {
        return of(domain, count, size, List.of(access), domain.arena());
    }

    /**
     * Allocates and registers the buffers of a pool.
     *
     * @param domain the protection domain that registers the memory
     * @param count the number of buffers
     * @param size the number of bytes of each buffer
     * @param access the rights of the adapter and of peers
     * @param arena the arena that owns the memory and closes the region
     * @return the pool, with all buffers in it
     * @throws IllegalArgumentException if the count or the size is less than 1, or the pool exceeds all memory
     * @throws dev.verbena.VerbsException if the memory can't be pinned, most often because of the limit on locked
     *     memory
     */
    public static BufferPool of(
            ProtectionDomain domain, int count, long size, Collection<AccessFlag> access, VerbsArena arena) {
        domain.context(); // first, as the access: nothing is allocated for a pool that can't be made
        Set<AccessFlag> rights = Set.copyOf(access);
        if (count < 1 || size < 1 || size > Long.MAX_VALUE / count - CACHE_LINE) {
            throw new IllegalArgumentException("a pool needs at least one buffer of at least one byte, and at most "
                    + Long.MAX_VALUE + " bytes in all, got " + count + " buffers of " + size + " bytes");
        }
        long distance = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; // no two buffers share a cache line
        MemorySegment memory = arena.allocate(distance * count, CACHE_LINE);
        return new BufferPool(domain.register(memory, rights, arena), count, size, distance);
    }

    /**
     * Takes the buffer that was given back last. Its former content is still there.
     *
     * @return a buffer that nobody else takes until {@link Buffer#close} gives it back
     * @throws NoSuchElementException if all buffers are taken
     * @throws IllegalStateException if the region is closed
     */
    public Buffer take() {
        region.address(); // throws if the region is closed, or confined to another thread
        try (var _ = lock.held()) {
            if (available == 0) {
                throw new NoSuchElementException(
                        "all " + all.length + " buffers are taken: close some first, or make a pool of more buffers");
            }
            Buffer buffer = free[--available];
            buffer.taken = true;
            return buffer;
        }
    }

    private void giveBack(Buffer buffer) {
        try (var _ = lock.held()) {
            if (buffer.taken) {
                buffer.taken = false;
                free[available++] = buffer;
            }
        }
    }

    /**
     * Returns a buffer by its number, taken or not. The number of a buffer can so be the id of a work request.
     *
     * @param index the number, from 0
     * @return the buffer
     * @throws IndexOutOfBoundsException if the pool has no buffer of this number
     */
    public Buffer buffer(int index) {
        return all[Objects.checkIndex(index, all.length)];
    }

    /**
     * Returns the number of buffers, taken or not.
     *
     * @return the number of buffers
     */
    public int size() {
        return all.length;
    }

    /**
     * Returns the number of buffers that can be taken now.
     *
     * @return the number of free buffers
     */
    public int available() {
        try (var _ = lock.held()) {
            return available;
        }
    }

    /**
     * Returns the memory region of all buffers. Closing the region ends the pool.
     *
     * @return the memory region
     */
    public MemoryRegion region() {
        return region;
    }

    /** Returns for example {@code pool of 64 buffers, 60 available, in memory region 17}. */
    @Override
    public String toString() {
        return "pool of " + all.length + " buffers, " + available() + " available, in " + region;
    }

    /**
     * A buffer of a {@link BufferPool}. One thread at a time uses a buffer: the thread that took it, or a thread that
     * it was handed to. {@link #close} gives the buffer back to the pool.
     */
    public static final class Buffer implements AutoCloseable {
        private final BufferPool pool;
        private final int index;
        private final LocalMemory memory;
        private final MemorySegment segment;
        /** Guarded by the pool's lock. */
        private boolean taken;

        private Buffer(BufferPool pool, int index, LocalMemory memory) {
            this.pool = pool;
            this.index = index;
            this.memory = memory;
            this.segment = memory.segment();
        }

        /**
         * Returns the number of this buffer in its pool. The number never changes.
         *
         * @return the number, from 0
         */
        public int index() {
            return index;
        }

        /**
         * Returns the registered memory, for work requests.
         *
         * @return the registered memory
         */
        public LocalMemory memory() {
            return memory;
        }

        /**
         * Returns the memory itself, for reading and writing.
         *
         * @return a segment over the memory
         */
        public MemorySegment segment() {
            return segment;
        }

        /**
         * Gives this buffer back to its pool. Wait for the completion of the work that names the buffer first. Closing
         * a buffer that is not taken does nothing. After this call another thread may take the same buffer: do not use
         * this object again.
         */
        @Override
        public void close() {
            pool.giveBack(this);
        }

        /** Returns for example {@code buffer 5 of 64}. */
        @Override
        public String toString() {
            return "buffer " + index + " of " + pool.size();
        }
    }
}
