package dev.verbena.internal;

import org.jspecify.annotations.Nullable;

/**
 * Finds threads that left a call or a lock without its exit. A thread whose stack is full has no room for the method that
 * ends the call or gives the lock back, so the thread stays noted. Who waits for that thread looks at its stack from time to
 * time: a thread is in a call, or has a lock, only while a method of the library runs in it.
 *
 * <p>A check for room at the entry would not do: HotSpot moves the end of the stack while it throws the error, so that the
 * entry succeeds beyond the end and the exit fails (found with stacks of 256 KiB, 5 lost exits in 90,000 calls).
 */
public final class LostExit {
    private static final String LIBRARY = "dev.verbena.";

    // Literals, so that the class has no initialiser: one that fails for lack of stack or heap makes it unusable for
    // ever.
    private static final String SLEEPER = "dev.verbena.internal.Waiters";

    private static final String TAKER = "dev.verbena.internal.DescriptorWaits$Wait";

    private static final String SERVER = "dev.verbena.internal.Daemons";

    /** The number of tries after which, and between which, a thread that waits looks: each look stops the other thread. */
    private static final int TRIES = 1_000;

    private LostExit() {}

    /**
     * Looks at a thread from time to time, and returns true if it has no lock any more though the lock knows it as its owner.
     *
     * @param tries the number of waits before, as for {@link Backoff#pause}
     */
    static boolean isFound(Thread thread, int tries) {
        return isTimeToLook(tries) && isOutside(thread);
    }

    /**
     * Looks at a thread from time to time, and returns true if it is in no call of a guard that knows it as its user. A thread
     * that sleeps in {@link Waiters} is in no call, because closing must wake it. One that takes events there is in a call.
     *
     * @param thread the user; null if there is none any more
     * @param tries the number of waits before, as for {@link Backoff#pause}
     */
    public static boolean isFoundInNoCall(@Nullable Thread thread, int tries) {
        return isTimeToLook(tries) && (thread == null || isOutside(thread, true));
    }

    static boolean isTimeToLook(int tries) {
        return tries % TRIES == TRIES - 1;
    }

    /** Returns true if a thread has ended, or runs no method of the library but those that the calling thread asks from. */
    static boolean isOutside(Thread thread) {
        return isOutside(thread, false);
    }

    private static boolean isOutside(Thread thread, boolean orAsleep) {
        if (!thread.isAlive()) {
            return true;
        }
        StackTraceElement[] stack;
        try {
            stack = thread.getStackTrace();
        } catch (OutOfMemoryError later) {
            return false; // the next look may have memory
        }
        boolean below = thread != Thread.currentThread(); // below the call that asks
        boolean inside = false;
        boolean asleep = false;
        boolean taking = false;
        boolean parked = stack.length > 0 && stack[0].getMethodName().equals("park");
        boolean program = false;
        for (StackTraceElement frame : stack) {
            String name = frame.getClassName();
            if (!name.startsWith(LIBRARY)) {
                program |= !name.startsWith("java.") && !name.startsWith("jdk.");
                below |= program;
            } else if (name.equals(SLEEPER) && frame.getMethodName().equals("sleep")) {
                asleep = !taking;
            } else if (name.equals(SERVER) && frame.getMethodName().equals("serve")) {
                return asleep && !program; // it rests between two calls of the program's code
            } else {
                // It may be off the processor within C, with an object that a close would destroy.
                taking |= !parked && name.equals(TAKER) && frame.getMethodName().equals("takeAndTick");
                inside |= below;
            }
        }
        return !inside || (orAsleep && asleep);
    }
}
