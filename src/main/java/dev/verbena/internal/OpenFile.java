package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** A file that was opened to pass its descriptor to C. The descriptors of {@code java.nio} are not accessible. */
public final class OpenFile implements AutoCloseable {
    /** {@code O_CREAT}. */
    public static final int CREATE = 0100;

    private static final int CLOSE_ON_EXEC = 02000000;

    private final int descriptor;

    private OpenFile(int descriptor) {
        this.descriptor = descriptor;
    }

    /** Opens a file for reading. The descriptor is negative on failure, and {@link CFunction#errno} is set. */
    public static OpenFile of(Path path) {
        try (Arena scratch = Arena.ofConfined()) {
            long name = scratch.allocateFrom(path.toString()).address();
            return new OpenFile((int) CFunction.callAt(libc("open"), name, CLOSE_ON_EXEC));
        }
    }

    /** Returns the descriptor, which is negative if the file could not be opened. */
    public int descriptor() {
        return descriptor;
    }

    @Override
    public void close() {
        if (descriptor >= 0) {
            CFunction.callAt(libc("close"), descriptor);
        }
    }

    private static MemorySegment libc(String function) {
        return Linker.nativeLinker().defaultLookup().find(function).orElseThrow();
    }
}
