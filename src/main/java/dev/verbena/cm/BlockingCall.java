package dev.verbena.cm;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Daemons;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.Waiters;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A call of C that may block for long in a name service or in the kernel. A daemon thread of its own makes the call, so that
 * a thread that waits for the result can give up. A result that no thread gets is undone.
 */
final class BlockingCall<T> {
    private final String verb;
    private final String arguments;
    private final Consumer<T> undo;
    private final Waiters waiters = new Waiters();
    private final Mutex lock = new Mutex();

    /** The result of C, until a thread takes it; null without one. The lock guards this, and the next two. */
    private @Nullable T result;

    /** The exception that the waiting thread throws; null for none. */
    private @Nullable Throwable failure;

    /** True once no thread will take the result. */
    private boolean over;

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
        this.undo = undo;
        Daemons.named(verb).start(() -> run(work));
    }

    private void run(Supplier<T> work) {
        try {
            T found = work.get();
            if (!keep(found)) {
                undo.accept(found);
            }
        } catch (Throwable t) {
            fail(t);
        }
        waiters.wakeAll();
    }

    private boolean keep(T found) {
        try (var _ = lock.held()) {
            if (!over) {
                result = found;
            }
            return !over;
        }
    }

    private void fail(Throwable why) {
        try (var _ = lock.held()) {
            if (!over && result == null) {
                over = true;
                failure = why;
            }
        }
    }

    /** Makes the waiting thread throw an exception, unless C has returned. */
    void end(RuntimeException why) {
        fail(why);
        waiters.wakeAll();
    }

    /** Waits for the result of C. The call is over when this returns or throws. */
    T await(Duration timeout) throws InterruptedException {
        try {
            T found = waiters.await(this::take, timeout);
            if (found == null) {
                throw new VerbsTimeoutException(verb, arguments, timeout, "");
            }
            return found;
        } finally {
            giveUp();
        }
    }

    private @Nullable T take() {
        try (var _ = lock.held()) {
            if (failure instanceof Error error) {
                throw error;
            }
            if (failure != null) {
                throw (RuntimeException) failure; // C's functions and this class throw no other
            }
            T found = result;
            result = null;
            over |= found != null;
            return found;
        }
    }

    /** Has the result undone that no thread took, now or when C returns. Allocates nothing: memory may be what is missing. */
    void giveUp() {
        T left;
        try (var _ = lock.held()) {
            over = true;
            left = result;
            result = null;
        }
        if (left != null) {
            undo.accept(left);
        }
    }
}
