package dev.verbena.internal;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
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
    private final Mutex lock = new Mutex();
    private final Condition woken = lock.newCondition();

    private volatile long wakes;

    /** The number of threads that park here. */
    private volatile int asleep;

    /** The places of threads that sleep in C: see {@link DescriptorWaits}. The lock guards the list. */
    private final List<SleepInC> inC = new ArrayList<>(1);

    /** The number of places in {@link #inC}. */
    private volatile int asleepInC;

    /** The number of failures. Each is the end of all waits that had begun before it. */
    private volatile long failures;

    /** Makes the exceptions of the last failure. Each thread gets one of its own. */
    private volatile @Nullable Supplier<? extends RuntimeException> exceptions;

    /** A function that asks for wake-ups, for a thread that may sleep in C. */
    public interface Asking {
        /**
         * Asks for a call of {@link #wake} when the next event comes, or has come already.
         *
         * @return the wait of the thread, which sleeps in C if the wait leads; null if the thread parks
         */
        DescriptorWaits.@Nullable Wait ask();
    }

    /**
     * Waits until an attempt finds something. Who brings it calls {@link #wake} without being asked.
     *
     * @param attempt looks without blocking, and returns null when there is nothing. It must throw once its source is
     *     closed, which calls {@link #wakeAll} afterwards
     * @return what the attempt found, or null on timeout
     * @throws InterruptedException if the thread was interrupted
     */
    public <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // first: nothing is taken when it is null
        long before = failures;
        T found = attempt.get();
        return found != null ? found : awaitLater(attempt, attempt, () -> null, before, timeout);
    }

    /**
     * Waits until an attempt finds something. The thread may sleep in C meanwhile.
     *
     * @param attempt looks as in {@link #await(Supplier, Duration)}
     * @param look looks after the asking, and may look only at events that other threads took
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
        long before = failures;
        T found = attempt.get();
        return found != null ? found : awaitLater(attempt, look, asking, before, timeout);
    }

    /** Waits for something that was not there at the first attempt. The failures are those before the attempt. */
    private <T> @Nullable T awaitLater(
            Supplier<? extends @Nullable T> attempt,
            Supplier<? extends @Nullable T> look,
            Asking asking,
            long before,
            Duration timeout)
            throws InterruptedException {
        T found;
        Deadline deadline = Deadline.after(timeout);
        try {
            throwIfInterrupted();
            while (!deadline.isOver()) {
                long seen = wakes;
                DescriptorWaits.Wait wait = asking.ask();
                found = look.get();
                if (found != null) {
                    return found;
                }
                if (failures == before) {
                    sleep(seen, wait, deadline.remaining());
                }
                if (failures != before) {
                    throw Objects.requireNonNull(exceptions).get();
                }
                // A thread that was woken and interrupted leaves the event to the next one: its own caller gave up.
                throwIfInterrupted();
                found = attempt.get();
                if (found != null) {
                    return found;
                }
            }
            return null;
        } finally {
            if (asleep > 0 || asleepInC > 0) {
                wake();
            }
        }
    }

    private static void throwIfInterrupted() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
    }

    /** Returns the number of wake-ups and failures until now, for {@link #sleep}. */
    public long wakes() {
        return wakes;
    }

    /**
     * Sleeps until a wake-up or failure after the given number of them, or until the time is over. May end early.
     *
     * @param seen the number of wake-ups before the thread looked for the last time
     * @param wait the wait at a descriptor, in which the thread sleeps in C if it leads; null to park
     * @throws InterruptedException if the thread was interrupted while it parked
     */
    public void sleep(long seen, DescriptorWaits.@Nullable Wait wait, long nanoseconds) throws InterruptedException {
        if (wait == null || !wait.sleep(seen, nanoseconds)) {
            park(seen, nanoseconds);
        }
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // under the lock
    private void park(long seen, long nanoseconds) throws InterruptedException {
        StackRoom.check();
        lock.lock();
        try {
            asleep++;
            long left = nanoseconds;
            while (isAsBefore(seen) && left > 0) {
                left = woken.awaitNanos(left);
            }
        } finally {
            asleep--;
            lock.unlock();
        }
    }

    /** Returns whether no thread was woken, and no wait failed, since a number of wake-ups. */
    boolean isAsBefore(long seen) {
        return wakes == seen;
    }

    /** Has {@link #wake} wake a thread that sleeps in C. Returns false if it must not sleep, because it was woken already. */
    boolean fallAsleep(SleepInC place, long seen) {
        try (var _ = lock.held()) {
            if (!isAsBefore(seen)) {
                return false;
            }
            inC.add(place);
            asleepInC = inC.size();
            return true;
        }
    }

    /** Ends a sleep in C. */
    void awake(SleepInC place) {
        try (var _ = lock.held()) {
            inC.remove(place);
            asleepInC = inC.size();
        }
    }

    /** Wakes one thread, for one event. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // under the lock
    public void wake() {
        try (var _ = lock.held()) {
            wakes++;
            if (asleep > 0) {
                woken.signal();
            } else {
                wakeInC();
            }
        }
    }

    /** Wakes all threads, for example when the source of events was closed. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // under the lock
    public void wakeAll() {
        try (var _ = lock.held()) {
            wakes++;
            signalAll();
        }
    }

    /** Fails all waits that have begun: no event will come. Each thread throws an exception of its own. Allocates nothing. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // under the lock
    public void fail(Supplier<? extends RuntimeException> ofEachThread) {
        try (var _ = lock.held()) {
            exceptions = ofEachThread;
            failures++;
            wakes++;
            signalAll();
        }
    }

    private void signalAll() {
        woken.signalAll();
        wakeInC();
    }

    private void wakeInC() {
        for (int i = 0; i < inC.size(); i++) { // no iterator: wake-ups allocate nothing
            inC.get(i).wake();
        }
    }
}
