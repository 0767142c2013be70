package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.failures.Failures;
import dev.verbena.verbs.access.VerbsAccess;
import java.util.function.IntFunction;

/** Converts the error returns of {@code librdmacm} to exceptions. */
final class CmFailures {
    private CmFailures() {}

    /** Calls a function that returns 0, or -1 with the error number in {@code errno}. */
    static void run(CFunction function, Object arguments, long... values) {
        Calls.run(function, arguments, CmFailures::hintFor, values);
    }

    /** Returns the hints for a call with private data. */
    static IntFunction<String> tooLong(PrivateData data) {
        return errno -> errno != Errno.EINVAL || data.size() == 0
                ? ""
                : "Are " + data.size()
                        + " bytes of private data too many? The documentation of PrivateData has the limits";
    }

    /** A step that makes an object. */
    interface Step<T, X extends Exception> {
        T run() throws X;
    }

    /** Makes an object, or undoes what was made before it if that fails. */
    static <T, X extends Exception> T orUndo(Runnable undo, Step<T, X> step) throws X {
        try {
            return step.run();
        } catch (Throwable t) {
            undo(t, undo);
            throw t;
        }
    }

    /** Undoes a step after a failure. The failure is thrown afterwards, also if undoing fails. */
    static void undo(Throwable failure, Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error more) {
            failure.addSuppressed(more);
        }
    }

    /** Makes the exception for a failed function. Some functions set an {@code errno} that is no error number. */
    static VerbsException failure(CFunction function, int errno, String arguments, String hint) {
        int number = errno > 0 ? errno : Errno.EINVAL;
        return Failures.failure(function.name(), number, arguments, hint.isEmpty() ? hintFor(number) : hint);
    }

    static String hintFor(int errno) {
        return switch (errno) {
            case Errno.ENODEV ->
                "No RDMA device has this address: 127.0.0.1 has none, unless a device is bound to lo; "
                        + "'rdma link' lists the devices and their network interfaces"
                        + VerbsAccess.get().withoutConnectionManager();
            case Errno.EADDRNOTAVAIL -> "This machine does not have this address: 'ip addr' lists those it has";
            case Errno.EADDRINUSE -> "Another id listens there";
            default -> "";
        };
    }
}
