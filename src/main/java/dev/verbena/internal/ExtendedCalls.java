package dev.verbena.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * The calls of the extended data path: {@code ibv_wr_*}, {@code ibv_start_poll} and {@code ibv_wc_read_*}, which C
 * reaches through function pointers in the queue itself.
 *
 * <p>All integers and pointers are passed as {@code long}, as in {@link CFunction}. A narrower result has undefined high
 * bits, and the caller cuts it. A call allocates nothing and does not keep {@code errno}: these functions return it.
 *
 * <p>{@code ibv_start_poll} and {@code ibv_wr_start} take a lock that is then held in Java. A second thread that spins
 * on the lock in a <em>critical</em> call would keep the virtual machine from its safepoint, while the holder may wait at
 * that very safepoint. So these two calls are critical only where there can be no second thread.
 */
public final class ExtendedCalls {
    /** Holds a handle, in a class of its own: it is linked at the first call, which takes some 10 ms. */
    private static final class One {
        static final MethodHandle HANDLE = link(1);
    }

    private static final class OneCritical {
        static final MethodHandle HANDLE = link(1, Linker.Option.critical(false));
    }

    private static final class Two {
        static final MethodHandle HANDLE = link(2);
    }

    private static final class TwoCritical {
        static final MethodHandle HANDLE = link(2, Linker.Option.critical(false));
    }

    private static final class ThreeCritical {
        static final MethodHandle HANDLE = link(3, Linker.Option.critical(false));
    }

    private static final class FourCritical {
        static final MethodHandle HANDLE = link(4, Linker.Option.critical(false));
    }

    private static final class Five {
        static final MethodHandle HANDLE = link(5);
    }

    private static final class FiveCritical {
        static final MethodHandle HANDLE = link(5, Linker.Option.critical(false));
    }

    private ExtendedCalls() {}

    /** Calls a function of the object alone. */
    public static long call(boolean critical, long function, long object) {
        try {
            return critical
                    ? (long) OneCritical.HANDLE.invokeExact(function, object)
                    : (long) One.HANDLE.invokeExact(function, object);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls a function of the object and one argument. */
    public static long call(boolean critical, long function, long object, long argument) {
        try {
            return critical
                    ? (long) TwoCritical.HANDLE.invokeExact(function, object, argument)
                    : (long) Two.HANDLE.invokeExact(function, object, argument);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls a function of the object and up to four arguments. C leaves arguments unread that the function does not take. */
    public static long call(boolean critical, long function, long object, long a, long b, long c, long d) {
        try {
            return critical
                    ? (long) FiveCritical.HANDLE.invokeExact(function, object, a, b, c, d)
                    : (long) Five.HANDLE.invokeExact(function, object, a, b, c, d);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls a function of the object alone, by a critical call. */
    public static long callCritical(long function, long object) {
        try {
            return (long) OneCritical.HANDLE.invokeExact(function, object);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls a function of the object and one argument, by a critical call. */
    public static long callCritical(long function, long object, long a) {
        try {
            return (long) TwoCritical.HANDLE.invokeExact(function, object, a);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls a function of the object and two arguments, by a critical call. */
    public static long callCritical(long function, long object, long a, long b) {
        try {
            return (long) ThreeCritical.HANDLE.invokeExact(function, object, a, b);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls a function of the object and three arguments, by a critical call. */
    public static long callCritical(long function, long object, long a, long b, long c) {
        try {
            return (long) FourCritical.HANDLE.invokeExact(function, object, a, b, c);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls {@code wr_flush}, the only function with more arguments. */
    public static void flush(
            boolean critical, long function, long queue, long key, long address, long length, long type, long level) {
        Flush.call(critical, function, queue, key, address, length, type, level);
    }

    /** Handles that are linked when first used, because few programs flush. */
    private static final class Flush {
        private static final MethodHandle SIX = link(6);
        private static final MethodHandle SIX_CRITICAL = link(6, Linker.Option.critical(false));

        private Flush() {}

        static void call(
                boolean critical,
                long function,
                long queue,
                long key,
                long address,
                long length,
                long type,
                long level) {
            try {
                long ignored = critical
                        ? (long) SIX_CRITICAL.invokeExact(function, queue, key, address, length, type, level)
                        : (long) SIX.invokeExact(function, queue, key, address, length, type, level);
            } catch (Throwable t) {
                throw CFunction.unexpected(t);
            }
        }
    }

    private static FunctionDescriptor shape(int arity) {
        ValueLayout.OfLong[] arguments = new ValueLayout.OfLong[arity];
        java.util.Arrays.fill(arguments, JAVA_LONG);
        return FunctionDescriptor.of(JAVA_LONG, arguments);
    }

    private static MethodHandle link(int arity, Linker.Option... options) {
        try {
            MethodHandle ofAddress = MethodHandles.lookup()
                    .findStatic(
                            MemorySegment.class, "ofAddress", MethodType.methodType(MemorySegment.class, long.class));
            return MethodHandles.filterArguments(
                    Linker.nativeLinker().downcallHandle(shape(arity), options), 0, ofAddress);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
