package dev.verbena.support;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs a task on another thread, and passes on its result or exception. Tells whether it sleeps meanwhile. */
public final class OtherThread<T> {
    private final FutureTask<T> task;
    private final Thread thread;

    private OtherThread(Thread.Builder builder, Callable<T> work) {
        task = new FutureTask<>(work);
        thread = builder.name("other").start(task);
    }

    public static <T> OtherThread<T> start(Callable<T> work) {
        return start(false, work);
    }

    public static OtherThread<Void> start(Runnable work) {
        return start(() -> {
            work.run();
            return null;
        });
    }

    /** Runs a task on a virtual thread, or a platform thread. */
    public static <T> OtherThread<T> start(boolean virtual, Callable<T> work) {
        return new OtherThread<>(
                virtual ? Thread.ofVirtual() : Thread.ofPlatform().daemon(), work);
    }

    /** A task that may throw any exception. */
    @FunctionalInterface
    public interface Call<T> {
        T call() throws Throwable;
    }

    /** Calls a task on another thread, and passes on its result or exception. */
    public static <T> T call(Call<T> work) throws Exception {
        return start(() -> {
                    try {
                        return work.call();
                    } catch (Exception | Error e) {
                        throw e;
                    } catch (Throwable t) {
                        throw new AssertionError(t);
                    }
                })
                .join();
    }

    /** Runs a task on another thread to its end, and passes on its exception. */
    public static void run(Runnable work) throws Exception {
        start(work).join();
    }

    public Thread thread() {
        return thread;
    }

    /** Waits until the task sleeps, or has ended. */
    public OtherThread<T> asleep() {
        Await.until("the sleep of another thread", () -> isDone() || Await.isAsleep(thread));
        return this;
    }

    /** Returns whether the task sleeps in C. */
    public boolean isInC() {
        return thread.getState() == Thread.State.RUNNABLE && Await.isAsleep(thread);
    }

    /** Waits for the task to end, and passes on its exception. */
    public T join() throws Exception {
        try {
            return task.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw (Error) e.getCause();
        } catch (TimeoutException e) {
            TimeoutException stuck = new TimeoutException("the other thread is stuck");
            stuck.setStackTrace(thread.getStackTrace());
            throw stuck;
        }
    }

    /** Waits for the task to end, and returns what it has thrown. */
    public Throwable failure() {
        try {
            return new AssertionError("no failure, but " + join());
        } catch (Exception | Error thrown) {
            return thrown;
        }
    }

    public boolean isDone() {
        return task.isDone();
    }
}
