package dev.verbena.sockets;

import dev.verbena.internal.SystemCall;
import dev.verbena.internal.SystemCallException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A pipe that is full, so that each write to it answers {@code EAGAIN}. It can take the place of a descriptor for a while.
 *
 * <p>One thread at a time may use it.
 */
final class FullPipe implements AutoCloseable {
    private static final int CLOSE_ON_EXEC = 0x80000;
    private static final int DUPLICATE_CLOSE_ON_EXEC = 1030;
    private static final int AT_ONCE = 4_096;

    private final int readEnd;
    private final int writeEnd;

    private FullPipe(int readEnd, int writeEnd) {
        this.readEnd = readEnd;
        this.writeEnd = writeEnd;
    }

    /**
     * Opens a pipe, and fills it.
     *
     * @throws SystemCallException if no descriptor can be opened
     */
    static FullPipe open() {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment ends = scratch.allocate(ValueLayout.JAVA_INT, 2);
            MemorySegment bytes = scratch.allocate(AT_ONCE);
            SystemCall.PIPE2.call(ends.address(), CLOSE_ON_EXEC | SystemCall.NON_BLOCKING);
            int to = ends.getAtIndex(ValueLayout.JAVA_INT, 1);
            while (SystemCall.WRITE.quietly(to, bytes.address(), AT_ONCE, 0) > 0) {
                // until there is no room
            }
            return new FullPipe(ends.getAtIndex(ValueLayout.JAVA_INT, 0), to);
        }
    }

    /**
     * Takes the place of a descriptor. Returns another number of what was there.
     *
     * @throws SystemCallException if no descriptor can be opened; the place is not taken then
     */
    int replace(int descriptor) {
        int kept = SystemCall.FCNTL.call(descriptor, DUPLICATE_CLOSE_ON_EXEC, 0, 0);
        SystemCall.DUP3.call(writeEnd, descriptor, CLOSE_ON_EXEC, 0);
        return kept;
    }

    /** Gives the place back to what was there. */
    void restore(int kept, int descriptor) {
        SystemCall.DUP3.call(kept, descriptor, CLOSE_ON_EXEC, 0);
        SystemCall.close(kept);
    }

    @Override
    public void close() {
        SystemCall.close(writeEnd);
        SystemCall.close(readEnd);
    }
}
