package dev.verbena.net;

import dev.verbena.internal.Deadline;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A future for work of a channel, or one that depends on such a future. The {@link Engine} completes it, outside of all
 * locks, on the thread that calls handlers.
 *
 * <p>A thread that makes progress itself, as a handler does or the only thread of a program that polls, would wait for ever
 * for its own work. So the methods that wait make progress in such a thread.
 */
final class ChannelFuture<T> extends CompletableFuture<T> {
    private final Engine engine;
    private final @Nullable Numbers<?, T> from;

    /** The call or operation of this future; null before it has a number. The channel's lock guards this and what follows. */
    Numbers.@Nullable Pending<T> of;

    /** The request that was not sent. */
    Numbers.@Nullable Unsent<T> unsent;

    /** The reason why it could not be sent. */
    @Nullable
    RuntimeException failure;

    private volatile boolean tells;

    ChannelFuture(Engine engine, @Nullable Numbers<?, T> from) {
        this.engine = engine;
        this.from = from;
        if (from != null) {
            // for lack of time, or because the program has cancelled it
            CompletableFuture<T> _ = whenComplete((result, failure) -> from.giveUp(this));
        }
    }

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        return new ChannelFuture<>(engine, null);
    }

    /** Completes this future if what it stands for has ended. */
    void settle() {
        if (from == null) {
            return;
        }
        T result;
        try {
            result = from.take(this);
        } catch (RuntimeException | Error failed) {
            completeExceptionally(failed);
            return;
        }
        if (result != null && !complete(result) && result instanceof Message unwanted) {
            unwanted.close();
        }
    }

    /** Lets the engine know when any thread completes this future. */
    void tellEngine() {
        if (!tells) {
            tells = true;
            CompletableFuture<T> _ = whenComplete((result, failure) -> engine.wake(Engine.Sleepers.WAITING));
        }
    }

    @Override
    public T get() throws InterruptedException, ExecutionException {
        engine.awaitDone(this, Deadline.FOREVER);
        return super.get();
    }

    @Override
    public T get(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
        boolean waited = engine.awaitDone(this, Duration.ofNanos(unit.toNanos(timeout)));
        return super.get(waited ? 0 : timeout, unit);
    }

    @Override
    public T join() {
        boolean interrupted = false;
        boolean waited = false;
        while (!waited) {
            try {
                engine.awaitDone(this, Deadline.FOREVER);
                waited = true;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        try {
            return super.join();
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
