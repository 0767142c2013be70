package dev.verbena.internal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;

/** File descriptors that C takes or gives, for which Java has no object. */
public final class Descriptors {
    private static final MemorySegment DUP = libc("dup");
    private static final MemorySegment CLOSE = libc("close");

    private Descriptors() {}

    /** A second descriptor of the same file. */
    public static int duplicate(int descriptor) {
        int copy = (int) CFunction.callAt(DUP, descriptor);
        if (copy < 0) {
            throw new UncheckedIOException(
                    new IOException("dup(" + descriptor + "): " + Errno.describe(CFunction.errno())));
        }
        return copy;
    }

    /** Closes a descriptor that is this library's own. */
    public static void close(int descriptor) {
        CFunction.callAt(CLOSE, descriptor);
    }

    private static MemorySegment libc(String name) {
        return Linker.nativeLinker().defaultLookup().find(name).orElseThrow();
    }
}
