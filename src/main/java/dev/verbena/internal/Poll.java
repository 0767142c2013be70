package dev.verbena.internal;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * The function {@code poll} of libc. It has a handle of its own, without a segment among the arguments: where the compiler
 * does not see through the call, it still allocates nothing.
 */
public final class Poll {
    private static final MethodHandle HANDLE = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().find("poll").orElseThrow(),
                    FunctionDescriptor.of(
                            ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));

    private Poll() {}

    /**
     * Waits until a descriptor has an event, the time is over, or a signal arrives.
     *
     * @param entries the address of an array of {@code struct pollfd}
     * @param size the number of entries
     * @param milliseconds the longest wait; -1 is no limit
     * @return the number of entries with events; -1 on failure
     */
    public static int await(long entries, long size, int milliseconds) {
        try {
            return (int) HANDLE.invokeExact(entries, size, milliseconds);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }
}
