package dev.verbena.support;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.verbena.internal.Barrier;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.NativeLibraries;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * A seccomp filter that makes system calls fail, as a sandbox does. It can't be taken back: a filter for all threads is for
 * child JVMs, and one for a thread is for a thread that ends.
 */
public final class SystemCallFilter {
    private static final boolean X86 = System.getProperty("os.arch").equals("amd64");
    private static final long SECCOMP = X86 ? 317 : 277;
    private static final long MEMBARRIER = X86 ? 324 : 283;
    private static final long CLONE = X86 ? 56 : 220;
    private static final long CLONE3 = 435;
    private static final int EPERM = 1;
    private static final int EAGAIN = 11;

    private static final int NO_NEW_PRIVILEGES = 38; // PR_SET_NO_NEW_PRIVS, which seccomp demands
    private static final long MODE_FILTER = 1;
    private static final long ALL_THREADS = 1; // SECCOMP_FILTER_FLAG_TSYNC
    private static final long THIS_THREAD = 0;
    private static final int QUERY = 0; // a command of membarrier that always succeeds

    private static final int LOAD_WORD = 0x20; // BPF_LD | BPF_W | BPF_ABS
    private static final int JUMP_IF_EQUAL = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    private static final int RETURN = 0x06; // BPF_RET | BPF_K
    private static final int ALLOW = 0x7fff0000;
    private static final int FAIL = 0x00050000;

    private static final MethodHandle SYSCALL = function("syscall", 4);
    private static final MethodHandle PRCTL = function("prctl", 5);

    private SystemCallFilter() {}

    private static MethodHandle function(String name, int arguments) {
        Linker linker = Linker.nativeLinker();
        FunctionDescriptor shape = FunctionDescriptor.of(JAVA_LONG);
        for (int i = 0; i < arguments; i++) {
            shape = shape.appendArgumentLayouts(JAVA_LONG);
        }
        return linker.downcallHandle(
                linker.defaultLookup().find(name).orElseThrow(), shape, Linker.Option.firstVariadicArg(1));
    }

    private static long call(MethodHandle function, long... arguments) {
        try {
            return (long) function.asSpreader(long[].class, arguments.length).invoke(arguments);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Calls {@code membarrier} with a command that cannot fail unless the call is forbidden. */
    public static long membarrier() {
        return call(SYSCALL, MEMBARRIER, QUERY, 0, 0);
    }

    /** Lets the library use {@code membarrier}, and makes it fail with EPERM then, in all threads. */
    public static void forbidMembarrierInUse() {
        new CFunction(NativeLibraries.C, "getpid").find(); // processes that call C use the system call
        Barrier.prepare();
        if (!Barrier.isSystemCall()) {
            throw new AssertionError("this kernel has no membarrier, which the test would forbid");
        }
        forbid(ALL_THREADS, EPERM, MEMBARRIER);
        if (membarrier() != -1) {
            throw new AssertionError("the filter does not forbid membarrier");
        }
    }

    /** Makes {@code membarrier} fail with EPERM from now on, in this thread and in threads that it starts. */
    public static void forbidMembarrierHere() {
        forbid(THIS_THREAD, EPERM, MEMBARRIER);
        if (membarrier() != -1) {
            throw new AssertionError("the filter does not forbid membarrier");
        }
    }

    /** Makes each attempt of this thread to start another thread fail from now on, as at the limit of a container. */
    public static void forbidThreadsHere() {
        forbid(THIS_THREAD, EAGAIN, CLONE, CLONE3);
    }

    /** Makes system calls fail. */
    private static void forbid(long threads, int errno, long... numbers) {
        try (Arena arena = Arena.ofConfined()) {
            int length = 2 * numbers.length + 2;
            MemorySegment program = arena.allocate(length * 8L, 8); // struct sock_filter[]
            instruction(program, 0, LOAD_WORD, 0, 0); // the number is first in struct seccomp_data
            for (int i = 0; i < numbers.length; i++) {
                instruction(program, 1 + 2 * i, JUMP_IF_EQUAL, 1, (int) numbers[i]); // if not, skip the next
                instruction(program, 2 + 2 * i, RETURN, 0, FAIL | errno);
            }
            instruction(program, length - 1, RETURN, 0, ALLOW);
            MemorySegment filter = arena.allocate(16, 8); // struct sock_fprog
            filter.set(JAVA_SHORT, 0, (short) length);
            filter.set(ADDRESS, 8, program);
            if (call(PRCTL, NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0
                    || call(SYSCALL, SECCOMP, MODE_FILTER, threads, filter.address()) != 0) {
                throw new AssertionError("the kernel takes no seccomp filter");
            }
        }
    }

    private static void instruction(MemorySegment program, int index, int code, int otherwise, int operand) {
        long at = index * 8L;
        program.set(JAVA_SHORT, at, (short) code);
        program.set(JAVA_BYTE, at + 3, (byte) otherwise); // the jump if the condition is false
        program.set(JAVA_INT, at + 4, operand);
    }
}
