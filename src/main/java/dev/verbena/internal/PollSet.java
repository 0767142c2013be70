package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * An array of {@code struct pollfd}, for {@code poll} and {@code rpoll}.
 *
 * <p>A set of rsockets never passes a timeout but 0 and "for ever" to {@code rpoll}. In rdma-core 44, each {@code rpoll} whose timeout ends
 * leaves a count behind, after which all waits of the process spin. A {@code timerfd} in the set does the same job.
 */
public final class PollSet {
    /** {@code POLLIN}. */
    public static final int IN = 1;

    /** {@code POLLOUT}. */
    public static final int OUT = 4;

    /** {@code POLLERR}, {@code POLLHUP} and {@code POLLNVAL}. */
    public static final int FAILED = 8 | 16 | 32;

    private static final long SIZE = 8;
    private static final long EVENTS = 4;
    private static final long REPORTED = 6;
    private static final int FOR_EVER = -1;

    private MemorySegment entries;
    private int capacity;

    /** Returns the events that an rsocket has now. */
    public static int look(int socket, int events) {
        try (Arena scratch = Arena.ofConfined()) {
            PollSet set = new PollSet(1, scratch);
            set.set(0, socket, events);
            set.pollSockets(1, false);
            return set.reported(0);
        }
    }

    public PollSet(int capacity) {
        this(capacity, Arena.ofAuto());
    }

    private PollSet(int capacity, Arena arena) {
        this.capacity = capacity;
        this.entries = arena.allocate(capacity * SIZE, SIZE);
    }

    /** Sets an entry, for which there must be room. */
    public void set(int index, int descriptor, int events) {
        entries.set(ValueLayout.JAVA_INT, index * SIZE, descriptor);
        entries.set(ValueLayout.JAVA_SHORT, index * SIZE + EVENTS, (short) events);
        entries.set(ValueLayout.JAVA_SHORT, index * SIZE + REPORTED, (short) 0);
    }

    /** Copies an entry over another, with its reported events. */
    public void move(int from, int to) {
        MemorySegment.copy(entries, from * SIZE, entries, to * SIZE, SIZE);
    }

    /** Makes room for a number of entries. */
    public void ensure(int size) {
        if (size > capacity) {
            int larger = Math.max(size, 2 * capacity);
            MemorySegment grown = Arena.ofAuto().allocate(larger * SIZE, SIZE);
            grown.copyFrom(entries);
            entries = grown;
            capacity = larger;
        }
    }

    /** Returns the events that the last poll reported for an entry. */
    public int reported(int index) {
        return entries.get(ValueLayout.JAVA_SHORT, index * SIZE + REPORTED);
    }

    /** Waits until an rsocket has an event, or looks once ({@code rpoll}). Returns the number of entries with events. */
    public int pollSockets(int size, boolean wait) {
        int count = (int) Rsocket.POLL.call(entries.address(), size, wait ? FOR_EVER : 0);
        if (count < 0) {
            int errno = CFunction.errno();
            if (errno != Errno.EINTR && errno != Errno.EAGAIN) {
                throw new IllegalStateException("rpoll of " + size + " descriptors: " + Errno.describe(errno));
            }
            return 0;
        }
        return count;
    }

    /**
     * Waits until a descriptor has an event, the time is over, or a signal arrives ({@code poll}). Returns the number of
     * entries with events, 0 after a signal.
     */
    int poll(int size, int milliseconds) {
        int count = SystemCall.POLL.quietly(entries.address(), size, milliseconds, 0);
        if (count < 0) {
            SystemCall.POLL.call(entries.address(), size, 0); // throws, unless it was a signal
            return 0;
        }
        return count;
    }
}
