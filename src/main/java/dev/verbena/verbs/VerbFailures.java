package dev.verbena.verbs;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.SystemCallException;
import dev.verbena.verbs.device.TransportType;
import java.lang.foreign.MemorySegment;

/** How the functions of {@code libibverbs} say that they failed, made one: an exception. */
final class VerbFailures {
    private VerbFailures() {}

    /** For functions that answer 0 or a positive error number; -1 leaves the number in {@code errno}. */
    static void check(CFunction function, long result, String arguments) {
        check(function.name(), (int) result, arguments, "");
    }

    static void check(String verb, int result, String arguments, String hint) {
        if (result != 0) {
            throw failure(verb, errnoOf(result), arguments, hint);
        }
    }

    /** For functions that answer a pointer, or NULL and {@code errno}. */
    static long pointer(CFunction function, long result, String arguments) {
        return pointer(function, result, arguments, "");
    }

    static long pointer(CFunction function, long result, String arguments, String hint) {
        if (result == 0) {
            throw failure(function.name(), CFunction.errno(), arguments, hint);
        }
        return result;
    }

    /** A function of a context; not all libraries and providers have all of them. */
    static MemorySegment function(ContextVerb verb, long context, String arguments) {
        return verb.in(context)
                .orElseThrow(() -> failure(
                        verb.verb(),
                        Errno.EOPNOTSUPP,
                        arguments,
                        "The installed rdma-core has no such function for this device"));
    }

    /** As {@link #pointer(CFunction, long, String)}, for a verb that C reaches through the context. */
    static long pointer(ContextVerb verb, Context context, String arguments, long... values) {
        long result = CFunction.callAt(function(verb, context.address(), arguments), values);
        if (result == 0) {
            throw failure(verb.verb(), CFunction.errno(), arguments, "");
        }
        return result;
    }

    /** As {@link #check(CFunction, long, String)}, for a verb that C reaches through the context. */
    static void check(ContextVerb verb, Context context, String arguments, long... values) {
        check(verb.verb(), (int) CFunction.callAt(function(verb, context.address(), arguments), values), arguments, "");
    }

    /** Makes sure that the library has a function that is newer than what this one is made for. */
    static void require(CFunction function, int since, String arguments) {
        if (!function.isPresent()) {
            throw new UnsupportedVerbException(
                    function.name(), arguments, 0, "This rdma-core lacks it: " + since + " or newer is needed");
        }
    }

    /** Some functions answer -1 and set {@code errno}, some forget to: what is wrong is then an argument. */
    static int errnoOf(int result) {
        if (result > 0) {
            return result;
        }
        if (result < -1) {
            return -result;
        }
        int errno = CFunction.errno();
        return errno > 0 ? errno : Errno.EINVAL;
    }

    /** For a thread that can't wait, or can't wait any longer. */
    static VerbsException cannotWait(String what, Throwable cause) {
        VerbsException failure = switch (cause) {
            case VerbsException e -> new VerbsException(e.verb(), what, e.errno(), e.getMessage());
            case SystemCallException e -> new VerbsException(e.call(), what, e.errno(), "");
            default -> new VerbsException("epoll_wait", what, 0, "The thread that waits for events ended: " + cause);
        };
        failure.initCause(cause);
        return failure;
    }

    /** What may be wrong where C makes no queue, but its sizes are right, and the error's number is of no meaning. */
    static String crowded(Context context) {
        return context.provider().software() && context.device().transport() == TransportType.IWARP
                ? "The library of iWARP in software makes no queue that would begin with the 145th page of all queues of a "
                        + "process: make fewer, or smaller ones"
                : "";
    }

    static VerbsException failure(String verb, int errno, String arguments, String hint) {
        return Errno.meansUnsupported(errno)
                ? new UnsupportedVerbException(
                        verb,
                        arguments,
                        errno,
                        hint.isEmpty() ? "This device, its driver or this kernel can't do it" : hint)
                : new VerbsException(verb, arguments, errno, hint);
    }
}
