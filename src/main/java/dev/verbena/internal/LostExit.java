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

    /** The number of tries after which, and between which, a thread that waits looks: each look stops the other thread. */
    private static final int TRIES = 1_000;

    private LostExit() {}

    /**
     * Looks at a thread from time to time, and returns true if it is outside though a bracket knows it as its user.
     *
     * @param thread the user; null if it is known that there is none any more
     * @param tries the number of waits before, as for {@link Backoff#pause}
     */
    public static boolean isFound(@Nullable Thread thread, int tries) {
        return isTimeToLook(tries) && (thread == null || isOutside(thread));
    }

    static boolean isTimeToLook(int tries) {
        return tries % TRIES == TRIES - 1;
    }

    /** Returns true if a thread has ended, or runs no method of the library but those that the calling thread asks from. */
    public static boolean isOutside(Thread thread) {
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
        for (StackTraceElement frame : stack) {
            String name = frame.getClassName();
            if (!name.startsWith(LIBRARY)) {
                below |= !name.startsWith("java.") && !name.startsWith("jdk.");
            } else if (below) {
                return false;
            }
        }
        return true;
    }
}
