package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.failures.Failures;
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

    /** Returns the error number of a failed verb: see {@link Failures#errnoOf}. */
    static int errnoOf(int result) {
        return Failures.errnoOf(result);
    }

    /** What may be wrong where C makes no queue, but its sizes are right, and the error's number is of no meaning. */
    static String crowded(Context context) {
        return context.provider().software() && context.device().transport() == TransportType.IWARP
                ? "The library of iWARP in software makes no queue that would begin with the 145th page of all queues of a "
                        + "process: make fewer, or smaller ones"
                : "";
    }

    /** Makes the exception for a failed verb: see {@link Failures#failure}. */
    static VerbsException failure(String verb, int errno, String arguments, String hint) {
        return Failures.failure(verb, errno, arguments, hint);
    }
}
