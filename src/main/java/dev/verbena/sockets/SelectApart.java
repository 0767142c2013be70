package dev.verbena.sockets;

import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The platform threads that select for virtual threads, which park meanwhile. */
final class SelectApart {
    private static final ExecutorService THREADS = new ThreadPoolExecutor(
            0,
            Integer.MAX_VALUE,
            1,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            work -> Thread.ofPlatform()
                    .daemon()
                    .name("verbena-selector")
                    .inheritInheritableThreadLocals(false)
                    .unstarted(work));

    private SelectApart() {}

    /** Selects in another thread. An interrupt ends the selection, and stays set. */
    static int select(RdmaSelector selector, Callable<Integer> selection) throws IOException {
        Future<Integer> result = THREADS.submit(selection);
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return result.get();
                } catch (InterruptedException e) {
                    interrupted = true;
                    selector.wakeup();
                }
            }
        } catch (ExecutionException e) {
            switch (Objects.requireNonNull(e.getCause())) {
                case IOException cause -> throw cause;
                case RuntimeException cause -> throw cause;
                case Error cause -> throw cause;
                default -> throw new IOException(e);
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
