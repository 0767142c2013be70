package dev.verbena.internal;

import java.util.LinkedHashSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The waits of threads for the events of one descriptor. The threads may sleep at different {@link Waiters}.
 *
 * <p>One platform thread leads: it sleeps in C until there is an event, and takes the events for all. The others park. A
 * leader that leaves wakes another thread, which leads. So a thread that waits alone is woken by the kernel itself.
 *
 * <p>Virtual threads never lead, because a thread in C keeps its carrier. If one waits and no thread leads, the event
 * thread watches the descriptor, and no thread leads until the last virtual thread has gone.
 *
 * <p>The owner calls {@link #close} before C closes the descriptor, and {@link #reopen} if C refused to.
 *
 * <p>All threads may use an instance at once.
 */
public final class DescriptorWaits {
    private static final long LONGEST_SLEEP = TimeUnit.SECONDS.toNanos(1);

    private final int number;
    private final WatchedDescriptor watched;
    private final Events events;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition awake = lock.newCondition();

    /** The waits of threads that may sleep, the oldest first. */
    private final LinkedHashSet<Wait> waits = new LinkedHashSet<>();

    /** The number of {@link #waits} of virtual threads. */
    private int virtual;

    private @Nullable Wait leader;
    private @Nullable SleepInC place;

    /** True while the leader is in C, or about to be. */
    private boolean asleep;

    /** True while the leader sleeps through events, because another thread takes them. */
    private boolean deaf;

    /** The time of the last tick. The leader alone uses it. */
    private long ticked = System.nanoTime();

    private boolean closed;

    /** The functions that take events. No function may block for lack of an event. */
    public interface Events {
        /**
         * Takes events for a thread that waits, while there are any and the thread was not woken. Takes none if another
         * thread takes them.
         *
         * @param wait tells whether the thread goes on waiting
         */
        void take(Wait wait);

        /** Returns whether another thread may take events for long. It calls {@link #released} when it is done. */
        default boolean isBusy() {
            return false;
        }

        /** Returns whether {@link #tick} is to be called. Always returns the same. */
        default boolean ticks() {
            return false;
        }

        /** Does what is to be done about once a second while a thread waits. */
        default void tick() {}

        /** Returns whether the event thread is to watch the descriptor although no thread waits. */
        default boolean areWanted() {
            return false;
        }
    }

    /**
     * Makes the waits for a descriptor.
     *
     * @param number the descriptor
     * @param watched the same descriptor, as the event thread watches it
     */
    public DescriptorWaits(int number, WatchedDescriptor watched, Events events) {
        this.number = number;
        this.watched = watched;
        this.events = events;
    }

    /** Begins a wait of the calling thread, which sleeps at these waiters. */
    public Wait begin(Waiters waiters) {
        return new Wait(waiters, Thread.currentThread().isVirtual());
    }

    /** A wait of one thread for events of the descriptor. */
    public final class Wait implements Waiters.Asking, AutoCloseable {
        private final Waiters waiters;
        private final boolean ofVirtualThread;
        private boolean entered;

        /** The state of the waiters before the sleep. It changes when the thread is woken. */
        private Waiters.@Nullable Look look;

        private Wait(Waiters waiters, boolean ofVirtualThread) {
            this.waiters = waiters;
            this.ofVirtualThread = ofVirtualThread;
        }

        @Override
        public void ask() {
            lock.lock();
            try {
                enter();
                if (closed) {
                    return; // the caller's next attempt throws
                }
                if (leader == null && !ofVirtualThread && virtual == 0 && hasPlace()) {
                    leader = this;
                    watched.pause();
                }
                if (leader == null && !events.isBusy()) {
                    watched.watch();
                }
            } finally {
                lock.unlock();
            }
        }

        /** Returns whether this thread sleeps in C, and takes the events for all. */
        public boolean leads() {
            lock.lock();
            try {
                return leader == this;
            } finally {
                lock.unlock();
            }
        }

        @Override
        public Wait asked() {
            return this;
        }

        private void enter() {
            if (!entered) {
                entered = true;
                waits.add(this);
                virtual += ofVirtualThread ? 1 : 0;
            }
        }

        /** Returns whether the thread goes on waiting: it was not woken. */
        public boolean goesOn() {
            Waiters.Look before = look;
            return before != null && waiters.isAsBefore(before);
        }

        /** Sleeps in C if this thread leads. Returns false if it does not: the thread parks. */
        boolean sleep(Waiters.Look before, Deadline deadline) {
            SleepInC own = ownPlace();
            if (own == null) {
                return false;
            }
            look = before;
            long longest = events.ticks() ? LONGEST_SLEEP : Long.MAX_VALUE;
            for (long nanoseconds = deadline.remaining();
                    nanoseconds > 0 && !Thread.currentThread().isInterrupted() && fallAsleep(own, before);
                    nanoseconds = deadline.remaining()) {
                boolean some = false;
                try {
                    some = own.sleep(!deaf, Math.min(nanoseconds, longest));
                } finally {
                    waiters.awake(own);
                    wakeUp(own);
                }
                if (some && goesOn()) {
                    events.take(this);
                }
                if (events.ticks() && System.nanoTime() - ticked >= LONGEST_SLEEP) {
                    ticked = System.nanoTime();
                    events.tick();
                }
            }
            return true;
        }

        private @Nullable SleepInC ownPlace() {
            lock.lock();
            try {
                return leader == this ? place : null;
            } finally {
                lock.unlock();
            }
        }

        /** Returns false if the thread was woken, or leads no more. */
        private boolean fallAsleep(SleepInC own, Waiters.Look before) {
            if (!waiters.fallAsleep(own, before)) {
                return false;
            }
            lock.lock();
            try {
                asleep = leader == this;
                deaf = events.isBusy();
            } finally {
                lock.unlock();
            }
            if (!asleep) {
                waiters.awake(own);
            }
            return asleep;
        }

        private void wakeUp(SleepInC own) {
            lock.lock();
            try {
                own.clear();
                asleep = false;
                deaf = false;
                if (closed) {
                    awake.signalAll();
                }
            } finally {
                lock.unlock();
            }
        }

        /** Ends the wait. Another thread leads from now on, if one waits. */
        @Override
        public void close() {
            Wait next = null;
            lock.lock();
            try {
                if (!entered) {
                    return;
                }
                entered = false;
                waits.remove(this);
                virtual -= ofVirtualThread ? 1 : 0;
                if (leader == this) {
                    leader = null;
                }
                next = next();
            } finally {
                lock.unlock();
            }
            if (next != null) {
                next.waiters.wake();
            }
        }
    }

    /** Makes sure that events are seen. Returns a wait whose thread is to be woken: it leads then, or fails. */
    private @Nullable Wait next() {
        if (closed || leader != null) {
            return null;
        }
        Wait first = waits.isEmpty() ? null : waits.getFirst();
        if (first != null && virtual == 0) {
            return first;
        }
        if (first != null || events.areWanted()) {
            try {
                watched.watch();
            } catch (RuntimeException refused) { // not of the thread that leaves
                return first;
            }
        }
        return null;
    }

    /** Has the leader see events again, after it could not take any for a while. */
    public void heard() {
        lock.lock();
        try {
            if (deaf && place != null) {
                place.wake();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Makes sure that a thread sees events, after threads could not take any for a while. */
    public void released() {
        heard();
        Wait next;
        lock.lock();
        try {
            next = next();
        } finally {
            lock.unlock();
        }
        if (next != null) {
            next.waiters.wake();
        }
    }

    /**
     * Wakes a thread that takes the next event, which the event thread has seen. Returns false if no thread waits and the
     * event is wanted.
     */
    public boolean handOn() {
        Wait first;
        lock.lock();
        try {
            if (leader != null) {
                return true; // it sees the event itself
            }
            first = waits.isEmpty() ? null : waits.getFirst();
        } finally {
            lock.unlock();
        }
        if (first != null) {
            first.waiters.wake();
            return true;
        }
        return !events.areWanted();
    }

    /** Fails all waits that have begun: no event will come. */
    public void fail(Supplier<? extends RuntimeException> exception) {
        lock.lock();
        try {
            waits.forEach(wait -> wait.waiters.fail(exception));
        } finally {
            lock.unlock();
        }
    }

    private boolean hasPlace() {
        if (place == null) {
            try {
                place = new SleepInC(number);
            } catch (SystemCallException noDescriptor) {
                return false; // the event thread may have one already
            }
        }
        return true;
    }

    /** Ends watching, and waits until no thread sleeps at the descriptor. All threads try again, and must throw then. */
    public void close() {
        lock.lock();
        try {
            closed = true;
            leader = null;
            SleepInC known = place;
            if (known != null) {
                while (asleep) {
                    known.wake();
                    awake.awaitUninterruptibly();
                }
                known.close();
                place = null;
            }
        } finally {
            lock.unlock();
        }
        watched.close();
        wakeAll();
    }

    /** Allows waits again after C refused to close the owner. */
    public void reopen() {
        lock.lock();
        try {
            closed = false;
        } finally {
            lock.unlock();
        }
        watched.reopen();
        wakeAll();
    }

    private void wakeAll() {
        lock.lock();
        try {
            waits.forEach(wait -> wait.waiters.wakeAll());
        } finally {
            lock.unlock();
        }
    }
}
