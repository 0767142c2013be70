package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A C function of the control path: found in a library by its name when it is first called, or by a pointer.
 *
 * <p>Every argument is passed as a {@code long}. In the LP64 ABIs of Linux (x86-64, AArch64, RISC-V), each integer or
 * pointer argument has a 64-bit register or slot of its own. A callee reads as much of it as its type needs, provided
 * that narrower values are sign- or zero-extended, as widening in Java does. A callee does not see arguments that it has
 * no parameter for: they are in registers that it may overwrite. So one linked handle serves all functions, of which none
 * has more than six arguments: to link a handle takes some 10 ms. The result is a {@code long} too: cast it to {@code int}
 * where C returns an {@code int}.
 *
 * <p>Each call keeps {@code errno} for its thread: see {@link #errno()}. The data path has handles of its own, in
 * {@link Driver}. All threads may call a function at once.
 */
public final class CFunction {
    private static final int MOST = 6;

    /** The memory for the {@code errno} of each thread. On Linux, the linker captures nothing else. */
    private static final ThreadLocal<MemorySegment> CAPTURE =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(Linker.Option.captureStateLayout()));

    /** True once the other handle of {@link #callQuietly} can be called without memory. */
    private static volatile boolean hasSpare;

    private static final LinkedHandle LINK = LinkedHandle.ofLongs(LinkedHandle.Kind.ERRNO, MOST);

    /** Holds the handle, in a class of its own: it is linked before the first call. Six arguments are in registers. */
    private static final class Linked {
        static final MethodHandle HANDLE = LINK.get();
    }

    private final @Nullable NativeLibraries library;
    private final String symbol;
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
        this(library, name, since, null);
    }

    private CFunction(@Nullable NativeLibraries library, String symbol, int since, @Nullable MemorySegment address) {
        this.library = library;
        this.symbol = symbol;
        this.name = symbol.startsWith("_") ? symbol.substring(1) : symbol; // a macro or an inline function calls those
        this.since = since;
        this.address = address;
    }

    /** Describes a function that a pointer in a struct leads to; NULL if there is none. */
    public static CFunction at(String name, MemorySegment pointer) {
        LINK.get();
        return new CFunction(null, name, 0, pointer.address() == 0 ? null : pointer);
    }

    /** Returns whether this process calls functions of C. */
    public static boolean isInUse() {
        return LINK.isLinked();
    }

    /** Returns the C name. */
    public String name() {
        return name;
    }

    /** Returns the oldest supported release of rdma-core that has this function; 0 if that is up to the driver. */
    public int since() {
        return since;
    }

    /** Returns whether the library or the driver has this function: functions newer than rdma-core 44 may be missing. */
    public boolean isPresent() {
        return address != null || (library != null && library.symbol(symbol).isPresent());
    }

    /** Returns the value of {@code errno} after this thread's last call. */
    public static int errno() {
        return CAPTURE.get().get(ValueLayout.JAVA_INT, 0);
    }

    /** Returns the segment that keeps this thread's {@code errno}, for handles of other classes. */
    public static MemorySegment captured() {
        return CAPTURE.get();
    }

    /** Calls the function. Cast the result to {@code int} where C returns one. */
    public long call(long... arguments) {
        MemorySegment function = address(); // first: this links the handle
        MemorySegment capture = CAPTURE.get();
        long[] a = arguments;
        if (a.length > MOST) {
            throw new IllegalArgumentException("at most " + MOST + " arguments, got " + a.length);
        }
        try {
            return (long) Linked.HANDLE.invokeExact(
                    function, capture, at(a, 0), at(a, 1), at(a, 2), at(a, 3), at(a, 4), at(a, 5));
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /** Calls a function of three parameters without an array of the arguments, which is an object. */
    public long call(long first, long second, long third) {
        MemorySegment function = address(); // first: this links the handle
        try {
            return (long) Linked.HANDLE.invokeExact(function, CAPTURE.get(), first, second, third, 0L, 0L, 0L);
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /**
     * Calls the function without an allocation: for what must be done although memory may be missing, such as to acknowledge
     * an event, for which C waits. {@link #find} the function before. The error number is lost.
     *
     * <p>The JDK makes a class for a handle at its 128th call, unless C2 has compiled the caller. If memory is missing just
     * then, that call and all that follow end before C is called. So another handle, for two arguments, calls C then.
     */
    public long callQuietly(long first, long second, long third, long fourth) {
        ExtendedCalls.PLAIN.prepare(true);
        MemorySegment function = address();
        try {
            return ExtendedCalls.PLAIN.call(function, first, second, third, fourth, 0, 0);
        } catch (OutOfMemoryError beforeTheCall) {
            if (!hasSpare || third != 0 || fourth != 0) {
                throw beforeTheCall;
            }
            return ExtendedCalls.PLAIN.call(function, first, second);
        }
    }

    /** Finds the function and links the handles of {@link #callQuietly}. */
    public CFunction find() {
        ExtendedCalls.PLAIN.prepare(true);
        address();
        if (!hasSpare) {
            ExtendedCalls.PLAIN.prepare(false);
            // The first call takes memory, too.
            ExtendedCalls.PLAIN.call(NativeLibraries.C.symbol("labs").orElseThrow(), 0, 0);
            hasSpare = true;
        }
        return this;
    }

    private static long at(long[] arguments, int index) {
        return index < arguments.length ? arguments[index] : 0;
    }

    /** Converts what a downcall threw: it throws nothing of its own but errors of the virtual machine. */
    public static RuntimeException unexpected(Throwable t) {
        if (t instanceof Error error) {
            throw error;
        }
        if (t instanceof RuntimeException e) {
            return e;
        }
        throw new AssertionError(t);
    }

    /** Returns the address of the function. */
    public MemorySegment address() {
        MemorySegment known = address;
        if (known == null) {
            Optional<MemorySegment> found = Objects.requireNonNull(library).symbol(symbol);
            if (found.isEmpty()) {
                throw new NoSuchElementException(
                        library.file() + " has no " + name + ": rdma-core " + since + " or newer is needed");
            }
            LINK.get();
            address = known = found.get();
        }
        return known;
    }
}
