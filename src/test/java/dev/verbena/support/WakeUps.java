package dev.verbena.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** How often threads of this process woke up, as the kernel counts: no load of other processes changes that much. */
public final class WakeUps {
    /** The number of characters of a thread's name that the kernel keeps. */
    private static final int NAME = 15;

    private WakeUps() {}

    /** Returns the number of times that the threads whose names begin with a text went to sleep or were made to wait. */
    public static long of(String name) {
        return lines(name)
                .filter(line -> line.contains("ctxt_switches:"))
                .mapToLong(line ->
                        Long.parseLong(line.substring(line.indexOf(':') + 1).strip()))
                .sum();
    }

    /** Returns true if all threads whose names begin with a text sleep. */
    public static boolean sleep(String name) {
        return lines(name).filter(line -> line.startsWith("State:")).allMatch(line -> line.contains("sleeping"));
    }

    private static Stream<String> lines(String name) {
        String known = name.substring(0, Math.min(NAME, name.length()));
        try (Stream<Path> tasks = Files.list(Path.of("/proc/self/task"))) {
            List<Path> all = tasks.toList();
            return all.stream()
                    .filter(task -> read(task, "comm").startsWith(known))
                    .flatMap(task -> read(task, "status").lines());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String read(Path task, String file) {
        try {
            return Files.readString(task.resolve(file));
        } catch (IOException ended) {
            return "";
        }
    }
}
