package dev.verbena.internal;

/** The limit on the open files of this process, and the advice for a process that reached the limit. */
public final class OpenFiles {
    private static final int RLIMIT_NOFILE = 7;

    private OpenFiles() {}

    /** Returns true if an error number says that no more files can be opened. */
    public static boolean areTooMany(int errno) {
        return errno == Errno.EMFILE || errno == Errno.ENFILE;
    }

    /** Returns true if no more files can be opened. Some functions of C then report another error. */
    public static boolean areUsedUp() {
        try {
            SystemCall.CLOSE.call(SystemCall.EVENTFD.call(0, 0));
            return false;
        } catch (SystemCallException e) {
            return areTooMany(e.errno());
        }
    }

    /** Returns advice for a call that failed with {@code EMFILE} or {@code ENFILE}. */
    public static String hint(int errno) {
        return errno == Errno.ENFILE
                ? "All processes together have as many open files as this machine allows: raise the limit with "
                        + "'sysctl fs.file-max'"
                : "This process may have " + limit() + " open files: raise the limit with 'ulimit -n', in "
                        + "/etc/security/limits.conf (nofile), or by LimitNOFILE= of a systemd unit";
    }

    /** Returns the number of files that this process may have open at once. Opens none itself. */
    static long limit() {
        return SystemCall.softLimit(RLIMIT_NOFILE);
    }
}
