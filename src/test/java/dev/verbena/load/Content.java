package dev.verbena.load;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;

/** The bytes of numbered messages: each number has its own length and its own bytes. */
final class Content {
    private static final int SPREAD = 1 << 16;
    private static final MemorySegment BYTES = random(2 * SPREAD);

    private Content() {}

    private static MemorySegment random(int length) {
        byte[] bytes = new byte[length];
        new SplittableRandom(12).nextBytes(bytes);
        return MemorySegment.ofArray(bytes);
    }

    private static long mixed(long number) {
        return (number + 1) * 0x9e3779b97f4a7c15L >>> 20;
    }

    /** Returns the length of a message, from 8 bytes to {@code max}. */
    static long length(long number, int max) {
        return Long.BYTES + mixed(number) % (max - Long.BYTES + 1);
    }

    /** Writes a message of the segment's length. */
    static void write(MemorySegment message, long number) {
        MemorySegment.copy(BYTES, mixed(number) % SPREAD, message, 0, message.byteSize());
        message.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, number);
    }

    /** Returns the number that a message begins with. */
    static long number(MemorySegment message) {
        return message.get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
    }

    /** Returns true if the segment contains the message with this number. */
    static boolean isWhole(MemorySegment message, long number) {
        long from = mixed(number) % SPREAD;
        return number(message) == number
                && MemorySegment.mismatch(
                                BYTES,
                                from + Long.BYTES,
                                from + message.byteSize(),
                                message,
                                Long.BYTES,
                                message.byteSize())
                        < 0;
    }
}
