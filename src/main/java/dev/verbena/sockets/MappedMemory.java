package dev.verbena.sockets;

import dev.verbena.VerbsArena;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Checks;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.lifetime.ObjectLifetime;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a channel that its peer writes to, and what is known of the peer's.
 *
 * <p>{@code rclose} loops for ever if memory is mapped. So {@link #endAll} unmaps all of it first. The lock makes sure that
 * no thread unmaps after that: the descriptor may belong to another socket by then.
 *
 * <p>All threads may use it at once, but only one places bytes at a time.
 */
final class MappedMemory {
    /** The result of {@link #place} if the send queue is full, or the peer has no room for more. */
    static final int UNAVAILABLE = -2;

    /** C describes a mapping to the peer with a length of 32 bits. */
    private static final long LONGEST = 0xffff_ffffL;

    private static final int CAN_WRITE = 2;

    /** The most bytes of one call into C. */
    private static final long AT_ONCE = 1 << 20;

    private final SocketDescriptor descriptor;
    private final Mutex lock = new Mutex();
    private final List<MappedSegment> segments = new ArrayList<>();
    private @Nullable VerbsArena own;
    private boolean ended;
    private boolean broken;

    /** The peer's offsets that were written to without a gap, so that they are in one mapping. */
    private long knownStart;

    private long knownEnd;

    private volatile boolean placing;

    MappedMemory(SocketDescriptor descriptor) {
        this.descriptor = descriptor;
    }

    /** Returns the arena of segments for which the caller names none. The end of the channel closes it. */
    VerbsArena arena() {
        try (var _ = lock.held()) {
            VerbsArena known = own;
            if (known == null) {
                own = known = VerbsArena.ofShared();
            }
            return known;
        }
    }

    static void check(MemorySegment segment, long offset) {
        Checks.checkRange("length of the segment", segment.byteSize(), 1, LONGEST);
        Checks.checkRange("offset", offset, Long.MAX_VALUE - segment.byteSize());
        if (segment.isReadOnly()) {
            throw new IllegalArgumentException("The peer can't write to a read-only segment");
        }
    }

    /**
     * Maps memory. The caller has the channel's lock for writing, uses the descriptor, and has seen that there is room in
     * the send queue.
     */
    MappedSegment map(RdmaSocketChannel channel, MemorySegment segment, long offset, VerbsArena arena)
            throws IOException {
        try {
            return ObjectLifetime.createOver(arena, segment, lifetime -> {
                MappedSegment mapped = new MappedSegment(lifetime, channel, segment, offset);
                try (var _ = lock.held()) {
                    checkDistinct(mapped);
                    segments.add(mapped);
                    lifetime.destroyedBy(() -> unmap(mapped));
                    announce(mapped);
                }
                return mapped;
            });
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private void checkDistinct(MappedSegment mapped) {
        for (MappedSegment other : segments) {
            if (mapped.begin() < other.end() && other.begin() < mapped.end()) {
                throw new IllegalArgumentException("offsets from " + mapped.begin() + " to " + mapped.end()
                        + " overlap those of " + other + ": take other offsets, or close that segment");
            }
            if (mapped.memory().address() == other.memory().address()
                    && mapped.memory().byteSize() == other.memory().byteSize()) {
                // C could not tell the two mappings apart
                throw new IllegalArgumentException("the memory is mapped already: " + other);
            }
        }
    }

    /** Registers the memory, and tells the peer. */
    private void announce(MappedSegment mapped) {
        long result = Rsocket.MAP.call(
                descriptor.number(),
                mapped.memory().address(),
                mapped.memory().byteSize(),
                CAN_WRITE,
                0,
                mapped.begin());
        if (result == -1) {
            int errno = CFunction.errno();
            segments.remove(mapped);
            throw new UncheckedIOException(SocketFailures.map(mapped, errno));
        }
        // A mapping is told with the next bytes. A write of no bytes tells it at once, for there is room.
        if (Rsocket.announce(descriptor.number()) != 0) {
            broken = true;
            throw new UncheckedIOException(SocketFailures.write(CFunction.errno()));
        }
        descriptor.connected();
    }

    /**
     * Returns whether a mapping could not be told to the peer. The channel must send nothing more: if the mapping is closed,
     * rsend takes an uninitialised variable for its result.
     */
    boolean isBroken() {
        return broken;
    }

    private void unmap(MappedSegment mapped) {
        try (var _ = lock.held()) {
            if (segments.remove(mapped) && !ended) {
                end(mapped);
            }
        }
    }

    private void end(MappedSegment mapped) {
        Rsocket.UNMAP.call(
                descriptor.number(), mapped.memory().address(), mapped.memory().byteSize());
    }

    /** Unmaps all memory, for ever. The caller closes the rsocket then. */
    void endAll() {
        VerbsArena arena;
        try (var _ = lock.held()) {
            ended = true;
            segments.forEach(this::end);
            segments.clear();
            arena = own;
        }
        if (arena != null) {
            arena.close(); // the segments are closed without a call into C
        }
    }

    /** Returns whether a thread is in {@link #place}, which C may make long. */
    boolean isPlacing() {
        return placing;
    }

    /**
     * Places some of the bytes after the first ones. Returns their number, or {@link #UNAVAILABLE}.
     *
     * @param wait whether C may take events of the connection
     */
    long place(MemorySegment source, long first, long offset, boolean wait) throws IOException {
        long left = source.byteSize() - first;
        if (source.isNative()) {
            return placeNative(source.asSlice(first, Math.min(left, AT_ONCE)), offset, wait);
        }
        Buffers buffers = Buffers.take();
        try {
            MemorySegment copy = buffers.memory().asSlice(0, Math.min(left, Buffers.SIZE));
            MemorySegment.copy(source, first, copy, 0, copy.byteSize());
            return placeNative(copy, offset, wait);
        } finally {
            buffers.giveBack();
        }
    }

    /**
     * Places bytes of native memory into the peer's. Returns how many from the start were placed, or {@link #UNAVAILABLE}.
     *
     * <p>The function of C does not look whether the bytes end in the mapping that they start in. If they do not, it posts
     * empty writes until the send queue is full, and goes on with that while there is room. So a byte near the end of an
     * unknown range goes first: C refuses it if nothing is mapped there. The last byte goes last, because peers may wait for
     * it.
     */
    private long placeNative(MemorySegment from, long offset, boolean wait) throws IOException {
        placing = true;
        try {
            long length = from.byteSize();
            if (length == 1 || (offset >= knownStart && offset + length <= knownEnd)) {
                return placeOnce(from, offset, wait);
            }
            long probe = length == 2 ? 0 : length - 2;
            long count = placeOnce(from.asSlice(probe, 1), offset + probe, wait);
            if (count == UNAVAILABLE) {
                return count;
            }
            count = placeOnce(from.asSlice(0, length - 1), offset, wait);
            if (count < length - 1) {
                return count;
            }
            long last = placeOnce(from.asSlice(length - 1, 1), offset + length - 1, wait);
            if (last == UNAVAILABLE) {
                return count;
            }
            return count + last;
        } finally {
            placing = false;
        }
    }

    private long placeOnce(MemorySegment from, long offset, boolean wait) throws IOException {
        long count;
        do {
            count = Rsocket.place(descriptor.number(), from, from.byteSize(), offset, wait);
        } while (count == -Errno.EINTR);
        if (count == -Errno.EAGAIN) {
            return UNAVAILABLE;
        }
        if (count < 0) {
            throw SocketFailures.write((int) -count);
        }
        if (count == 0) {
            throw new IndexOutOfBoundsException("the peer has mapped nothing at offset " + offset);
        }
        descriptor.connected();
        know(offset, offset + count);
        return count;
    }

    private void know(long start, long end) {
        if (start >= knownStart && end <= knownEnd) {
            return;
        }
        boolean adjacent = start <= knownEnd && end >= knownStart;
        knownStart = adjacent ? Math.min(start, knownStart) : start;
        knownEnd = adjacent ? Math.max(end, knownEnd) : end;
    }
}
