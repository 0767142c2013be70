package dev.verbena.internal.failures;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Calls functions of the control path, and converts the dozen ways in which they report an error to exceptions.
 *
 * <p>Each method takes the values for C, and the arguments in words for the message. The words become text only on failure,
 * after the error number was read: {@code toString()} may call C too. A hint says what to try, by the error number; an empty
 * hint stands for the usual one.
 */
public final class Calls {
    private static final @Nullable IntFunction<String> NO_HINTS = null;

    private Calls() {}

    /** Returns words for several arguments, which are separated by commas. */
    public static Object words(Object first, Object second) {
        return new Words(first, second);
    }

    private record Words(Object first, Object second) {
        @Override
        public String toString() {
            return first + ", " + second;
        }
    }

    /**
     * Calls a function that returns 0, an error number, or -1 with the number in {@code errno}.
     *
     * @throws UnsupportedVerbException if the installed libraries or the driver have no such function
     * @throws VerbsException if the function fails
     */
    public static void run(CFunction function, Object arguments, long... values) {
        run(function, arguments, NO_HINTS, values);
    }

    /** Does the same as {@link #run(CFunction, Object, long...)}, with hints. */
    public static void run(CFunction function, Object arguments, @Nullable IntFunction<String> hints, long... values) {
        int result = (int) call(function, arguments, hints, values);
        if (result != 0) {
            throw failed(function, Failures.errnoOf(result), arguments, hints);
        }
    }

    /**
     * Calls a function that returns a pointer, or NULL with the error number in {@code errno}.
     *
     * @throws UnsupportedVerbException if the installed libraries or the driver have no such function
     * @throws VerbsException if the function fails
     */
    public static long pointer(CFunction function, Object arguments, long... values) {
        return pointer(function, arguments, NO_HINTS, values);
    }

    /** Does the same as {@link #pointer(CFunction, Object, long...)}, with one hint for all errors. */
    public static long pointer(CFunction function, Object arguments, String hint, long... values) {
        long result = call(function, arguments, NO_HINTS, values);
        if (result == 0) {
            throw Failures.failure(function.name(), CFunction.errno(), arguments.toString(), hint);
        }
        return result;
    }

    /** Does the same as {@link #pointer(CFunction, Object, long...)}, with hints. */
    public static long pointer(
            CFunction function, Object arguments, @Nullable IntFunction<String> hints, long... values) {
        long result = call(function, arguments, hints, values);
        if (result == 0) {
            throw failed(function, CFunction.errno(), arguments, hints);
        }
        return result;
    }

    /**
     * Calls a function that returns a count or a descriptor, or a negative number on failure.
     *
     * @throws UnsupportedVerbException if the installed libraries or the driver have no such function
     * @throws VerbsException if the function fails
     */
    public static int number(CFunction function, Object arguments, long... values) {
        return number(function, arguments, NO_HINTS, values);
    }

    /** Does the same as {@link #number(CFunction, Object, long...)}, with hints. */
    public static int number(
            CFunction function, Object arguments, @Nullable IntFunction<String> hints, long... values) {
        int result = (int) call(function, arguments, hints, values);
        if (result < 0) {
            throw failed(function, Failures.errnoOf(result), arguments, hints);
        }
        return result;
    }

    /** Calls the function, if there is such a function. A driver that lacks one is as good as one that refuses. */
    private static long call(
            CFunction function, Object arguments, @Nullable IntFunction<String> hints, long... values) {
        if (!function.isPresent()) {
            throw Failures.missing(function, arguments.toString(), hint(hints, Errno.EOPNOTSUPP));
        }
        return function.call(values);
    }

    private static VerbsException failed(
            CFunction function, int errno, Object arguments, @Nullable IntFunction<String> hints) {
        return Failures.failure(function.name(), errno, arguments.toString(), hint(hints, errno));
    }

    private static String hint(@Nullable IntFunction<String> hints, int errno) {
        return hints == null ? "" : hints.apply(errno);
    }
}
