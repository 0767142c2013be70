package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** An array of {@code struct pollfd}, for {@code ppoll} and {@code rpoll}. */
public final class PollSet {
    /** {@code POLLIN}. */
    public static final int IN = 1;

    /** A descriptor that has no events. */
    static final int NONE = -1;

    /** {@code POLLOUT}. */
    public static final int OUT = 4;

    /** {@code POLLHUP}. */
    public static final int ENDED = 16;

    /** {@code POLLERR} and {@code POLLNVAL}. */
    public static final int BROKEN = 8 | 32;

    /** An end or a failure. */
    public static final int FAILED = BROKEN | ENDED;

    private static final long SIZE = 8;
    private static final long EVENTS = 4;
    private static final long REPORTED = 6;
    private static final long TIME = 16; // a struct timespec behind the entries
    private static final long SECOND = 1_000_000_000;

    private MemorySegment entries;
    private int capacity;

    /** Makes an array that grows: see {@link #ensure}. */
    public PollSet(int capacity) {
        this(capacity, Arena.ofAuto());
    }

    /** Makes an array whose memory is of an arena. */
    public PollSet(int capacity, Arena arena) {
        this.capacity = capacity;
        this.entries = arena.allocate(capacity * SIZE + TIME, SIZE);
    }

    /** Sets an entry, for which there must be room. */
    public void set(int index, int descriptor, int events) {
        entries.set(ValueLayout.JAVA_INT, index * SIZE, descriptor);
        entries.set(ValueLayout.JAVA_SHORT, index * SIZE + EVENTS, (short) events);
        entries.set(ValueLayout.JAVA_SHORT, index * SIZE + REPORTED, (short) 0);
    }

    /** Makes room for a number of entries, and forgets those that were set. */
    public void ensure(int size) {
        if (size > capacity) {
            int larger = Math.max(size, 2 * capacity);
            entries = Arena.ofAuto().allocate(larger * SIZE + TIME, SIZE);
            capacity = larger;
        }
    }

    /** Returns the events that the last poll reported for an entry. */
    public int reported(int index) {
        return entries.get(ValueLayout.JAVA_SHORT, index * SIZE + REPORTED);
    }

    /** Returns the address of the first entry, which C fills with events. {@link #ensure} changes it. */
    public long address() {
        return entries.address();
    }

    /**
     * Waits until a descriptor has an event, the time is over, or a signal arrives ({@code ppoll}). Returns the number of
     * entries with events, 0 after a signal.
     */
    int poll(int size, long nanoseconds) {
        long at = capacity * SIZE;
        entries.set(ValueLayout.JAVA_LONG, at, nanoseconds / SECOND);
        entries.set(ValueLayout.JAVA_LONG, at + Long.BYTES, nanoseconds % SECOND);
        int count = SystemCall.PPOLL.quietly(entries.address(), size, entries.address() + at, 0);
        if (count < 0) {
            entries.asSlice(at, TIME).fill((byte) 0);
            SystemCall.PPOLL.call(entries.address(), size, entries.address() + at, 0); // throws, unless it was a signal
            return 0;
        }
        return count;
    }
}
