package dev.verbena.internal;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The fence that a thread issues for all threads of the process when it closes a shared object ({@code membarrier}).
 *
 * <p>A user of an object stores "busy", then reads "closed". The closing thread stores "closed", then reads "busy". Each
 * side needs a full fence between its two steps. Closing is rare, so the closing thread pays for both sides:
 * {@link #allThreads()} makes every thread execute a fence. The user's two steps then need only their program order.
 */
public final class Barrier {
    private static final int PRIVATE_EXPEDITED = 1 << 3;
    private static final int REGISTER_PRIVATE_EXPEDITED = 1 << 4;

    /** The property that turns the system call off with {@code false}, as on a kernel without it. */
    private static final String WANTED = "dev.verbena.membarrier";

    private static final @Nullable MethodHandle SYSCALL = link();
    private static final long MEMBARRIER = numberOfMembarrier();

    /** True if the kernel has the system call. Without it, users must fence for themselves. */
    public static final boolean AVAILABLE = Boolean.parseBoolean(System.getProperty(WANTED, "true"))
            && MEMBARRIER > 0
            && membarrier(REGISTER_PRIVATE_EXPEDITED) == 0;

    private Barrier() {}

    /** Makes every other running thread of this process execute a full fence before this method returns. */
    public static void allThreads() {
        if (!AVAILABLE || membarrier(PRIVATE_EXPEDITED) != 0) {
            VarHandle.fullFence();
        }
    }

    private static long membarrier(int command) {
        if (SYSCALL == null) {
            return -1;
        }
        try {
            return (long) SYSCALL.invokeExact(MEMBARRIER, (long) command, 0L, 0L);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    private static @Nullable MethodHandle link() {
        Linker linker = Linker.nativeLinker();
        FunctionDescriptor shape = FunctionDescriptor.of(
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG);
        try {
            return linker.downcallHandle(
                    linker.defaultLookup().find("syscall").orElseThrow(), shape, Linker.Option.firstVariadicArg(1));
        } catch (IllegalCallerException nativeAccessDenied) {
            return null; // no object of C can exist then, and a plain fence is enough
        }
    }

    private static long numberOfMembarrier() {
        return switch (System.getProperty("os.arch")) {
            case "amd64", "x86_64" -> 324;
            case "aarch64", "riscv64" -> 283;
            default -> -1;
        };
    }
}
