package dev.verbena.examples;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.stream.Stream;

/** The library in place of that of a GPU's driver (src/test/c/cuda.c): made by the C compiler, and its controls. */
final class StandInCuda {
    final Path file;
    private final SymbolLookup library;

    StandInCuda(Path folder) throws Exception {
        file = folder.resolve("libcuda.so.1");
        String command = "gcc -O1 -g -Wall -Wextra -Werror -fPIC -shared -o " + file + " src/test/c/cuda.c";
        ProcessBuilder compiler = new ProcessBuilder(command.split(" ")).redirectErrorStream(true);
        compiler.environment().remove("LD_PRELOAD"); // the provider for tests
        Process process = compiler.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        library = SymbolLookup.libraryLookup(file, Arena.global());
    }

    /** Makes the next call of a function fail with an error. */
    void fail(String function, int error) {
        try (Arena scratch = Arena.ofConfined()) {
            call("standin_fail", scratch.allocateFrom(function), error);
        }
    }

    /** Sets whether the GPU hands out DMA buffers. */
    void support(boolean on) {
        call("standin_support", on ? 1 : 0);
    }

    /** Returns the number of contexts and allocations that are left. */
    int left() {
        return call("standin_left");
    }

    /** Returns the number of DMA buffers that the kernel has made. */
    int dmaBuffers() {
        return call("standin_dma_buffers");
    }

    /** Returns the size of the host's pages. */
    long pageSize() {
        return call("getpagesize"); // of libc, which the library needs
    }

    private int call(String function, Object... arguments) {
        MemoryLayout[] layouts = Stream.of(arguments)
                .map(each -> each instanceof Integer ? JAVA_INT : ADDRESS)
                .toArray(MemoryLayout[]::new);
        try {
            return (int) Linker.nativeLinker()
                    .downcallHandle(library.find(function).orElseThrow(), FunctionDescriptor.of(JAVA_INT, layouts))
                    .invokeWithArguments(arguments);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
