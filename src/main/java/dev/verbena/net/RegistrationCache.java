package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the registrations of memory that comes from elsewhere, such as the segments of a library's callers: what was
 * registered once is found again, and so is any part of it.
 *
 * <pre>{@code
 * RegistrationCache cache = RegistrationCache.of(domain, 128, AccessFlag.LOCAL_WRITE);
 * RegistrationCache.Use use = cache.use(segment);      // registers it, or finds it
 * qp.postSend(1, use.memory(segment));
 * ...                                                  // once the send has completed:
 * use.end();
 * }</pre>
 *
 * <p>What is in use stays; of the rest, that which was not used for longest goes when there are too many. Registered
 * memory can't be freed: an arena whose memory is here refuses to close until {@link #forget} was called for it, unless
 * it is the cache's own arena, which closes the registrations first.
 *
 * <p>A cache may be used by all threads that may use its protection domain.
 */
public final class RegistrationCache {
    private final ProtectionDomain domain;
    private final VerbsArena arena;
    private final List<AccessFlag> access;
    private final int most;
    private final ReentrantLock lock = new ReentrantLock();
    /** In the order of their addresses. */
    private Use[] uses = new Use[16];

    private int count;
    private long clock;

    private RegistrationCache(ProtectionDomain domain, int most, VerbsArena arena, List<AccessFlag> access) {
        this.domain = domain;
        this.most = most;
        this.arena = arena;
        this.access = access;
    }

    /**
     * A cache whose registrations the domain's arena closes.
     *
     * @param domain where memory is registered
     * @param most how many registrations are kept
     * @param access what the adapter and peers may do with the memory
     * @return an empty cache
     * @throws IllegalArgumentException if it may keep none
     */
    public static RegistrationCache of(ProtectionDomain domain, int most, AccessFlag... access) {
        return of(domain, most, domain.arena(), access);
    }

    /**
     * A cache.
     *
     * @param domain where memory is registered
     * @param most how many registrations are kept
     * @param arena what closes the registrations
     * @param access what the adapter and peers may do with the memory
     * @return an empty cache
     * @throws IllegalArgumentException if it may keep none
     */
    public static RegistrationCache of(ProtectionDomain domain, int most, VerbsArena arena, AccessFlag... access) {
        if (most < 1) {
            throw new IllegalArgumentException("A cache keeps at least one registration, not " + most);
        }
        return new RegistrationCache(domain, most, arena, List.of(access));
    }

    /**
     * Finds the registration that a segment is within, or registers the segment.
     *
     * @param segment native memory that may be registered: see {@link ProtectionDomain#register}
     * @return the registration, in use until {@link Use#end}
     * @throws NoSuchElementException if there is no room, as all that are kept are in use
     * @throws IllegalArgumentException if the segment can't be registered
     * @throws IllegalStateException if the protection domain is closed
     * @throws dev.verbena.VerbsException if the memory can't be pinned
     */
    public Use use(MemorySegment segment) {
        domain.context(); // refuses where the domain is closed, or another thread's
        lock.lock();
        try {
            Use use = find(segment);
            if (use == null) {
                use = add(segment);
            }
            use.users++;
            use.last = ++clock;
            return use;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Closes the registrations that a segment shares memory with: after this it can be freed.
     *
     * @param segment any segment
     * @throws IllegalStateException if one of them is in use; then none is closed
     */
    public void forget(MemorySegment segment) {
        lock.lock();
        try {
            for (int i = 0; i < count; i++) {
                if (uses[i].overlaps(segment) && uses[i].users > 0) {
                    throw new IllegalStateException(uses[i] + " is in use: wait until the work that names it has "
                            + "completed, and end the use");
                }
            }
            for (int i = count; --i >= 0; ) {
                if (uses[i].overlaps(segment)) {
                    remove(i);
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * How many registrations are kept.
     *
     * @return the count, of those that are still open
     */
    public int size() {
        lock.lock();
        try {
            dropClosed();
            return count;
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Use find(MemorySegment segment) {
        for (int at = indexOf(segment.address()); at >= 0; at--) { // most often the first
            if (uses[at].contains(segment) && uses[at].region.isOpen()) {
                return uses[at];
            }
        }
        return null;
    }

    /** The last that begins at an address or before it; -1 if there is none. */
    private int indexOf(long address) {
        int low = 0;
        int high = count - 1;
        while (low <= high) {
            int middle = low + high >>> 1;
            if (uses[middle].start <= address) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return high;
    }

    /** Whatever the segment covers and nobody uses goes: this registration will serve for it. */
    private Use add(MemorySegment segment) {
        dropClosed();
        for (int i = count; --i >= 0; ) {
            if (uses[i].isWithin(segment) && uses[i].users == 0) {
                remove(i);
            }
        }
        if (count == most) {
            remove(oldestUnused());
        }
        Use use = new Use(this, domain.register(segment, access, arena));
        if (count == uses.length) {
            uses = Arrays.copyOf(uses, Math.min(most, 2 * count));
        }
        int at = indexOf(use.start) + 1;
        System.arraycopy(uses, at, uses, at + 1, count - at);
        uses[at] = use;
        count++;
        return use;
    }

    private int oldestUnused() {
        int oldest = -1;
        for (int i = 0; i < count; i++) {
            if (uses[i].users == 0 && (oldest < 0 || uses[i].last < uses[oldest].last)) {
                oldest = i;
            }
        }
        if (oldest < 0) {
            throw new NoSuchElementException("All " + count
                    + " registrations that may be kept are in use: end some, or " + "let the cache keep more");
        }
        return oldest;
    }

    private void remove(int at) {
        uses[at].region.close();
        takeOut(at);
    }

    /** Their arena, or somebody else, has closed them. */
    private void dropClosed() {
        for (int i = count; --i >= 0; ) {
            if (!uses[i].region.isOpen()) {
                takeOut(i);
            }
        }
    }

    private void takeOut(int at) {
        count--;
        System.arraycopy(uses, at + 1, uses, at, count - at);
    }

    /** For example {@code cache of 3 registrations (of 128)}. */
    @Override
    public String toString() {
        return "cache of " + size() + " registrations (of " + most + ")";
    }

    /** A registration that is kept for those who use it. */
    public static final class Use {
        private final RegistrationCache cache;
        private final MemoryRegion region;
        private final long start;
        private final long end;
        /** Guarded by the cache's lock, as is the next. */
        private int users;

        private long last;

        private Use(RegistrationCache cache, MemoryRegion region) {
            this.cache = cache;
            this.region = region;
            this.start = region.segment().address();
            this.end = start + region.length();
        }

        private boolean contains(MemorySegment segment) {
            return segment.isNative() && start <= segment.address() && segment.address() + segment.byteSize() <= end;
        }

        private boolean isWithin(MemorySegment segment) {
            return segment.address() <= start && end <= segment.address() + segment.byteSize();
        }

        private boolean overlaps(MemorySegment segment) {
            return segment.isNative() && start < segment.address() + segment.byteSize() && segment.address() < end;
        }

        /**
         * What work requests name for a segment. For one that was registered whole this allocates nothing.
         *
         * @param segment the segment that was asked for, or a part of it
         * @return the registered memory
         * @throws IndexOutOfBoundsException if the segment is not within this registration
         * @throws IllegalStateException if the registration is closed
         */
        public LocalMemory memory(MemorySegment segment) {
            region.address(); // refuses where it is closed, or another thread's
            if (!contains(segment)) {
                throw new IndexOutOfBoundsException(segment + " is not within " + region);
            }
            boolean whole = segment.address() == start && segment.byteSize() == end - start;
            return whole ? region : region.slice(segment.address() - start, segment.byteSize());
        }

        /**
         * The registration itself.
         *
         * @return the memory region; it is not the caller's to close
         */
        public MemoryRegion region() {
            return region;
        }

        /**
         * Ends this use: once for each {@link RegistrationCache#use}, when the work that names the memory has completed.
         *
         * @throws IllegalStateException if all uses have ended
         */
        public void end() {
            cache.lock.lock();
            try {
                if (users == 0) {
                    throw new IllegalStateException(this + " is not in use: was its use ended twice?");
                }
                users--;
            } finally {
                cache.lock.unlock();
            }
        }

        /** The region. */
        @Override
        public String toString() {
            return region.toString();
        }
    }
}
