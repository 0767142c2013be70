package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;

/**
 * A C function of the control path, found by name when it is first called.
 *
 * <p>Every argument is passed as a {@code long}. In the LP64 ABIs of Linux (x86-64, AArch64, RISC-V), each integer or
 * pointer argument has a 64-bit register or slot of its own. A callee reads as much of it as its type needs, provided
 * that narrower values are sign- or zero-extended, as widening in Java does. So one linked handle for each
 * <em>number</em> of arguments serves all functions, and a program links six handles, not a hundred. The result is a
 * {@code long} too: cast it to {@code int} where C returns an {@code int}.
 *
 * <p>Each call keeps {@code errno} for its thread: see {@link #errno()}. The data path has handles of its own, in
 * {@link DataPathCalls}. All threads may call a function at once.
 */
public final class CFunction {
    private static final int MAX_ARGUMENTS = 8;
    private static final StructLayout CAPTURED = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = CAPTURED.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final ThreadLocal<MemorySegment> CAPTURE =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(CAPTURED));
    private static final @Nullable MethodHandle[] BY_ARITY = new @Nullable MethodHandle[MAX_ARGUMENTS + 1];

    private final NativeLibraries library;
    private final String name;
    private final int since;
    private volatile @Nullable MemorySegment address;

    /** Describes a function that all supported releases of rdma-core have. */
    public CFunction(NativeLibraries library, String name) {
        this(library, name, RdmaCoreVersion.OLDEST);
    }

    /**
     * Describes a function that only newer releases have. Make sure that {@link #isPresent} before the call.
     *
     * @param since the release of rdma-core that brought the function
     */
    public CFunction(NativeLibraries library, String name, int since) {
        this.library = library;
        this.name = name;
        this.since = since;
    }

    /** Returns the C name. */
    public String name() {
        return name;
    }

    /** Returns the oldest supported release of rdma-core that has this function. */
    public int since() {
        return since;
    }

    /** Returns whether the loaded library has this function: functions newer than rdma-core 44 may be missing. */
    public boolean isPresent() {
        return address != null || library.symbol(name).isPresent();
    }

    /** Returns the value of {@code errno} after this thread's last call. */
    public static int errno() {
        return (int) ERRNO.get(CAPTURE.get(), 0L);
    }

    /** Calls the function. Cast the result to {@code int} where C returns one. */
    public long call(long... arguments) {
        return callAt(address(), arguments);
    }

    /** Calls a function by its address, such as one that a pointer in a struct leads to. */
    public static long callAt(MemorySegment function, long... arguments) {
        MethodHandle handle = handle(arguments.length);
        MemorySegment capture = CAPTURE.get();
        try {
            return (long) handle.invokeExact(function, capture, arguments);
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /** Converts what a downcall threw: it throws nothing of its own but errors of the virtual machine. */
    static RuntimeException unexpected(Throwable t) {
        if (t instanceof Error error) {
            throw error;
        }
        if (t instanceof RuntimeException e) {
            return e;
        }
        throw new AssertionError(t);
    }

    private MemorySegment address() {
        MemorySegment known = address;
        if (known == null) {
            address = known = library.symbol(name)
                    .orElseThrow(() -> new NoSuchElementException(
                            library.file() + " has no " + name + ": rdma-core " + since + " or newer is needed"));
        }
        return known;
    }

    /** Returns the handle for a number of arguments. A race links the same handle twice, without harm. */
    private static MethodHandle handle(int arity) {
        MethodHandle known = BY_ARITY[arity];
        if (known == null) {
            BY_ARITY[arity] = known = link(arity);
        }
        return known;
    }

    private static MethodHandle link(int arity) {
        ValueLayout.OfLong[] arguments = new ValueLayout.OfLong[arity];
        Arrays.fill(arguments, ValueLayout.JAVA_LONG);
        return Linker.nativeLinker()
                .downcallHandle(
                        FunctionDescriptor.of(ValueLayout.JAVA_LONG, arguments),
                        Linker.Option.captureCallState("errno"))
                .asSpreader(2, long[].class, arity);
    }
}
