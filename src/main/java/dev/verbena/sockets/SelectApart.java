package dev.verbena.sockets;

import dev.verbena.internal.Daemons;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;

/** The platform threads that select for virtual threads, which park meanwhile. */
final class SelectApart {
    private static final ExecutorService THREADS = Daemons.pool("selector");

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
