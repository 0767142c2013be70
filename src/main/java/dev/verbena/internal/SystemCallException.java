package dev.verbena.internal;

/** A system call failed. The floors above turn it into an exception of theirs. */
public final class SystemCallException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String call;
    private final int errno;

    SystemCallException(String call, int errno) {
        super(call + ": " + Errno.describe(errno));
        this.call = call;
        this.errno = errno;
    }

    /** The C name of the function. */
    public String call() {
        return call;
    }

    public int errno() {
        return errno;
    }
}
