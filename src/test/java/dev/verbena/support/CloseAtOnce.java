package dev.verbena.support;

import dev.verbena.VerbsException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/** Closes objects at once. */
public final class CloseAtOnce {
    private CloseAtOnce() {}

    /**
     * Closes objects at once, each in a thread of its own, while other threads are in calls that may end for that. Throws what
     * a close throws, and if a thread does not end.
     */
    public static void close(List<? extends AutoCloseable> objects, List<? extends Callable<?>> calls)
            throws Exception {
        CyclicBarrier together = new CyclicBarrier(objects.size());
        List<FutureTask<?>> work = new ArrayList<>();
        for (Callable<?> call : calls) {
            work.add(new FutureTask<>(() -> untilClosed(call)));
        }
        for (AutoCloseable object : objects) {
            work.add(new FutureTask<>(() -> {
                together.await();
                object.close();
                return null;
            }));
        }
        work.forEach(Thread.ofPlatform().daemon()::start);
        for (FutureTask<?> each : work) {
            each.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        }
    }

    private static Object untilClosed(Callable<?> call) throws Exception {
        try {
            return call.call();
        } catch (IllegalStateException | VerbsException | IOException closed) {
            return closed;
        }
    }
}
