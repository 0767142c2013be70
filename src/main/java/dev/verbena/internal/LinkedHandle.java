package dev.verbena.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A downcall handle that is linked once. To link takes some 10 ms, and memory. A static initialiser that fails for lack of it
 * makes its class unusable for ever. So makers of what needs the handle call {@link #get} first, which can be repeated. The
 * class that holds the handle as a constant then only reads it. Before that, an instance costs nothing of the linker: a
 * program over TCP that calls no C does without it.
 */
public final class LinkedHandle {
    /** The way to call. */
    public enum Kind {
        /** Changes the thread's state. */
        PLAIN,
        /** Leaves the thread's state, and holds up safepoints. */
        CRITICAL,
        /** Changes the thread's state, and keeps {@code errno}. */
        ERRNO
    }

    private final Kind kind;
    private final MemoryLayout result;
    private final MemoryLayout[] arguments;
    private volatile @Nullable MethodHandle handle;

    public LinkedHandle(Kind kind, MemoryLayout result, MemoryLayout... arguments) {
        this.kind = kind;
        this.result = result;
        this.arguments = arguments;
    }

    /** Makes a handle whose result and arguments are all {@code long}s. */
    static LinkedHandle ofLongs(Kind kind, int arguments) {
        MemoryLayout[] all = new MemoryLayout[arguments];
        Arrays.fill(all, JAVA_LONG);
        return new LinkedHandle(kind, JAVA_LONG, all);
    }

    /** Returns whether the handle was linked. */
    boolean isLinked() {
        return handle != null;
    }

    /** Returns the handle, whose first argument is the address of the function. */
    public MethodHandle get() {
        MethodHandle known = handle;
        if (known == null) {
            synchronized (this) {
                known = handle;
                if (known == null) {
                    handle = known = link();
                }
            }
        }
        return known;
    }

    private MethodHandle link() {
        Linker.Option[] options = switch (kind) {
            case PLAIN -> new Linker.Option[0];
            case CRITICAL -> new Linker.Option[] {Linker.Option.critical(false)};
            case ERRNO -> new Linker.Option[] {Linker.Option.captureCallState("errno")};
        };
        return Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(result, arguments), options);
    }
}
