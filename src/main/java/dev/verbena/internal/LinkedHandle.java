package dev.verbena.internal;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/**
 * A downcall handle that is linked once. To link takes some 10 ms, and memory. A static initialiser that fails for lack of it
 * makes its class unusable for ever. So makers of what needs the handle call {@link #get} first, which can be repeated. The
 * class that holds the handle as a constant then only reads it.
 */
final class LinkedHandle {
    private final FunctionDescriptor shape;
    private final Linker.Option[] options;
    private volatile @Nullable MethodHandle handle;

    LinkedHandle(FunctionDescriptor shape, Linker.Option... options) {
        this.shape = shape;
        this.options = options;
    }

    /** Returns whether the handle was linked. */
    boolean isLinked() {
        return handle != null;
    }

    /** Returns the handle, whose first argument is the address of the function. */
    MethodHandle get() {
        MethodHandle known = handle;
        if (known == null) {
            synchronized (this) {
                known = handle;
                if (known == null) {
                    handle = known = Linker.nativeLinker().downcallHandle(shape, options);
                }
            }
        }
        return known;
    }
}
