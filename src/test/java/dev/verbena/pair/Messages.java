package dev.verbena.pair;

import dev.verbena.cm.Connection;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Buffers for numbered messages, each of which has several packets, and whose bytes tell the number. */
final class Messages {
    static final int SIZE = 4000;
    static final int COUNT = 32;

    private static final int ROOM = 4096;

    private final MemoryRegion region;

    Messages(Connection connection) {
        region = connection.register(connection.id().arena().allocate(ROOM * COUNT, ROOM), AccessFlag.LOCAL_WRITE);
    }

    /** Returns the buffer of a message. */
    LocalMemory slice(long number) {
        return region.slice(number % COUNT * ROOM, SIZE);
    }

    private MemorySegment segment(long number) {
        return region.segment().asSlice(number % COUNT * ROOM, SIZE);
    }

    private static int word(long number, long offset) {
        return (int) (number * 0x9e3779b1L + offset);
    }

    LocalMemory write(long number) {
        MemorySegment message = segment(number);
        for (long i = 0; i < SIZE; i += Integer.BYTES) {
            message.set(ValueLayout.JAVA_INT, i, word(number, i));
        }
        return slice(number);
    }

    /** Returns true if the buffer contains the message with this number. */
    boolean isWhole(long number) {
        MemorySegment message = segment(number);
        for (long i = 0; i < SIZE; i += Integer.BYTES) {
            if (message.get(ValueLayout.JAVA_INT, i) != word(number, i)) {
                return false;
            }
        }
        return true;
    }
}
