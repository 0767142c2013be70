package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A descriptor that ends a thread's wait in C: an {@code eventfd} that other threads signal.
 *
 * <p>All threads may signal. One thread clears the signal. Neither the signal nor its end allocates.
 */
final class WakeUp {
    private static final int CLOSE_ON_EXEC_NON_BLOCKING = 02004000;

    /** The number to write, and the place to read it to. */
    private final MemorySegment memory = Arena.ofAuto().allocate(2 * Long.BYTES, Long.BYTES);

    private final Mutex lock = new Mutex();
    private final int event;
    private boolean signalled;
    private boolean closed;

    /** Opens the descriptor. */
    WakeUp() {
        memory.set(ValueLayout.JAVA_LONG, 0, 1);
        event = SystemCall.EVENTFD.call(0, CLOSE_ON_EXEC_NON_BLOCKING, 0, 0);
    }

    /** Returns the descriptor that {@link #signal} makes readable. */
    int event() {
        return event;
    }

    /** Makes the event descriptor readable. Does nothing after {@link #close}. */
    void signal() {
        try (var _ = lock.held()) {
            if (!signalled && !closed) {
                SystemCall.WRITE.call(event, memory.address(), Long.BYTES, 0);
                signalled = true;
            }
        }
    }

    /** Makes the event descriptor unreadable, and returns whether it was signalled. */
    boolean clear() {
        try (var _ = lock.held()) {
            boolean was = signalled;
            if (was && !closed) {
                SystemCall.READ.call(event, memory.address() + Long.BYTES, Long.BYTES, 0);
                signalled = false;
            }
            return was;
        }
    }

    /** Closes the descriptor. No thread may wait for it any more. */
    void close() {
        try (var _ = lock.held()) {
            if (!closed) {
                closed = true;
                SystemCall.close(event);
            }
        }
    }
}
