package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.invoke.VarHandle;

/**
 * The fence that a thread issues for all threads of the process when it closes a shared object.
 *
 * <p>A user of an object stores "busy", then reads "closed". The closing thread stores "closed", then reads "busy". Each
 * side needs a full fence between its two steps. Closing is rare, so the closing thread pays for both sides:
 * {@link #allThreads()} makes every thread execute a fence. The user's two steps then need only their program order.
 *
 * <h2>Why no call is under way when an object is destroyed</h2>
 *
 * The steps of {@code SharedGuard}, with their memory order, for a user U that has the flag and a closing thread C:
 *
 * <pre>
 * U1  busy = true      opaque            C1  closed = true       volatile
 * U2  read closed      volatile          C2  allThreads()
 * U3  the call, if "closed" was false    C3  read busy           volatile, until it is false
 * U4  busy = false     release           C4  destroy the object
 * </pre>
 *
 * <ol>
 *   <li>HotSpot's compilers keep U1 before U2 in the code: an opaque access is fenced from other accesses for the compiler.
 *       A processor with weak memory, such as AArch64, may still carry out U2 first. So may x86-64, whose store buffer
 *       delays U1.
 *   <li>During C2, U executes a full fence F at some place of its program, or is not running, and then a change of context
 *       has the effect of F. The kernel guarantees that C1 comes before F, and F before C3, in the order of memory.
 *   <li>If F is after U1 in the program, U1 is visible to C3. So C3 reads true, and C waits for U4.
 *   <li>Else F is before U1, and so before U2. C1 is visible to U2, U2 reads true, and U makes no call.
 *   <li>U4 is a release, and C3 that reads its value is an acquire, as volatile reads are. All accesses of U3 come before
 *       those of C4: the processor (on AArch64 by {@code stlr} and {@code ldar}) and the compiler keep that order.
 * </ol>
 *
 * <p>A user without the flag counts itself in a place of its own by the same steps. Only when too many threads use an object,
 * they count together, by a volatile atomic addition before a volatile read of "closed". Both are sequentially consistent, as
 * is C1, and C2 is a full fence in the closing thread too: so one of the two sees the other.
 *
 * <p>There are two ways to fence. {@code membarrier} is a system call, which interrupts the processors that run threads of
 * this process. A handshake of the virtual machine with all its threads needs no function of C: a shared arena of the JDK is
 * closed. It has the effect of F: each thread stops at a safepoint, or is in C or blocked and has published its accesses. The
 * JDK relies on it for its own threads that read a segment, without a fence, while another closes the arena. It takes longer,
 * which only closing pays.
 *
 * <p>The handshake does until the process calls C, and where {@code membarrier} is missing or fails (a seccomp filter came, or
 * the kernel has no memory).
 *
 * <p>{@code GuardHammerTest}, {@code BarrierTest} and {@code CloseStressTest} look for a counter-example. The window is so
 * short on x86-64 that they do not notice a close without a fence: other tests see that there is one. On AArch64, only the last
 * has run, on two processors that an x86-64 machine emulated. These reorder less than real ones do, so what counts there is
 * the proof.
 */
public final class Barrier {
    private static final int PRIVATE_EXPEDITED = 1 << 3;
    private static final int REGISTER_PRIVATE_EXPEDITED = 1 << 4;

    /** The property that turns the system call off with {@code false}, as on a kernel without it. */
    private static final String WANTED = "dev.verbena.membarrier";

    private static final long MEMBARRIER = numberOfMembarrier(System.getProperty("os.arch"));

    /**
     * {@code syscall} takes its arguments as other functions do, although C declares it as one of any number of arguments: it
     * reads no vector registers. So it needs no handle of its own.
     */
    private static final CFunction SYSCALL = new CFunction(NativeLibraries.C, "syscall");

    /** True once it is known whether the system call can be used. */
    private static volatile boolean chosen;

    /** True while the system call is used. Once it has failed, it is not tried again: the threads may be filtered. */
    private static volatile boolean registered;

    static {
        try {
            handshake(); // loads what closing needs
        } catch (Throwable shortage) {
            // Closing relies on this class, which must not become unusable.
        }
    }

    private Barrier() {}

    /**
     * Chooses the way to fence, before an object is made that has to be closed one day. To link a function of C takes some
     * 10 ms, for which a process that calls none does not wait.
     */
    public static void prepare() {
        if (!chosen && CFunction.isInUse()) {
            choose();
        }
    }

    private static void choose() {
        try {
            registered = Boolean.parseBoolean(System.getProperty(WANTED, "true"))
                    && MEMBARRIER > 0
                    && membarrier(REGISTER_PRIVATE_EXPEDITED) == 0;
            chosen = true;
        } catch (Throwable shortage) {
            // Handshakes do until the next object is made.
        }
    }

    /** Returns whether the system call is used. */
    public static boolean isSystemCall() {
        return registered;
    }

    /** Makes every thread of the process that runs Java execute a full fence before this method returns. */
    public static void allThreads() {
        VarHandle.fullFence();
        if (!registered || membarrier(PRIVATE_EXPEDITED) != 0) {
            registered = false;
            handshake();
        }
    }

    /** Stops each thread of the virtual machine for a moment, or sees that it runs no Java. */
    private static void handshake() {
        try (Arena _ = Arena.ofShared()) {
            // closing the arena is the handshake
        } catch (OutOfMemoryError shortage) {
            System.gc(); // stops all threads too, as the attempt to find memory has
        }
        VarHandle.fullFence();
    }

    private static long membarrier(int command) {
        return SYSCALL.callQuietly(MEMBARRIER, command, 0, 0);
    }

    /** Returns the number of the system call on a kind of processor, as Java names it; -1 if it is unknown. */
    static long numberOfMembarrier(String processor) {
        return switch (processor) {
            case "amd64", "x86_64" -> 324;
            case "aarch64", "riscv64" -> 283;
            default -> -1;
        };
    }
}
