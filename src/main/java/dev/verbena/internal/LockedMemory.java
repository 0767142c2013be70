package dev.verbena.internal;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

/** The memory that this process has pinned, the limit on it, and the advice for a process that reached the limit. */
public final class LockedMemory {
    private static final int RLIMIT_MEMLOCK = 8;

    /** The bytes that are registered now. */
    private static final AtomicLong PINNED = new AtomicLong();

    private LockedMemory() {}

    /** Counts a registration, or with a negative number its end. */
    public static void count(long bytes) {
        PINNED.addAndGet(bytes);
    }

    /** Returns the bytes that this process has registered with devices now. */
    public static long pinned() {
        return PINNED.get();
    }

    /** Returns advice for a registration that failed with {@code ENOMEM}. */
    public static String hint() {
        return limit().map(
                        bytes -> "Locked memory is limited to " + inWords(bytes) + " for this process: raise it with "
                                + "'ulimit -l unlimited', in /etc/security/limits.conf (memlock), or by LimitMEMLOCK= of a "
                                + "systemd unit")
                .orElse("Locked memory is not limited for this process: the machine or the device has no memory left");
    }

    /** Returns the soft limit in bytes; empty if there is none. */
    public static Optional<Long> limit() {
        long limit = SystemCall.softLimit(RLIMIT_MEMLOCK);
        return limit == -1 ? Optional.empty() : Optional.of(limit);
    }

    /** Returns a size as text, such as {@code 64 KiB}, in the largest unit of which the size is a multiple. */
    public static String inWords(long bytes) {
        String[] units = {"bytes", "KiB", "MiB", "GiB", "TiB"};
        int unit = 0;
        long value = bytes;
        while (unit < units.length - 1 && value != 0 && value % 1024 == 0) {
            value /= 1024;
            unit++;
        }
        return value + " " + units[unit];
    }
}
