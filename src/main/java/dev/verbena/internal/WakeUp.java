package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A pair of descriptors that end a thread's wait in C: an {@code eventfd} that other threads signal, and a
 * {@code timerfd}. They are readable once they have been signalled or the time is over.
 *
 * <p>All threads may signal. One thread sets the timer and clears the signal. Neither the signal nor its end allocates.
 */
public final class WakeUp {
    private static final int CLOSE_ON_EXEC_NON_BLOCKING = 02004000; // the same for both kinds
    private static final int MONOTONIC = 1;
    private static final int NONE = -1;
    private static final long SECOND = 1_000_000_000;
    private static final long TIMES = 32;
    private static final long VALUE_SECONDS = 16;
    private static final long VALUE_NANOS = 24;

    private final MemorySegment memory = Arena.ofAuto().allocate(TIMES + 2 * Long.BYTES, Long.BYTES);
    private final Mutex lock = new Mutex();
    private final int event;
    private int timer = NONE;
    private boolean signalled;
    private boolean closed;

    /** Opens the descriptors. */
    public WakeUp() {
        memory.set(ValueLayout.JAVA_LONG, TIMES, 1);
        event = SystemCall.EVENTFD.call(0, CLOSE_ON_EXEC_NON_BLOCKING, 0, 0);
    }

    /** Returns the descriptor that {@link #signal} makes readable. */
    public int event() {
        return event;
    }

    /** Makes the event descriptor readable. Does nothing after {@link #close}. */
    public void signal() {
        try (var _ = lock.held()) {
            if (!signalled && !closed) {
                SystemCall.WRITE.call(event, memory.address() + TIMES, Long.BYTES, 0);
                signalled = true;
            }
        }
    }

    /** Makes the event descriptor unreadable, and returns whether it was signalled. */
    public boolean clear() {
        try (var _ = lock.held()) {
            boolean was = signalled;
            if (was && !closed) {
                SystemCall.READ.call(event, memory.address() + TIMES + Long.BYTES, Long.BYTES, 0);
                signalled = false;
            }
            return was;
        }
    }

    /** Starts the timer, and returns its descriptor, which becomes readable when the time is over. */
    public int startTimer(long nanoseconds) {
        if (timer == NONE) {
            timer = SystemCall.TIMERFD_CREATE.call(MONOTONIC, CLOSE_ON_EXEC_NON_BLOCKING);
        }
        long time = Math.max(1, nanoseconds); // 0 would stop the timer
        memory.set(ValueLayout.JAVA_LONG, VALUE_SECONDS, time / SECOND);
        memory.set(ValueLayout.JAVA_LONG, VALUE_NANOS, time % SECOND);
        SystemCall.TIMERFD_SETTIME.call(timer, 0, memory.address(), 0);
        return timer;
    }

    /** Closes the descriptors. No thread may wait for them any more. */
    public void close() {
        try (var _ = lock.held()) {
            if (!closed) {
                closed = true;
                SystemCall.close(event);
                if (timer != NONE) {
                    SystemCall.close(timer);
                }
            }
        }
    }
}
