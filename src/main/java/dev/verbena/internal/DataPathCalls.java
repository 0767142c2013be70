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
 * <p>A program most often has adapters of one driver. Its functions, those of {@link FirstDriver}, have a constant handle
 * each. All other functions of all drivers share one constant handle that takes the address as an argument. The virtual
 * machine makes a {@code MemorySegment} of the address. It costs nothing if the compiler inlines all of the call, but a deep
 * caller may get only a part of it inlined, and then allocates 40 bytes a call.
 *
 * <p>All arguments are passed as {@code long}, which costs no liveness check: {@link CFunction} says why C takes them. The
 * caller makes sure that the memory behind them is alive.
 *
 * <p>A <em>critical</em> call does without a change of thread state, and so holds up every safepoint while it runs. It
 * suits a poll, and a post where the driver's library rings the doorbell from user space.
 */
public final class DataPathCalls {
    // Each handle is in a class of its own: it is linked at the first call, which takes some 10 ms.

    private static final class Plain {
        static final MethodHandle LINK = link();
    }

    private static final class PlainOfAny {
        static final MethodHandle HANDLE = ofAnyFunction(Plain.LINK);
    }

    private static final class Critical {
        static final MethodHandle LINK = link(Linker.Option.critical(false));
    }

    private static final class CriticalOfAny {
        static final MethodHandle HANDLE = ofAnyFunction(Critical.LINK);
    }

    private static final class Poll {
        static final long FUNCTION = FirstDriver.POLL.get();
        static final MethodHandle CRITICAL = of(FUNCTION, Critical.LINK);
    }

    private static final class Send {
        static final long FUNCTION = FirstDriver.SEND.get();
        static final MethodHandle CRITICAL = of(FUNCTION, Critical.LINK);
    }

    private static final class Receive {
        static final long FUNCTION = FirstDriver.RECEIVE.get();
        static final MethodHandle CRITICAL = of(FUNCTION, Critical.LINK);
    }

    private static final class PlainPoll {
        static final long FUNCTION = FirstDriver.POLL.get();
        static final MethodHandle HANDLE = of(FUNCTION, Plain.LINK);
    }

    private static final class PlainSend {
        static final long FUNCTION = FirstDriver.SEND.get();
        static final MethodHandle HANDLE = of(FUNCTION, Plain.LINK);
    }

    private static final class PlainReceive {
        static final long FUNCTION = FirstDriver.RECEIVE.get();
        static final MethodHandle HANDLE = of(FUNCTION, Plain.LINK);
    }

    /** The C name of polling. */
    public static final String POLL_NAME = "ibv_poll_cq";

    /** The C name of asking for an event. */
    public static final String ASK_NAME = "ibv_req_notify_cq";

    private DataPathCalls() {}

    /** Polls ({@code int poll_cq(struct ibv_cq *, int, struct ibv_wc *)}). */
    public static int poll(boolean critical, long function, long cq, int entries, long completions) {
        return critical
                ? pollCritical(function, cq, entries, completions)
                : pollPlainly(function, cq, entries, completions);
    }

    /** Polls as {@link #poll} does, by a critical call. */
    public static int pollCritical(long function, long cq, int entries, long completions) {
        try {
            return function == Poll.FUNCTION
                    ? (int) Poll.CRITICAL.invokeExact(cq, (long) entries, completions)
                    : (int) CriticalOfAny.HANDLE.invokeExact(function, cq, (long) entries, completions);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Returns true if a function polls for the first driver, and so has a constant handle. */
    public static boolean isFirstPoll(long function) {
        return function == FirstDriver.POLL.get();
    }

    /** Polls by a critical call of the first driver's function. */
    public static int pollFirst(long cq, int entries, long completions) {
        try {
            return (int) Poll.CRITICAL.invokeExact(cq, (long) entries, completions);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    private static int pollPlainly(long function, long cq, int entries, long completions) {
        try {
            return function == PlainPoll.FUNCTION
                    ? (int) PlainPoll.HANDLE.invokeExact(cq, (long) entries, completions)
                    : (int) PlainOfAny.HANDLE.invokeExact(function, cq, (long) entries, completions);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Asks for an event ({@code int req_notify_cq(struct ibv_cq *, int)}), which is a system call with some drivers. */
    public static int requestNotification(long function, long cq, int solicitedOnly) {
        try {
            return (int) PlainOfAny.HANDLE.invokeExact(function, cq, (long) solicitedOnly, 0L);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Posts requests ({@code int post_send(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **)} and its like). */
    public static int post(boolean critical, long function, long queue, long requests, long firstRefused) {
        return critical
                ? postCritical(function, queue, requests, firstRefused)
                : postPlainly(function, queue, requests, firstRefused);
    }

    /** Posts as {@link #post} does, by a critical call. */
    public static int postCritical(long function, long queue, long requests, long firstRefused) {
        try {
            if (function == Send.FUNCTION) {
                return (int) Send.CRITICAL.invokeExact(queue, requests, firstRefused);
            }
            return function == Receive.FUNCTION
                    ? (int) Receive.CRITICAL.invokeExact(queue, requests, firstRefused)
                    : (int) CriticalOfAny.HANDLE.invokeExact(function, queue, requests, firstRefused);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Returns true if a function posts sends for the first driver, and so has a constant handle. */
    public static boolean isFirstSend(long function) {
        return function == FirstDriver.SEND.get();
    }

    /** Posts sends by a critical call of the first driver's function. */
    public static int sendFirst(long queue, long requests, long firstRefused) {
        try {
            return (int) Send.CRITICAL.invokeExact(queue, requests, firstRefused);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Returns true if a function posts receives for the first driver, and so has a constant handle. */
    public static boolean isFirstReceive(long function) {
        return function == FirstDriver.RECEIVE.get();
    }

    /** Posts receives by a critical call of the first driver's function. */
    public static int receiveFirst(long queue, long requests, long firstRefused) {
        try {
            return (int) Receive.CRITICAL.invokeExact(queue, requests, firstRefused);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    private static int postPlainly(long function, long queue, long requests, long firstRefused) {
        try {
            if (function == PlainSend.FUNCTION) {
                return (int) PlainSend.HANDLE.invokeExact(queue, requests, firstRefused);
            }
            return function == PlainReceive.FUNCTION
                    ? (int) PlainReceive.HANDLE.invokeExact(queue, requests, firstRefused)
                    : (int) PlainOfAny.HANDLE.invokeExact(function, queue, requests, firstRefused);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    private static MethodHandle link(Linker.Option... options) {
        FunctionDescriptor shape = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
        return Linker.nativeLinker().downcallHandle(shape, options);
    }

    /** Returns a handle of one function. */
    private static MethodHandle of(long function, MethodHandle link) {
        return MethodHandles.insertArguments(link, 0, MemorySegment.ofAddress(function));
    }

    /** Returns a handle whose first argument is the function's address. */
    private static MethodHandle ofAnyFunction(MethodHandle link) {
        try {
            MethodHandle ofAddress = MethodHandles.lookup()
                    .findStatic(
                            MemorySegment.class, "ofAddress", MethodType.methodType(MemorySegment.class, long.class));
            return MethodHandles.filterArguments(link, 0, ofAddress);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
