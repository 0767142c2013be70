package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * A set of descriptors whose events the kernel collects ({@code epoll}). Each has a key that its events are found by.
 *
 * <p>One thread takes events at a time, and one thread changes the set at a time.
 */
public final class Epoll {
    /** {@code EPOLLIN}. */
    public static final int READABLE = 1;

    /** {@code EPOLLONESHOT}: no event after the next one, until {@link #change} asks for one. */
    public static final int ONCE = 1 << 30;

    /** {@code EPOLLET}: an event each time that something comes, and not for as long as it is there. */
    public static final int EDGES = 1 << 31;

    private static final int CLOSE_ON_EXEC = 0x80000;
    private static final int ADD = 1;
    private static final int REMOVE = 2;
    private static final int CHANGE = 3;

    /** True if {@code struct epoll_event} is packed, as on x86-64 only. It has 32 bits of events and 64 of user data. */
    private static final boolean PACKED = List.of("amd64", "x86_64").contains(System.getProperty("os.arch"));

    private static final long SIZE = PACKED ? 12 : 16;
    private static final long KEY = PACKED ? 4 : 8;
    private static final int MOST = 64;

    private final MemorySegment change = Arena.ofAuto().allocate(SIZE, Long.BYTES);
    private final MemorySegment found = Arena.ofAuto().allocate(SIZE * MOST, Long.BYTES);
    private final int descriptor;

    /**
     * Makes an empty set.
     *
     * @throws SystemCallException if no descriptor can be opened
     */
    public Epoll() {
        descriptor = SystemCall.EPOLL_CREATE.call(CLOSE_ON_EXEC, 0, 0, 0);
    }

    /** Returns the descriptor of this set, which is readable while there are events to take. */
    public int descriptor() {
        return descriptor;
    }

    /**
     * Adds a descriptor, whose events count from before this call.
     *
     * @throws SystemCallException if {@code epoll} refuses the descriptor
     */
    public void add(int added, int events, long key) {
        control(ADD, added, events, key);
    }

    /** Sets the events of a descriptor anew. One that is there already is reported again. */
    public void change(int changed, int events, long key) {
        control(CHANGE, changed, events, key);
    }

    /** Removes a descriptor, which must still be open. */
    public void remove(int removed) {
        control(REMOVE, removed, 0, 0);
    }

    private void control(int operation, int which, int events, long key) {
        change.set(ValueLayout.JAVA_INT, 0, events);
        change.set(ValueLayout.JAVA_LONG_UNALIGNED, KEY, key);
        SystemCall.EPOLL_CTL.call(descriptor, operation, which, change.address());
    }

    /** Takes events, and waits for the first one. Returns their number. A negative time is no limit. */
    public int take(int milliseconds) {
        return SystemCall.EPOLL_WAIT.call(descriptor, found.address(), MOST, milliseconds);
    }

    /** Returns whether there may be more events than a call of {@link #take} has returned. */
    public static boolean isFull(int taken) {
        return taken == MOST;
    }

    /** Returns the key of an event that the last {@link #take} has found. */
    public long key(int index) {
        return found.get(ValueLayout.JAVA_LONG_UNALIGNED, index * SIZE + KEY);
    }

    /** Closes the set. No thread waits for it any more. */
    public void close() {
        SystemCall.close(descriptor);
    }
}
