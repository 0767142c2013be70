package dev.verbena.cm;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Daemons;
import dev.verbena.internal.Deadline;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A call of C that may block for long in a name service or in the kernel. A daemon thread of its own makes the call, so that
 * a thread that waits for the result can give up.
 */
final class BlockingCall<T> {
    private final String verb;
    private final String arguments;
    private final CompletableFuture<T> result = new CompletableFuture<>();

    /**
     * Starts the call.
     *
     * @param verb the C function
     * @param work calls the C function
     * @param undo gets the result when no thread waits for it any more
     */
    BlockingCall(String verb, String arguments, Supplier<T> work, Consumer<T> undo) {
        this.verb = verb;
        this.arguments = arguments;
        Daemons.named(verb).start(() -> run(work, undo));
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

    /** Makes the waiting thread throw an exception, unless C has returned. */
    void end(RuntimeException why) {
        result.completeExceptionally(why);
    }

    T await(Duration timeout) throws InterruptedException {
        VerbsTimeoutException late = new VerbsTimeoutException(verb, arguments, timeout, "");
        while (true) {
            try {
                return result.get(Deadline.after(timeout).remaining(), TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                result.completeExceptionally(late); // or the call has just ended: the loop asks once more
            } catch (InterruptedException e) {
                result.completeExceptionally(late);
                if (result.isCompletedExceptionally()) {
                    throw e;
                }
                Thread.currentThread().interrupt(); // C has returned: the next wait is interrupted
                return result.resultNow();
            } catch (ExecutionException e) {
                throw thrown(Objects.requireNonNull(e.getCause()));
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
