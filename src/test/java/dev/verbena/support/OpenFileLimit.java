package dev.verbena.support;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.internal.CFunction;
import dev.verbena.internal.NativeLibraries;
import dev.verbena.internal.SystemCall;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Stream;

/** A low limit on the open files of this process ({@code ulimit -n}), until it is closed. */
public final class OpenFileLimit implements AutoCloseable {
    private static final int RLIMIT_NOFILE = 7;
    private static final CFunction SETRLIMIT = new CFunction(NativeLibraries.C, "setrlimit");

    private final long before;
    private final long limit;

    private OpenFileLimit(long before, long limit) {
        this.before = before;
        this.limit = limit;
    }

    /** Allows no file that is not open now. */
    public static OpenFileLimit reached() {
        return left(0);
    }

    /** Allows one file more than are open now. */
    public static OpenFileLimit oneLeft() {
        return left(1);
    }

    /** Allows a number of files more than are open now. */
    public static OpenFileLimit left(int files) {
        int[] taken = new int[files];
        for (int i = 0; i < files; i++) {
            taken[i] = SystemCall.DUP.call(0);
        }
        long limit = lowestFree(); // the kernel compares it with the number of the new descriptor
        for (int each : taken) {
            SystemCall.close(each);
        }
        return new OpenFileLimit(set(limit), limit);
    }

    /** Returns the number of files that may be open. */
    public long limit() {
        return limit;
    }

    /** Returns the number of open files of this process. */
    public static long count() {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.count() - 1; // the one that this list has open
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Returns the open files of this process, each with its number. */
    public static Set<String> files() {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            Set<String> files = new HashSet<>();
            for (Path each : open.toList()) {
                try {
                    files.add(each.getFileName() + ": " + Files.readSymbolicLink(each));
                } catch (NoSuchFileException closed) {
                    continue; // by another thread
                }
            }
            files.removeIf(file -> file.endsWith("/fd")); // this list
            return files;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Returns the files that were opened since others were open. What earlier tests have left may be closed meanwhile. */
    public static Set<String> openedSince(Set<String> before) {
        Set<String> opened = files();
        opened.removeAll(before);
        return opened;
    }

    /** Returns the number that the next file to be opened would get. */
    private static int lowestFree() {
        int made = SystemCall.DUP.call(0);
        SystemCall.close(made);
        return made;
    }

    private static long set(long limit) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment limits = arena.allocate(JAVA_LONG, 2);
            SystemCall.GETRLIMIT.call(RLIMIT_NOFILE, limits.address());
            long before = limits.get(JAVA_LONG, 0);
            limits.set(JAVA_LONG, 0, limit);
            if ((int) SETRLIMIT.call(RLIMIT_NOFILE, limits.address()) != 0) {
                throw new AssertionError("the limit can't be changed to " + limit);
            }
            return before;
        }
    }

    @Override
    public void close() {
        set(before);
    }
}
