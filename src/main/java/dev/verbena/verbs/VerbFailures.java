package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.failures.Failures;
import java.lang.foreign.MemorySegment;

/** Converts the error returns of {@code libibverbs} to exceptions. */
final class VerbFailures {
    private VerbFailures() {}

    /** Checks the result of a function that returns 0, an error number, or -1 with the number in {@code errno}. */
    static void check(CFunction function, long result, String arguments) {
        check(function.name(), (int) result, arguments, "");
    }

    static void check(String verb, int result, String arguments, String hint) {
        if (result != 0) {
            throw failure(verb, errnoOf(result), arguments, hint);
        }
    }

    /** Checks the result of a function that returns a pointer, or NULL with the error number in {@code errno}. */
    static long pointer(CFunction function, long result, String arguments) {
        return pointer(function, result, arguments, "");
    }

    static long pointer(CFunction function, long result, String arguments, String hint) {
        if (result == 0) {
            throw failure(function.name(), CFunction.errno(), arguments, hint);
        }
        return result;
    }

    /** Returns a function of a context. Not all libraries and providers have all of them. */
    static MemorySegment function(ContextVerb verb, long context, String arguments) {
        return verb.in(context)
                .orElseThrow(() -> failure(
                        verb.verb(),
                        Errno.EOPNOTSUPP,
                        arguments,
                        "The installed rdma-core has no such function for this device"));
    }

    /** Calls a verb of a context that returns a pointer, or NULL with the error number in {@code errno}. */
    static long pointer(ContextVerb verb, Context context, String arguments, long... values) {
        long result = CFunction.callAt(function(verb, context.address(), arguments), values);
        if (result == 0) {
            throw failure(verb.verb(), CFunction.errno(), arguments, "");
        }
        return result;
    }

    /** Calls a verb of a context that returns 0 or an error number. */
    static void check(ContextVerb verb, Context context, String arguments, long... values) {
        check(verb.verb(), (int) CFunction.callAt(function(verb, context.address(), arguments), values), arguments, "");
    }

    /** Returns the error number of a failed verb: see {@link Failures#errnoOf}. */
    static int errnoOf(int result) {
        return Failures.errnoOf(result);
    }

    /** Returns a hint for a queue that C did not make although its sizes are right; empty if there is none. */
    static String crowded(Context context) {
        return context.provider().software() && context.queries().transport() == Device.TransportType.IWARP
                ? "The library of software iWARP makes no queue that would begin with the 145th page of all queues of a "
                        + "process: make fewer queues, or smaller ones"
                : "";
    }

    /** Makes the exception for a failed verb: see {@link Failures#failure}. */
    static VerbsException failure(String verb, int errno, String arguments, String hint) {
        return Failures.failure(verb, errno, arguments, hint);
    }
}
