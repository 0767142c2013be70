package dev.verbena.support;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs a task on another thread, and passes on its result or exception. */
public final class OtherThread<T> {
    private final FutureTask<T> task;
    private final Thread thread;

    private OtherThread(Callable<T> work) {
        task = new FutureTask<>(work);
        thread = Thread.ofPlatform().daemon().name("other").start(task);
    }

    public static <T> OtherThread<T> start(Callable<T> work) {
        return new OtherThread<>(work);
    }

    public static OtherThread<Void> start(Runnable work) {
        return new OtherThread<>(() -> {
            work.run();
            return null;
        });
    }

    /** A task that may throw any exception. */
    @FunctionalInterface
    public interface Call<T> {
        T call() throws Throwable;
    }

    /** Calls a task on another thread, and passes on its result or exception. */
    public static <T> T call(Call<T> work) throws Throwable {
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
    public static void run(Runnable work) throws Throwable {
        start(work).join();
    }

    /** Waits for the task to end, and passes on its exception. */
    public T join() throws Throwable {
        try {
            return task.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw e.getCause();
        } catch (TimeoutException e) {
            TimeoutException stuck = new TimeoutException("the other thread is stuck");
            stuck.setStackTrace(thread.getStackTrace());
            throw stuck;
        }
    }

    public boolean isDone() {
        return task.isDone();
    }
}
