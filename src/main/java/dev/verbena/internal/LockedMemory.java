package dev.verbena.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The limit on the memory that this process may pin, and the advice for a process that reached the limit. */
public final class LockedMemory {
    private static final Path LIMITS = Path.of("/proc/self/limits");

    private LockedMemory() {}

    /** Returns advice for a registration that failed with {@code ENOMEM}. */
    public static String hint() {
        return limit().map(
                        bytes -> "Locked memory is limited to " + inWords(bytes) + " for this process: raise it with "
                                + "'ulimit -l unlimited', in /etc/security/limits.conf (memlock), or by LimitMEMLOCK= of a "
                                + "systemd unit")
                .orElse("Locked memory is not limited for this process: the machine or the device has no memory left");
    }

    /** Returns the soft limit in bytes; empty if there is none or it can't be read. */
    public static Optional<Long> limit() {
        try {
            return limit(Files.readAllLines(LIMITS));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    static Optional<Long> limit(List<String> limits) {
        return limits.stream()
                .filter(line -> line.startsWith("Max locked memory"))
                .map(line ->
                        line.substring("Max locked memory".length()).strip().split("\\s+")[0])
                .filter(soft -> !soft.equals("unlimited"))
                .map(Long::parseLong)
                .findFirst();
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
