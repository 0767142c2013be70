package dev.verbena.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * The calls of the data path: {@code static inline} functions in C, reached through a driver's function pointers.
 *
 * <p>One constant handle serves all functions of all drivers. The function's address and all arguments are passed as
 * {@code long}, which costs no liveness check: {@link CFunction} says why C takes them. The caller makes sure that the
 * memory behind them is alive.
 *
 * <p>A <em>critical</em> call does without a change of thread state, and so holds up every safepoint while it runs. It
 * suits a poll, and a post where the driver's library rings the doorbell from user space.
 */
public final class DataPathCalls {
    /** Holds the handle for all functions, in a class of its own: it is linked at the first call, which takes some 10 ms. */
    private static final class Plain {
        static final MethodHandle HANDLE = link();
    }

    private static final class Critical {
        static final MethodHandle HANDLE = link(Linker.Option.critical(false));
    }

    /** The C name of polling. */
    public static final String POLL_NAME = "ibv_poll_cq";

    /** The C name of asking for an event. */
    public static final String ASK_NAME = "ibv_req_notify_cq";

    private DataPathCalls() {}

    /** Polls ({@code int poll_cq(struct ibv_cq *, int, struct ibv_wc *)}). */
    public static int poll(boolean critical, long function, long cq, int entries, long completions) {
        try {
            return critical
                    ? (int) Critical.HANDLE.invokeExact(function, cq, (long) entries, completions)
                    : (int) Plain.HANDLE.invokeExact(function, cq, (long) entries, completions);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Polls as {@link #poll} does, by a critical call. */
    public static int pollCritical(long function, long cq, int entries, long completions) {
        try {
            return (int) Critical.HANDLE.invokeExact(function, cq, (long) entries, completions);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Asks for an event ({@code int req_notify_cq(struct ibv_cq *, int)}), which is a system call with some drivers. */
    public static int requestNotification(long function, long cq, int solicitedOnly) {
        try {
            return (int) Plain.HANDLE.invokeExact(function, cq, (long) solicitedOnly, 0L);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Posts requests ({@code int post_send(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **)} and its like). */
    public static int post(boolean critical, long function, long queue, long requests, long firstRefused) {
        try {
            return critical
                    ? (int) Critical.HANDLE.invokeExact(function, queue, requests, firstRefused)
                    : (int) Plain.HANDLE.invokeExact(function, queue, requests, firstRefused);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Posts as {@link #post} does, by a critical call. */
    public static int postCritical(long function, long queue, long requests, long firstRefused) {
        try {
            return (int) Critical.HANDLE.invokeExact(function, queue, requests, firstRefused);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    private static MethodHandle link(Linker.Option... options) {
        FunctionDescriptor shape = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
        try {
            MethodHandle ofAddress = MethodHandles.lookup()
                    .findStatic(
                            MemorySegment.class, "ofAddress", MethodType.methodType(MemorySegment.class, long.class));
            return MethodHandles.filterArguments(Linker.nativeLinker().downcallHandle(shape, options), 0, ofAddress);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
