package dev.verbena.cm;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Deadline;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A call of C that blocks as long as a name service or the kernel likes. It has a daemon thread of its own until C returns,
 * so that whoever waits for it can give up.
 */
final class BlockingCall<T> {
    private final String verb;
    private final String arguments;
    private final CompletableFuture<T> result = new CompletableFuture<>();

    /**
     * Starts.
     *
     * @param verb the C function
     * @param work calls it
     * @param undo gets what C has answered when nobody waits any more
     */
    BlockingCall(String verb, String arguments, Supplier<T> work, Consumer<T> undo) {
        this.verb = verb;
        this.arguments = arguments;
        Thread.ofPlatform()
                .daemon()
                .name("verbena-" + verb)
                .inheritInheritableThreadLocals(false)
                .start(() -> run(work, undo));
    }

    private void run(Supplier<T> work, Consumer<T> undo) {
        T found;
        try {
            found = work.get();
        } catch (Throwable t) {
            result.completeExceptionally(t);
            return;
        }
        if (!result.complete(found)) {
            undo.accept(found);
        }
    }

    /** Has who waits throw this, unless C has answered. */
    void end(RuntimeException why) {
        result.completeExceptionally(why);
    }

    T await(Duration timeout) throws InterruptedException {
        VerbsTimeoutException late = new VerbsTimeoutException(verb, arguments, timeout, "");
        while (true) {
            try {
                return result.get(Deadline.after(timeout).remaining(), TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                result.completeExceptionally(late); // or it has ended just now, and is asked once more
            } catch (InterruptedException e) {
                result.completeExceptionally(late);
                if (result.isCompletedExceptionally()) {
                    throw e;
                }
                Thread.currentThread().interrupt(); // C has answered: the next wait is interrupted
                return result.resultNow();
            } catch (ExecutionException e) {
                throw thrown(e.getCause());
            }
        }
    }

    private static RuntimeException thrown(Throwable cause) {
        if (cause instanceof Error error) {
            throw error;
        }
        if (cause instanceof RuntimeException e) {
            return e;
        }
        throw new AssertionError(cause);
    }
}
