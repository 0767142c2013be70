package dev.verbena.support;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The resident memory of this process, to be compared before and after work that must leave none behind. */
public final class ResidentMemory {
    private ResidentMemory() {}

    /** Returns the resident memory in KiB after a garbage collection. */
    public static long kib() throws IOException {
        System.gc();
        String line = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(each -> each.startsWith("VmRSS:"))
                .findFirst()
                .orElseThrow();
        return Long.parseLong(line.replaceAll("\\D", ""));
    }
}
