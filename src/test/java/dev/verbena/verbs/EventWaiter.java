package dev.verbena.verbs;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.support.Await;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;

/** A thread that waits for an asynchronous event of a context, or for anything else. */
final class EventWaiter {
    private final AtomicReference<Object> end = new AtomicReference<>();
    private final Thread thread;

    EventWaiter(Thread.Builder builder, Context context) {
        this(builder, () -> context.events().await(DEADLINE));
    }

    /** Starts a thread, and returns when it waits. */
    EventWaiter(Thread.Builder builder, Callable<?> wait) {
        thread = builder.start(() -> {
            try {
                end.set(wait.call());
            } catch (Throwable t) {
                end.set(t);
            }
        });
        Await.until("a thread that waits", () -> Await.isAsleep(thread) || end.get() != null);
    }

    void interrupt() {
        thread.interrupt();
    }

    boolean isWaiting() {
        return end.get() == null;
    }

    /** Waits for the thread to end, and returns the event that it took, or what its wait threw. */
    Object end() throws InterruptedException {
        Await.end(thread);
        return end.get();
    }
}
