package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;

/** Eventfds whose counter each read decrements. A read of one without an event does not block. */
final class EventDescriptor {
    private static final int SEMAPHORE_NON_BLOCKING = 04001;

    private EventDescriptor() {}

    static int make(long events) {
        return SystemCall.EVENTFD.call(events, SEMAPHORE_NON_BLOCKING);
    }

    static void raise(int descriptor) {
        try (Arena arena = Arena.ofConfined()) {
            long one = arena.allocateFrom(ValueLayout.JAVA_LONG, 1L).address();
            SystemCall.WRITE.call(descriptor, one, Long.BYTES);
        }
    }

    /** Takes an event. Returns false if there is none. */
    static boolean take(int descriptor) {
        try (Arena arena = Arena.ofConfined()) {
            SystemCall.READ.call(descriptor, arena.allocate(Long.BYTES).address(), Long.BYTES);
            return true;
        } catch (SystemCallException none) {
            assertThat(none.errno()).isEqualTo(Errno.EAGAIN);
            return false;
        }
    }
}
