package dev.verbena.support;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** A low limit on the open files of this process ({@code ulimit -n}), until it is closed. */
public final class OpenFileLimit implements AutoCloseable {
    private static final int RLIMIT_NOFILE = 7;

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
        try {
            for (int i = 0; i < files; i++) {
                taken[i] = (int) Functions.DUP.invokeExact(0);
            }
            long limit = lowestFree(); // the kernel compares it with the number of the new descriptor
            for (int each : taken) {
                int closed = (int) Functions.CLOSE.invokeExact(each);
                assert closed == 0;
            }
            return new OpenFileLimit(set(limit), limit);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
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

    /** Returns the number that the next file to be opened would get. */
    private static int lowestFree() {
        try {
            int made = (int) Functions.DUP.invokeExact(0);
            int closed = (int) Functions.CLOSE.invokeExact(made);
            assert closed == 0;
            return made;
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private static long set(long limit) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment limits = arena.allocate(JAVA_LONG, 2);
            int read = (int) Functions.GET.invokeExact(RLIMIT_NOFILE, limits);
            long before = limits.get(JAVA_LONG, 0);
            limits.set(JAVA_LONG, 0, limit);
            int changed = (int) Functions.SET.invokeExact(RLIMIT_NOFILE, limits);
            if (read != 0 || changed != 0) {
                throw new AssertionError("the limit can't be changed to " + limit);
            }
            return before;
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    @Override
    public void close() {
        set(before);
    }

    private static final class Functions {
        private static final FunctionDescriptor LIMITS = FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS);
        private static final MethodHandle GET = link("getrlimit", LIMITS);
        private static final MethodHandle SET = link("setrlimit", LIMITS);
        private static final MethodHandle DUP = link("dup", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
        private static final MethodHandle CLOSE = link("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

        private static MethodHandle link(String name, FunctionDescriptor shape) {
            SymbolLookup libc =
                    SymbolLookup.libraryLookup("libc.so.6", Arena.global()); // the default opens a file once
            return Linker.nativeLinker().downcallHandle(libc.find(name).orElseThrow(), shape);
        }
    }
}
