package dev.verbena.verbs;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Checks;
import dev.verbena.internal.Mutex;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A cache of the registrations of memory that comes from elsewhere, such as the segments of a library's callers. The
 * cache registers a segment once, and finds the registration again for the segment and for any part of it.
 *
 * {@snippet file="MemorySnippets.java" region="cache"}
 *
 * <p>The cache tells segments apart by address, by arena and by the right to write. So a read-only segment has a
 * registration of its own, and memory that was freed and allocated again is registered again.
 *
 * <p>Registrations in use stay. When the cache is full, it closes the registration that was unused for the longest
 * time. Registered memory can't be freed: an arena refuses to close while its memory is in the cache, until {@link
 * #forget} was called for it. The cache's own arena closes the registrations first.
 *
 * <p>All threads that can use the protection domain can use the cache.
 */
public final class RegistrationCache {
    private final ProtectionDomain domain;
    private final VerbsArena arena;
    private final List<AccessFlag> access;
    private final int max;
    private final Mutex lock = new Mutex();
    /** Ordered by address. */
    private final List<Entry> entries = new ArrayList<>();

    private long clock;

    private RegistrationCache(ProtectionDomain domain, int max, Collection<AccessFlag> access, VerbsArena arena) {
        this.domain = Objects.requireNonNull(domain, "domain");
        this.max = max;
        this.arena = Objects.requireNonNull(arena, "arena");
        this.access = List.copyOf(access);
    }

    /**
     * Returns an empty cache whose registrations the domain's arena closes.
     *
     * @param domain the protection domain that registers the memory
     * @param max the largest number of registrations to keep
     * @param access the rights of the adapter and of peers
     * @return an empty cache
     * @throws IllegalArgumentException if the number is less than 1
     */
    public static RegistrationCache of(ProtectionDomain domain, int max, AccessFlag... access) {
        return of(domain, max, List.of(access), domain.arena());
    }

    /**
     * Returns an empty cache.
     *
     * @param domain the protection domain that registers the memory
     * @param max the largest number of registrations to keep
     * @param access the rights of the adapter and of peers
     * @param arena the arena that closes the registrations
     * @return an empty cache
     * @throws IllegalArgumentException if the number is less than 1
     */
    public static RegistrationCache of(
            ProtectionDomain domain, int max, Collection<AccessFlag> access, VerbsArena arena) {
        Checks.checkAtLeast("number of registrations to keep", max, 1);
        return new RegistrationCache(domain, max, access, arena);
    }

    /**
     * Finds the registration that covers a segment, or registers the segment.
     *
     * @param segment native memory that may be registered: see {@link ProtectionDomain#register}
     * @return the registration, in use until {@link Use#close}
     * @throws NoSuchElementException if the cache is full and all registrations are in use
     * @throws IllegalArgumentException if the segment can't be registered
     * @throws IllegalStateException if the protection domain is closed, or the memory was freed
     * @throws WrongThreadException if the protection domain or the segment is confined to another thread
     * @throws dev.verbena.VerbsException if the memory can't be pinned
     */
    public Use use(MemorySegment segment) {
        domain.context(); // throws if the domain is closed, or confined to another thread
        checkUsable(segment);
        try (var _ = lock.held()) {
            Entry entry = find(segment);
            if (entry == null) {
                entry = add(segment);
            }
            Use use = new Use(this, entry);
            entry.users++;
            entry.last = ++clock;
            return use;
        }
    }

    /** Checks a segment before the cache looks for it: its address may belong to other memory by now. */
    private static void checkUsable(MemorySegment segment) {
        if (!segment.scope().isAlive()) {
            throw new IllegalStateException("the memory of " + segment + " was freed: its arena is closed");
        }
        if (!segment.isAccessibleBy(Thread.currentThread())) {
            throw new WrongThreadException(segment + " is confined to another thread than '"
                    + Thread.currentThread().getName() + "'. Allocate in a shared arena for many threads");
        }
    }

    private void end(Use use) {
        try (var _ = lock.held()) {
            if (!use.closed) {
                use.closed = true;
                use.entry.users--;
            }
        }
    }

    /**
     * Closes the registrations that share memory with a segment. The segment can be freed after this call.
     *
     * @param segment any segment
     * @throws IllegalStateException if one of the registrations is in use; then none is closed
     */
    public void forget(MemorySegment segment) {
        Objects.requireNonNull(segment, "segment");
        try (var _ = lock.held()) {
            dropClosed();
            for (Entry entry : entries) {
                if (entry.overlaps(segment) && entry.users > 0) {
                    throw new IllegalStateException(entry.region + " is in use: wait until the work that names it "
                            + "has completed, and close the use");
                }
            }
            for (int i = entries.size(); --i >= 0; ) {
                if (entries.get(i).overlaps(segment)) {
                    remove(i);
                }
            }
        }
    }

    /**
     * Returns the number of open registrations in the cache.
     *
     * @return the number of registrations
     */
    public int size() {
        try (var _ = lock.held()) {
            dropClosed();
            return entries.size();
        }
    }

    private @Nullable Entry find(MemorySegment segment) {
        for (int at = indexOf(segment.address()); at >= 0; at--) { // most often the first
            Entry entry = entries.get(at);
            if (entry.contains(segment) && entry.hasRightsOf(segment) && entry.region.isOpen()) {
                return entry;
            }
        }
        return null;
    }

    /** Returns the index of the last entry that begins at an address or before it; -1 if there is none. */
    private int indexOf(long address) {
        int low = 0;
        int high = entries.size() - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            if (entries.get(middle).start <= address) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return high;
    }

    /** Registers a segment. Closes the unused entries within the segment, which the new entry replaces. */
    private Entry add(MemorySegment segment) {
        dropClosed();
        for (int i = entries.size(); --i >= 0; ) {
            Entry entry = entries.get(i);
            if (entry.isWithin(segment) && entry.hasRightsOf(segment) && entry.users == 0) {
                remove(i);
            }
        }
        if (entries.size() == max) {
            remove(oldestUnused());
        }
        Entry entry = new Entry(domain.register(segment, access, arena));
        entries.add(indexOf(entry.start) + 1, entry);
        return entry;
    }

    private int oldestUnused() {
        int oldest = -1;
        for (int i = 0; i < entries.size(); i++) {
            Entry entry = entries.get(i);
            if (entry.users == 0 && (oldest < 0 || entry.last < entries.get(oldest).last)) {
                oldest = i;
            }
        }
        if (oldest < 0) {
            throw new NoSuchElementException("all " + entries.size()
                    + " registrations of the cache are in use: close some uses first, or make a larger cache");
        }
        return oldest;
    }

    private void remove(int at) {
        entries.get(at).region.close();
        entries.remove(at);
    }

    /** Removes the entries whose region somebody else has closed, such as the arena. */
    private void dropClosed() {
        entries.removeIf(entry -> !entry.region.isOpen());
    }

    /** Returns for example {@code cache of 3 registrations (of 128)}. */
    @Override
    public String toString() {
        return "cache of " + size() + " registrations (of " + max + ")";
    }

    /** A registration and the number of its uses. */
    private static final class Entry {
        private final MemoryRegion region;
        private final MemorySegment memory;
        private final long start;
        private final long end;
        /** Guarded by the cache's lock, as is the next. */
        private int users;

        private long last;

        private Entry(MemoryRegion region) {
            this.region = region;
            this.memory = region.segment();
            this.start = memory.address();
            this.end = start + region.length();
        }

        private boolean contains(MemorySegment segment) {
            return start <= segment.address() && segment.address() + segment.byteSize() <= end && isSameMemory(segment);
        }

        private boolean isWithin(MemorySegment segment) {
            return segment.address() <= start && end <= segment.address() + segment.byteSize() && isSameMemory(segment);
        }

        /** Returns true if a segment is of the same arena: an address can belong to one arena after the other. */
        private boolean isSameMemory(MemorySegment segment) {
            return segment.isNative() && memory.scope().equals(segment.scope());
        }

        /** Returns true if either both this memory and a segment can be written, or none of them. */
        private boolean hasRightsOf(MemorySegment segment) {
            return memory.isReadOnly() == segment.isReadOnly();
        }

        private boolean overlaps(MemorySegment segment) {
            return segment.isNative() && start < segment.address() + segment.byteSize() && segment.address() < end;
        }
    }

    /**
     * A use of a registration in a {@link RegistrationCache}. The registration stays in the cache until {@link #close}.
     * All threads that can use the cache can use this object.
     */
    public static final class Use implements AutoCloseable {
        private final RegistrationCache cache;
        private final Entry entry;
        private final MemoryRegion region;
        /** Written under the cache's lock. */
        private volatile boolean closed;

        private Use(RegistrationCache cache, Entry entry) {
            this.cache = cache;
            this.entry = entry;
            this.region = entry.region;
        }

        /**
         * Returns the registered memory of a segment, for work requests. This allocates nothing if the segment was
         * registered as a whole.
         *
         * @param segment the segment of {@link RegistrationCache#use}, or a part of it
         * @return the registered memory
         * @throws IndexOutOfBoundsException if the segment is not within this registration
         * @throws IllegalArgumentException if the segment is read-only and the registered memory is not, or the reverse
         * @throws IllegalStateException if this use or the registration is closed
         */
        public LocalMemory memory(MemorySegment segment) {
            if (closed) {
                throw new IllegalStateException("this use of " + region + " is closed");
            }
            region.address(); // throws if the region is closed, or confined to another thread
            if (!entry.contains(segment)) {
                throw new IndexOutOfBoundsException(segment + " is not within " + region);
            }
            if (!entry.hasRightsOf(segment)) {
                throw new IllegalArgumentException(segment + (segment.isReadOnly() ? " is" : " is not")
                        + " read-only, unlike the registered memory: call use() with this segment");
            }
            boolean whole = segment.address() == entry.start && segment.byteSize() == entry.end - entry.start;
            return whole ? region : region.slice(segment.address() - entry.start, segment.byteSize());
        }

        /**
         * Returns the memory region of the registration. The cache closes the region, not the caller.
         *
         * @return the memory region
         */
        public MemoryRegion region() {
            return region;
        }

        /**
         * Ends this use. Wait for the completion of the work that names the memory first. Closing a use twice does
         * nothing.
         */
        @Override
        public void close() {
            cache.end(this);
        }

        /** Returns for example {@code use of memory region of 4 KiB at 0x7f0010}, with keys and rights. */
        @Override
        public String toString() {
            return "use of " + region;
        }
    }
}
