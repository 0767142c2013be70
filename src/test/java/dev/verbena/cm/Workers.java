package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.support.Await;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** Threads of a test, which end with it. */
class Workers implements AutoCloseable {
    private final ExecutorService threads =
            Executors.newCachedThreadPool(Thread.ofPlatform().daemon().factory());

    <T> Future<T> start(Callable<T> work) {
        return threads.submit(work);
    }

    Future<?> start(Runnable work) {
        return threads.submit(work);
    }

    /** Starts a thread that waits, and is asleep when this returns. */
    <T> Future<T> asleep(Callable<T> wait) {
        AtomicReference<Thread> thread = new AtomicReference<>();
        Future<T> result = start(() -> {
            thread.set(Thread.currentThread());
            return wait.call();
        });
        Await.until("a thread that waits", () -> thread.get() != null && Await.isAsleep(thread.get()));
        return result;
    }

    static <T> T end(Future<T> work) throws Exception {
        return work.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
