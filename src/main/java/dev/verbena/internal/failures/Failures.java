package dev.verbena.internal.failures;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.OpenFiles;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.internal.SystemCallException;

/** Converts C error returns to exceptions: the part that libibverbs and librdmacm have in common. */
public final class Failures {
    private Failures() {}

    /**
     * Returns the error number of a failed call. The functions of C return it positive or negative, or return -1 and set
     * {@code errno}. A function that forgets to set {@code errno} got a wrong argument.
     *
     * @param result what the function returned, not 0
     * @return the error number, positive
     */
    public static int errnoOf(int result) {
        if (result > 0) {
            return result;
        }
        if (result < -1) {
            return -result;
        }
        int errno = CFunction.errno();
        return errno > 0 ? errno : Errno.EINVAL;
    }

    /**
     * Makes the exception for a failed function.
     *
     * @param verb the C name
     * @param errno the error number
     * @param arguments the arguments, in words
     * @param hint what to try; may be empty. Too many open files have a hint of their own
     * @return an {@link UnsupportedVerbException} if the error number means that the function is not supported
     */
    public static VerbsException failure(String verb, int errno, String arguments, String hint) {
        if (OpenFiles.areTooMany(errno)) {
            return new VerbsException(verb, arguments, errno, OpenFiles.hint(errno));
        }
        return Errno.meansUnsupported(errno)
                ? new UnsupportedVerbException(
                        verb,
                        arguments,
                        errno,
                        hint.isEmpty() ? "This device, its driver or this kernel can't do it" : hint)
                : new VerbsException(verb, arguments, errno, hint);
    }

    /**
     * Makes the exception for a thread that can't wait, or can wait no longer.
     *
     * @param what the object that the thread waited at
     * @param cause a failed system call, a failed function of C, or what ended the event thread
     */
    public static VerbsException cannotWait(String what, Throwable cause) {
        VerbsException failure = switch (cause) {
            case VerbsException e -> new VerbsException(e.verb(), what, e.errno(), String.valueOf(e.getMessage()));
            case SystemCallException e -> failure(e.call(), e.errno(), what, "");
            default -> new VerbsException("epoll_wait", what, 0, "The thread that waits for events ended: " + cause);
        };
        failure.initCause(cause);
        return failure;
    }

    /**
     * Checks that the installed libraries or the driver have a function.
     *
     * @throws UnsupportedVerbException if they have not
     */
    public static void require(CFunction function, String arguments) {
        if (!function.isPresent()) {
            throw missing(function, arguments, "");
        }
    }

    /** Makes the exception for a function that the libraries or the driver lack. */
    static VerbsException missing(CFunction function, String arguments, String hint) {
        return function.since() > 0
                ? tooOld(function.name(), arguments, function.since())
                : failure(
                        function.name(),
                        Errno.EOPNOTSUPP,
                        arguments,
                        hint.isEmpty() ? "The installed rdma-core has no such function for this device" : hint);
    }

    /**
     * Checks that an rdma-core is installed that has a function which is inline in C.
     *
     * @throws UnsupportedVerbException if it is too old
     */
    public static void require(RdmaCoreVersion version, String verb, String arguments) {
        if (!version.isInstalled()) {
            throw tooOld(verb, arguments, version.number());
        }
    }

    private static UnsupportedVerbException tooOld(String verb, String arguments, int since) {
        return new UnsupportedVerbException(
                verb, arguments, 0, "The installed rdma-core is too old: " + since + " or newer is needed");
    }
}
