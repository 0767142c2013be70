package dev.verbena.internal;

import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The functions that read a completion with its length, of the first extended completion queue of a program. Nearly always,
 * all queues have the same. Each has a constant handle, which spares a load and a check for each call.
 *
 * <p>All calls are critical. {@link ExtendedCalls} says when they may be, and how arguments are passed.
 */
public final class FirstReaders {
    private static final AtomicReference<long @Nullable []> FIRST = new AtomicReference<>();
    private static final int START = 0;
    private static final int END = 1;
    private static final int OPCODE = 2;
    private static final int FLAGS = 3;
    private static final int LENGTH = 4;

    private FirstReaders() {}

    /**
     * Compares the functions of a queue with those of the first one, which they become if there is none yet.
     *
     * @param start {@code start_poll}
     * @param end {@code end_poll}
     * @param opcode {@code read_opcode}
     * @param flags {@code read_wc_flags}
     * @param length {@code read_byte_len}
     * @return true if they are the same, so that the methods of this class call them
     */
    public static boolean are(long start, long end, long opcode, long flags, long length) {
        long[] functions = {start, end, opcode, flags, length};
        FIRST.compareAndSet(null, functions);
        return Arrays.equals(FIRST.get(), functions);
    }

    private static MethodHandle link(int which, int arguments) {
        long[] first = FIRST.get();
        if (first == null) {
            throw new IllegalStateException("No extended completion queue has been made");
        }
        return ExtendedCalls.ofOneFunction(first[which], arguments);
    }

    private static final class Start {
        static final MethodHandle HANDLE = link(START, 2);
    }

    private static final class End {
        static final MethodHandle HANDLE = link(END, 1);
    }

    private static final class Opcode {
        static final MethodHandle HANDLE = link(OPCODE, 1);
    }

    private static final class Flags {
        static final MethodHandle HANDLE = link(FLAGS, 1);
    }

    private static final class Length {
        static final MethodHandle HANDLE = link(LENGTH, 1);
    }

    /** Calls {@code start_poll}. Returns 0 or an error number, with undefined high bits. */
    public static long start(long queue, long attributes) {
        try {
            return (long) Start.HANDLE.invokeExact(queue, attributes);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls {@code end_poll}. */
    public static void end(long queue) {
        try {
            long ignored = (long) End.HANDLE.invokeExact(queue);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls {@code read_opcode}. The high bits of the result are undefined. */
    public static long opcode(long queue) {
        try {
            return (long) Opcode.HANDLE.invokeExact(queue);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls {@code read_wc_flags}. The high bits of the result are undefined. */
    public static long flags(long queue) {
        try {
            return (long) Flags.HANDLE.invokeExact(queue);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls {@code read_byte_len}. The high bits of the result are undefined. */
    public static long length(long queue) {
        try {
            return (long) Length.HANDLE.invokeExact(queue);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }
}
