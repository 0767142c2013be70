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

    /** Tells which bytes of a message are not those of its number, and what they are. */
    static String describe(MemorySegment message, MemorySegment source, long number, long earlier) {
        long size = message.byteSize();
        long first = message.mismatch(source);
        long last = size - 1;
        while (last > first && message.get(ValueLayout.JAVA_BYTE, last) == source.get(ValueLayout.JAVA_BYTE, last)) {
            last--;
        }
        boolean old = true;
        for (long i = Math.max(first, Long.BYTES); i <= last; i++) {
            long at = mixed(earlier) % SPREAD + i;
            old &= message.get(ValueLayout.JAVA_BYTE, i) == BYTES.get(ValueLayout.JAVA_BYTE, at);
        }
        boolean zero = true;
        for (long i = first; i <= last; i++) {
            zero &= message.get(ValueLayout.JAVA_BYTE, i) == 0;
        }
        long shift = -1;
        for (long k = 0; k < size && shift < 0; k++) {
            long length = Math.min(64, size - Math.max(k, first));
            if (k != first
                    && length == 64
                    && first + 64 <= size
                    && k + 64 <= size
                    && MemorySegment.mismatch(message, first, first + 64, source, k, k + 64) < 0) {
                shift = k;
            }
        }
        return "number " + number + ", wrong from " + first + " to " + last + (old ? ", the bytes of " + earlier : "")
                + (zero ? ", zeros" : "") + (shift < 0 ? "" : ", the bytes of the message from " + shift);
    }
}
