package dev.verbena.internal;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Waits at a descriptor that the event thread watches, because all threads that wait are virtual. */
final class VirtualWaits {
    private final Waiters waiters = new Waiters();
    private final DescriptorWaits waits;
    private final boolean wanted;

    private VirtualWaits(
            int number,
            @Nullable Runnable reader,
            boolean apart,
            Function<? super Throwable, ? extends RuntimeException> failure) {
        this.wanted = apart && reader != null;
        this.waits = new DescriptorWaits(number, new DescriptorWaits.Events() {
            @Override
            public void take(DescriptorWaits.Wait wait) {
                throw new AssertionError("no thread leads");
            }

            @Override
            public void takeAll() {
                Objects.requireNonNull(reader).run();
            }

            @Override
            public RuntimeException cannotWait(Object owner, Throwable cause) {
                return failure.apply(cause);
            }

            @Override
            public boolean mayBlock() {
                return apart;
            }

            @Override
            public boolean areWanted() {
                return wanted;
            }
        });
    }

    /** Makes waits of threads that take the events themselves. */
    static VirtualWaits handedOn(int number, Function<? super Throwable, ? extends RuntimeException> failure) {
        return new VirtualWaits(number, null, true, failure);
    }

    /** Makes waits for which the event thread takes the events. */
    static VirtualWaits readBy(
            int number, Runnable reader, Function<? super Throwable, ? extends RuntimeException> failure) {
        return new VirtualWaits(number, reader, false, failure);
    }

    /** Makes waits of threads that take the events themselves. While none waits, a thread of its own takes them. */
    static VirtualWaits readApart(
            int number, Runnable reader, Function<? super Throwable, ? extends RuntimeException> failure) {
        return new VirtualWaits(number, reader, true, failure);
    }

    <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Duration timeout) throws InterruptedException {
        FutureTask<@Nullable T> wait = new FutureTask<>(() -> {
            try (DescriptorWaits.Wait own = waits.begin(waiters, this)) {
                return waiters.await(attempt, attempt, own, timeout);
            }
        });
        Thread thread = Thread.ofVirtual().start(wait);
        try {
            return wait.get();
        } catch (InterruptedException e) {
            thread.interrupt();
            thread.join();
            throw e;
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case InterruptedException cause -> throw cause;
                case RuntimeException cause -> throw cause;
                case Error cause -> throw cause;
                default -> throw new AssertionError(e);
            }
        }
    }

    /** Has the event thread watch the descriptor: for a wait that never ends, or because events are wanted. */
    void watch() throws InterruptedException {
        if (wanted) {
            waits.released();
        } else {
            FutureTask<DescriptorWaits.Wait> wait =
                    new FutureTask<>(() -> waits.begin(waiters, this).ask());
            Thread.ofVirtual().start(wait).join();
        }
    }

    /** Returns the number of events that were handed on. */
    long wakes() {
        return waiters.wakes();
    }

    void wake() {
        waiters.wake();
    }

    void close() {
        waits.close();
    }

    void reopen() {
        waits.reopen();
    }
}
