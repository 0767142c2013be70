package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemorySlice;
import dev.verbena.verbs.ProtectionDomain;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Buffers of one size, cut from memory that is registered once. Taking and giving back allocates nothing.
 *
 * <pre>{@code
 * BufferPool pool = BufferPool.of(domain, 64, 4096, AccessFlag.LOCAL_WRITE);
 * BufferPool.Buffer buffer = pool.take();
 * qp.postReceive(buffer.index(), buffer.memory());
 * ...
 * BufferPool.Buffer arrived = pool.buffer((int) completion.id());
 * handle(arrived.segment().asSlice(0, completion.byteLength()));
 * arrived.giveBack();
 * }</pre>
 *
 * <p>A pool may be used by all threads that may use its protection domain. It ends with its region, which the arena
 * closes.
 */
public final class BufferPool {
    private static final long CACHE_LINE = 64;

    private final MemoryRegion region;
    private final Buffer[] all;
    private final ReentrantLock lock = new ReentrantLock();
    /** Those that nobody has, the one given back last on top: its memory is the most likely to be in the cache. */
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
     * Allocates and registers buffers, closed by the domain's arena.
     *
     * @param domain where they are registered
     * @param count how many
     * @param size how many bytes each holds
     * @param access what the adapter and peers may do with them
     * @return the pool, with all buffers in it
     * @throws IllegalArgumentException if there is no buffer, or no byte in one, or more than memory can be
     * @throws dev.verbena.VerbsException if the memory can't be pinned, most often because of the limit on locked memory
     */
    public static BufferPool of(ProtectionDomain domain, int count, long size, AccessFlag... access) {
        return of(domain, count, size, domain.arena(), access);
    }

    /**
     * Allocates and registers buffers.
     *
     * @param domain where they are registered
     * @param count how many
     * @param size how many bytes each holds
     * @param arena what owns their memory and closes the registration
     * @param access what the adapter and peers may do with them
     * @return the pool, with all buffers in it
     * @throws IllegalArgumentException if there is no buffer, or no byte in one, or more than memory can be
     * @throws dev.verbena.VerbsException if the memory can't be pinned, most often because of the limit on locked memory
     */
    public static BufferPool of(ProtectionDomain domain, int count, long size, VerbsArena arena, AccessFlag... access) {
        if (count < 1 || size < 1 || size > Long.MAX_VALUE / count - CACHE_LINE) {
            throw new IllegalArgumentException("A pool has at least one buffer of at least one byte, and no more than "
                    + "memory can be: " + count + " of " + size + " bytes");
        }
        long distance = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; // no two share a line
        MemorySegment memory = arena.allocate(distance * count, CACHE_LINE);
        return new BufferPool(domain.register(memory, List.of(access), arena), count, size, distance);
    }

    /**
     * Takes a buffer, the one that was given back last. What it held before is still there.
     *
     * @return a buffer that nobody else has until it is given back
     * @throws NoSuchElementException if all are taken
     * @throws IllegalStateException if the region is closed
     */
    public Buffer take() {
        region.address(); // refuses where the region is closed, or another thread's
        lock.lock();
        try {
            if (available == 0) {
                throw new NoSuchElementException("All " + all.length
                        + " buffers are taken: give some back first, or ask " + "for more when you make the pool");
            }
            Buffer buffer = free[--available];
            buffer.taken = true;
            return buffer;
        } finally {
            lock.unlock();
        }
    }

    private void giveBack(Buffer buffer) {
        lock.lock();
        try {
            if (!buffer.taken) {
                throw new IllegalStateException(buffer + " is not taken: was it given back twice?");
            }
            buffer.taken = false;
            free[available++] = buffer;
        } finally {
            lock.unlock();
        }
    }

    /**
     * A buffer by its number, taken or not: so the number of a buffer can be the id of a work request.
     *
     * @param index the number, from 0
     * @return the buffer
     * @throws IndexOutOfBoundsException if there are not so many
     */
    public Buffer buffer(int index) {
        return all[Objects.checkIndex(index, all.length)];
    }

    /**
     * How many buffers there are, taken or not.
     *
     * @return the count
     */
    public int size() {
        return all.length;
    }

    /**
     * How many buffers can be taken now.
     *
     * @return the count
     */
    public int available() {
        lock.lock();
        try {
            return available;
        } finally {
            lock.unlock();
        }
    }

    /**
     * The registration of all buffers. Closing it ends the pool.
     *
     * @return the memory region
     */
    public MemoryRegion region() {
        return region;
    }

    /** For example {@code pool of 64 buffers, 60 available, in memory region 17}. */
    @Override
    public String toString() {
        return "pool of " + all.length + " buffers, " + available() + " available, in " + region;
    }

    /** A buffer of a pool. */
    public static final class Buffer {
        private final BufferPool pool;
        private final int index;
        private final MemorySlice memory;
        private final MemorySegment segment;
        /** Guarded by the pool's lock. */
        private boolean taken;

        private Buffer(BufferPool pool, int index, MemorySlice memory) {
            this.pool = pool;
            this.index = index;
            this.memory = memory;
            this.segment = memory.segment();
        }

        /**
         * Its number in the pool: the same for ever.
         *
         * @return the number, from 0
         */
        public int index() {
            return index;
        }

        /**
         * What work requests name.
         *
         * @return the registered memory
         */
        public MemorySlice memory() {
            return memory;
        }

        /**
         * What programs read and write.
         *
         * @return the memory itself
         */
        public MemorySegment segment() {
            return segment;
        }

        /**
         * Gives it back to the pool. The adapter must be done with it: wait for the completion of what named it.
         *
         * @throws IllegalStateException if it was not taken
         */
        public void giveBack() {
            pool.giveBack(this);
        }

        /** For example {@code buffer 5 of 64}. */
        @Override
        public String toString() {
            return "buffer " + index + " of " + pool.size();
        }
    }
}
