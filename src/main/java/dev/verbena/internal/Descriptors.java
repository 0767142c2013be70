package dev.verbena.internal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;

/** Operations on file descriptors that Java has no object for. */
public final class Descriptors {
    private static final MemorySegment DUP = libc("dup");
    private static final MemorySegment CLOSE = libc("close");

    private Descriptors() {}

    /** Returns a second descriptor of the same file ({@code dup}). */
    public static int duplicate(int descriptor) {
        int copy = (int) CFunction.callAt(DUP, descriptor);
        if (copy < 0) {
            throw new UncheckedIOException(
                    new IOException("dup(" + descriptor + "): " + Errno.describe(CFunction.errno())));
        }
        return copy;
    }

    /** Closes a descriptor that belongs to this library. */
    public static void close(int descriptor) {
        CFunction.callAt(CLOSE, descriptor);
    }

    /**
     * Makes reads of a descriptor answer {@code EAGAIN} where they would block.
     *
     * @throws SystemCallException if {@code fcntl} fails
     */
    public static void makeNonBlocking(int descriptor) {
        SystemCall.makeNonBlocking(descriptor);
    }

    private static MemorySegment libc(String name) {
        return Linker.nativeLinker().defaultLookup().find(name).orElseThrow();
    }
}
