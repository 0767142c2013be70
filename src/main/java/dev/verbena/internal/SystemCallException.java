package dev.verbena.internal;

/** Thrown when a system call fails. The packages above turn it into a {@code VerbsException}. */
public final class SystemCallException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String call;
    private final int errno;

    SystemCallException(String call, int errno) {
        super(call + ": " + Errno.describe(errno));
        this.call = call;
        this.errno = errno;
    }

    /** Returns the C name of the function. */
    public String call() {
        return call;
    }

    /** Returns the error number. */
    public int errno() {
        return errno;
    }
}
