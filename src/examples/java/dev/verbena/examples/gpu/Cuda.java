package dev.verbena.examples.gpu;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.util.stream.Stream;

/** The library of NVIDIA's driver, {@code libcuda.so.1}, or one with its functions. */
final class Cuda {
    private static final Linker LINKER = Linker.nativeLinker();
    private final SymbolLookup library;

    /** Loads the library from a path, or by the name that the system searches for. */
    Cuda(String library) {
        try {
            this.library = SymbolLookup.libraryLookup(library, Arena.global());
        } catch (IllegalArgumentException e) {
            throw new IllegalStateException(library + " can't be loaded: install the driver of the GPU", e);
        }
    }

    /**
     * Calls a function of the library.
     *
     * @param arguments integers, longs and segments for C's {@code int}, 64-bit integers and pointers
     * @throws IllegalStateException if the function fails; the message has the name of the error
     */
    void call(String function, Object... arguments) {
        int error = call(library, function, arguments);
        if (error != 0) {
            throw new IllegalStateException(function + ": " + name(error));
        }
    }

    private String name(int error) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment name = scratch.allocate(ADDRESS);
            return call(library, "cuGetErrorName", error, name) == 0
                    ? name.get(ADDRESS, 0).reinterpret(Long.MAX_VALUE).getString(0)
                    : "error " + error + ", which the driver has no name for";
        }
    }

    /** Returns the size of the host's pages. */
    static long pageSize() {
        return call(LINKER.defaultLookup(), "getpagesize");
    }

    static void close(int descriptor) {
        call(LINKER.defaultLookup(), "close", descriptor);
    }

    private static int call(SymbolLookup library, String function, Object... arguments) {
        MemorySegment address = library.find(function)
                .orElseThrow(
                        () -> new IllegalStateException("this driver has no " + function + ": install a newer one"));
        MemoryLayout[] layouts = Stream.of(arguments)
                .map(each -> each instanceof Integer ? JAVA_INT : each instanceof Long ? JAVA_LONG : ADDRESS)
                .toArray(MemoryLayout[]::new);
        try {
            return (int) LINKER.downcallHandle(address, FunctionDescriptor.of(JAVA_INT, layouts))
                    .invokeWithArguments(arguments);
        } catch (Throwable e) {
            throw new AssertionError(function, e); // C throws nothing
        }
    }
}
