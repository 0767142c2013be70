package dev.verbena.internal;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Makes the threads of the library: daemons whose names begin with {@code verbena-}, and which inherit no values of the
 * thread that needed them first.
 */
public final class Daemons {
    private static final long IDLE_SECONDS = 1;

    private Daemons() {}

    /**
     * Returns a builder of a thread.
     *
     * @param job the thread's name without {@code verbena-}
     */
    public static Thread.Builder.OfPlatform named(String job) {
        return Thread.ofPlatform().daemon().name("verbena-" + job).inheritInheritableThreadLocals(false);
    }

    /**
     * Notes an interrupt of a thread of the library that nobody of ours has asked for: the flight recorder shows it. The
     * thread goes on. Threads end by other means, and the interrupt that makes one look for its end comes afterwards.
     */
    public static void interrupted() {
        try {
            if (Recorder.isPresent()) {
                StrayInterruptEvent event = new StrayInterruptEvent();
                event.commit();
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return; // the thread goes on
        }
    }

    /** Returns a pool that has a thread for each task, which ends when it has had nothing to do for a while. */
    public static ExecutorService pool(String job) {
        return executor(job, Integer.MAX_VALUE, new SynchronousQueue<>());
    }

    /** Returns a thread for tasks, one after the other. It ends when it has had nothing to do for a while. */
    public static ExecutorService single(String job) {
        return executor(job, 1, new LinkedBlockingQueue<>());
    }

    private static ExecutorService executor(String job, int most, BlockingQueue<Runnable> tasks) {
        return new ThreadPoolExecutor(
                0, most, IDLE_SECONDS, TimeUnit.SECONDS, tasks, named(job).factory());
    }
}
