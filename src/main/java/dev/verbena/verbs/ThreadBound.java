package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.access.ObjectLifetime;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * What belongs to the first thread that uses it, as batches and cursors do: two at once would have C read what is half
 * written. It ends with the queue that it was made for.
 *
 * <p>One comparison tells all: whose thread it is, that this thread may use the queue, and, where one thread only may,
 * that the queue is open. Of a queue for all threads that must be asked again.
 */
abstract sealed class ThreadBound permits WorkBatch, Completions {
    private static final VarHandle THREAD = thread();

    private final VerbsObject owner;
    private @Nullable Thread thread;
    private volatile boolean ended;

    ThreadBound(VerbsObject owner) {
        this.owner = owner;
    }

    /** Refuses all threads but the first that comes here, or that may not use the queue, and all once it is closed. */
    final void checkUser() {
        if (thread != Thread.currentThread()) {
            begin();
        }
    }

    private void begin() {
        Thread current = Thread.currentThread();
        if (!ObjectLifetime.of(owner).isAccessibleBy(current)) {
            throw new WrongThreadException(this + " is confined to another thread than '" + current.getName() + "'");
        }
        if (ended) {
            throw new IllegalStateException(owner + " is closed");
        }
        Thread first = (Thread) THREAD.compareAndExchange(this, (Thread) null, current);
        if (first != null) {
            throw new WrongThreadException(this + " belongs to thread '" + first.getName()
                    + "', which used it first, and this is '" + current.getName() + "': make one per thread");
        }
    }

    /** Hands it to this thread, which has made sure that no other is using it. */
    final void takeOver() {
        if (thread != Thread.currentThread()) {
            thread = Thread.currentThread();
        }
    }

    /** The queue was closed: this can't be used any more. */
    void end() {
        ended = true;
        THREAD.setVolatile(this, (Thread) null);
    }

    private static VarHandle thread() {
        try {
            return MethodHandles.lookup().findVarHandle(ThreadBound.class, "thread", Thread.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
