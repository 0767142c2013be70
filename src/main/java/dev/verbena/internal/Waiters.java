package dev.verbena.internal;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The threads that wait for one source of events. All waits for events of the kernel sleep here, or in C beside it: see
 * {@link DescriptorWaits}.
 *
 * <p>A wait has four steps: try; ask for a wake-up; try again, because an event may have come before the asking; sleep.
 * Virtual threads leave their carriers while they sleep, because they never sleep in C.
 *
 * <p>An event wakes one thread. That thread tries, and wakes the next one when it leaves for any reason. So there is
 * always a thread that asks anew while threads wait, and one event does not wake a thousand threads.
 *
 * <p>All threads may use an instance at once.
 */
public final class Waiters {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition woken = lock.newCondition();

    private volatile long wakes;

    /** The number of threads that park here. */
    private volatile int asleep;

    /** The places of threads that sleep in C: see {@link DescriptorWaits}. It is replaced, never changed. */
    private volatile List<SleepInC> inC = List.of();

    private volatile @Nullable Failure failure;

    /** The end of all waits that had begun before it. Each thread gets an exception of its own. */
    private record Failure(Supplier<? extends RuntimeException> exception) {}

    /** The state of the waiters before a thread sleeps. */
    record Look(long wakes, @Nullable Failure failure) {}

    /** A function that asks for wake-ups, for a thread that may sleep in C. */
    public interface Asking {
        /** Asks for a call of {@link #wake} when the next event comes, or has come already. */
        void ask();

        /** Returns the wait that was asked with last. The thread sleeps in C if the wait leads. */
        DescriptorWaits.@Nullable Wait asked();
    }

    /**
     * Waits until an attempt finds something.
     *
     * @param attempt looks without blocking, and returns null when there is nothing. It must throw once its source is
     *     closed, which calls {@link #wakeAll} afterwards
     * @param ask asks for a call of {@link #wake} when the next event comes
     * @return what the attempt found, or null on timeout
     * @throws InterruptedException if the thread was interrupted
     */
    public <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Runnable ask, Duration timeout)
            throws InterruptedException {
        return await(attempt, attempt, ask, timeout);
    }

    /**
     * Waits until an attempt finds something, where the asking also reports an event that has come before it.
     *
     * @param attempt looks as in {@link #await(Supplier, Runnable, Duration)}
     * @param look looks after the asking, and may look only at events that other threads took
     * @param ask asks for a call of {@link #wake} when the next event comes, or has come already
     * @return what the attempt found, or null on timeout
     * @throws InterruptedException if the thread was interrupted
     */
    public <T> @Nullable T await(
            Supplier<? extends @Nullable T> attempt,
            Supplier<? extends @Nullable T> look,
            Runnable ask,
            Duration timeout)
            throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // first: nothing is taken when it is null
        Failure before = failure;
        T found = attempt.get();
        if (found != null) {
            return found;
        }
        Asking parking = new Asking() {
            @Override
            public void ask() {
                ask.run();
            }

            @Override
            public DescriptorWaits.@Nullable Wait asked() {
                return null;
            }
        };
        return awaitLater(attempt, look, parking, before, timeout);
    }

    /**
     * Waits until an attempt finds something. The thread may sleep in C meanwhile.
     *
     * @param attempt looks as in {@link #await(Supplier, Runnable, Duration)}
     * @param look looks after the asking
     * @param asking asks for a call of {@link #wake}
     * @return what the attempt found, or null on timeout
     * @throws InterruptedException if the thread was interrupted
     */
    public <T> @Nullable T await(
            Supplier<? extends @Nullable T> attempt,
            Supplier<? extends @Nullable T> look,
            Asking asking,
            Duration timeout)
            throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // first: nothing is taken when it is null
        Failure before = failure;
        T found = attempt.get();
        return found != null ? found : awaitLater(attempt, look, asking, before, timeout);
    }

    /** Waits for something that was not there at the first attempt. The failure is that of before the attempt. */
    private <T> @Nullable T awaitLater(
            Supplier<? extends @Nullable T> attempt,
            Supplier<? extends @Nullable T> look,
            Asking asking,
            @Nullable Failure before,
            Duration timeout)
            throws InterruptedException {
        T found;
        Deadline deadline = Deadline.after(timeout);
        try {
            throwIfInterrupted();
            while (!deadline.isOver()) {
                Look seen = new Look(wakes, before);
                asking.ask();
                found = look.get();
                if (found != null) {
                    return found;
                }
                sleep(seen, asking.asked(), deadline);
                // A thread that was woken and interrupted leaves the event to the next one: its own caller gave up.
                throwIfInterrupted();
                found = attempt.get();
                if (found != null) {
                    return found;
                }
            }
            return null;
        } finally {
            if (asleep > 0 || !inC.isEmpty()) {
                wake();
            }
        }
    }

    private static void throwIfInterrupted() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
    }

    private void sleep(Look seen, DescriptorWaits.@Nullable Wait wait, Deadline deadline) throws InterruptedException {
        if (wait == null || !wait.sleep(seen, deadline)) {
            park(seen, deadline);
        }
        Failure now = failure;
        if (now != null && now != seen.failure) {
            throw now.exception().get();
        }
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // under the lock
    private void park(Look seen, Deadline deadline) throws InterruptedException {
        lock.lock();
        try {
            asleep++;
            long left = deadline.remaining();
            while (isAsBefore(seen) && left > 0) {
                left = woken.awaitNanos(left);
            }
        } finally {
            asleep--;
            lock.unlock();
        }
    }

    /** Returns whether no thread was woken, and no wait failed, since a look. */
    boolean isAsBefore(Look seen) {
        return wakes == seen.wakes && failure == seen.failure;
    }

    /** Has {@link #wake} wake a thread that sleeps in C. Returns false if it must not sleep, because it was woken already. */
    boolean fallAsleep(SleepInC place, Look seen) {
        lock.lock();
        try {
            if (!isAsBefore(seen)) {
                return false;
            }
            inC = with(place);
            return true;
        } finally {
            lock.unlock();
        }
    }

    private List<SleepInC> with(SleepInC place) {
        if (inC.isEmpty()) {
            return List.of(place);
        }
        List<SleepInC> more = new ArrayList<>(inC);
        more.add(place);
        return List.copyOf(more);
    }

    /** Ends a sleep in C. */
    void awake(SleepInC place) {
        lock.lock();
        try {
            inC = inC.size() == 1
                    ? List.of()
                    : inC.stream().filter(other -> other != place).toList();
        } finally {
            lock.unlock();
        }
    }

    /** Wakes one thread, for one event. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // under the lock
    public void wake() {
        lock.lock();
        try {
            wakes++;
            if (asleep > 0) {
                woken.signal();
            } else {
                inC.forEach(SleepInC::wake);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Wakes all threads, for example when the source of events was closed. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // under the lock
    public void wakeAll() {
        lock.lock();
        try {
            wakes++;
            signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Fails all waits that have begun: no event will come. Each thread throws an exception of its own. */
    public void fail(Supplier<? extends RuntimeException> exception) {
        lock.lock();
        try {
            failure = new Failure(exception);
            signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void signalAll() {
        woken.signalAll();
        inC.forEach(SleepInC::wake);
    }
}
