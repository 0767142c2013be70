package dev.verbena.internal;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The expensive half of the handshake between whoever uses a shared object and whoever closes it.
 *
 * <p>A user stores "busy", then reads "closed"; the closer stores "closed", then reads "busy". Each side needs a full
 * fence between its two steps. Closing is rare, so the closer pays for both: {@link #allThreads()} makes every thread
 * of the process execute one ({@code membarrier}), and the user's two steps need only keep their program order.
 */
public final class Barrier {
    private static final int PRIVATE_EXPEDITED = 1 << 3;
    private static final int REGISTER_PRIVATE_EXPEDITED = 1 << 4;

    /** {@code false} does without it, as on a kernel that lacks it. */
    private static final String WANTED = "dev.verbena.membarrier";

    private static final @Nullable MethodHandle SYSCALL = link();
    private static final long MEMBARRIER = numberOfMembarrier();

    /** Whether the kernel offers it here; where it doesn't, users must fence for themselves. */
    public static final boolean AVAILABLE = Boolean.parseBoolean(System.getProperty(WANTED, "true"))
            && MEMBARRIER > 0
            && membarrier(REGISTER_PRIVATE_EXPEDITED) == 0;

    private Barrier() {}

    /** Every other running thread of this process has executed a full fence when this returns. */
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
            return null; // nothing can be shared with C then, and a plain fence will do
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
