package dev.verbena.internal;

import java.util.Map;

/** The error numbers of Linux that verbs and the connection manager return, with names and descriptions. */
public final class Errno {
    public static final int EPERM = 1;
    public static final int ENOENT = 2;
    public static final int EINTR = 4;
    public static final int EIO = 5;
    public static final int EBADF = 9;
    public static final int EAGAIN = 11;
    public static final int ENOMEM = 12;
    public static final int EACCES = 13;
    public static final int EFAULT = 14;
    public static final int EBUSY = 16;
    public static final int ENODEV = 19;
    public static final int EINVAL = 22;
    public static final int ENFILE = 23;
    public static final int EMFILE = 24;
    public static final int ENOSPC = 28;
    public static final int EPIPE = 32;
    public static final int ENOSYS = 38;
    public static final int ENODATA = 61;
    public static final int EPROTO = 71;
    public static final int EPROTONOSUPPORT = 93;
    public static final int EOPNOTSUPP = 95;
    public static final int EADDRINUSE = 98;
    public static final int EADDRNOTAVAIL = 99;
    public static final int ENETUNREACH = 101;
    public static final int ECONNRESET = 104;
    public static final int ETIMEDOUT = 110;
    public static final int ECONNREFUSED = 111;
    public static final int EHOSTUNREACH = 113;
    public static final int EINPROGRESS = 115;

    private record Text(String name, String words) {}

    private static final Map<Integer, Text> TEXTS = Map.ofEntries(
            text(EPERM, "EPERM", "operation not permitted"),
            text(ENOENT, "ENOENT", "no such file or directory"),
            text(EINTR, "EINTR", "interrupted system call"),
            text(EIO, "EIO", "input/output error"),
            text(6, "ENXIO", "no such device or address"),
            text(EBADF, "EBADF", "bad file descriptor"),
            text(EAGAIN, "EAGAIN", "resource temporarily unavailable"),
            text(ENOMEM, "ENOMEM", "cannot allocate memory"),
            text(EACCES, "EACCES", "permission denied"),
            text(EFAULT, "EFAULT", "bad address"),
            text(EBUSY, "EBUSY", "device or resource busy"),
            text(17, "EEXIST", "already exists"),
            text(ENODEV, "ENODEV", "no such device"),
            text(EINVAL, "EINVAL", "invalid argument"),
            text(ENFILE, "ENFILE", "too many open files in system"),
            text(EMFILE, "EMFILE", "too many open files"),
            text(ENOSPC, "ENOSPC", "no space left"),
            text(EPIPE, "EPIPE", "broken pipe"),
            text(34, "ERANGE", "out of range"),
            text(ENOSYS, "ENOSYS", "function not implemented"),
            text(ENODATA, "ENODATA", "no data available"),
            text(62, "ETIME", "timer expired"),
            text(EPROTO, "EPROTO", "protocol error"),
            text(75, "EOVERFLOW", "value too large"),
            text(EPROTONOSUPPORT, "EPROTONOSUPPORT", "protocol not supported"),
            text(EOPNOTSUPP, "EOPNOTSUPP", "operation not supported"),
            text(97, "EAFNOSUPPORT", "address family not supported"),
            text(EADDRINUSE, "EADDRINUSE", "address already in use"),
            text(EADDRNOTAVAIL, "EADDRNOTAVAIL", "cannot assign requested address"),
            text(100, "ENETDOWN", "network is down"),
            text(ENETUNREACH, "ENETUNREACH", "network is unreachable"),
            text(103, "ECONNABORTED", "connection aborted"),
            text(ECONNRESET, "ECONNRESET", "connection reset by peer"),
            text(105, "ENOBUFS", "no buffer space available"),
            text(106, "EISCONN", "already connected"),
            text(107, "ENOTCONN", "not connected"),
            text(ETIMEDOUT, "ETIMEDOUT", "timed out"),
            text(ECONNREFUSED, "ECONNREFUSED", "connection refused"),
            text(112, "EHOSTDOWN", "host is down"),
            text(EHOSTUNREACH, "EHOSTUNREACH", "no route to host"),
            text(114, "EALREADY", "operation already in progress"),
            text(EINPROGRESS, "EINPROGRESS", "operation now in progress"));

    private Errno() {}

    /** Returns the symbolic name, such as {@code ENOMEM}, or {@code errno 524} for a number without a name. */
    public static String name(int errno) {
        Text text = TEXTS.get(errno);
        return text == null ? "errno " + errno : text.name();
    }

    /** Returns name and description, such as {@code ENOMEM (cannot allocate memory)}. */
    public static String describe(int errno) {
        Text text = TEXTS.get(errno);
        return text == null ? "errno " + errno : text.name() + " (" + text.words() + ")";
    }

    /** Returns true if the number says that the device, the driver or the kernel does not support an operation. */
    public static boolean meansUnsupported(int errno) {
        return errno == EOPNOTSUPP || errno == ENOSYS || errno == EPROTONOSUPPORT;
    }

    private static Map.Entry<Integer, Text> text(int errno, String name, String words) {
        return Map.entry(errno, new Text(name, words));
    }
}
