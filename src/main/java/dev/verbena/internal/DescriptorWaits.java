package dev.verbena.internal;

import java.util.Objects;
import java.util.concurrent.locks.Condition;
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
 * <p>A thread can wait for events of a second descriptor as well: see {@link Wait#beside}. It leads there while it leads at the
 * first one and no other thread waits at the second.
 *
 * <p>The owner calls {@link #close} before C closes the descriptor, and {@link #reopen} if C refused to.
 *
 * <p>All threads may use an instance at once.
 */
public final class DescriptorWaits {
    private final int number;
    private final Events events;

    private final Mutex lock = new Mutex();
    private final Condition awake = lock.newCondition();

    /** The waits of the threads that may sleep. */
    private final Chain<Wait> waiting = new Chain<>();

    /** The number of waits of virtual threads. */
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

    /** The watch of the event thread; null if there is none. The lock guards this. */
    private @Nullable Watching watching;

    /**
     * The functions that take events. No function may block for lack of an event. Without another function than
     * {@link #cannotWait}, all events are left to the attempts of the threads that wait.
     */
    @FunctionalInterface
    public interface Events {
        /**
         * Takes events for a thread that waits, while there are any and the thread was not woken. Takes none if another
         * thread takes them.
         *
         * @param wait tells whether the thread goes on waiting
         */
        default void take(Wait wait) {
            wait.wake();
        }

        /**
         * Takes all events, in the event thread or a thread of its own. Throwing fails all waits, which says that no event
         * will come. The next wait has the descriptor watched anew.
         */
        default void takeAll() {
            throw new IllegalStateException("no event is wanted while no thread waits");
        }

        /**
         * Makes the exception of a thread that can't wait.
         *
         * @param owner the object that the thread waits for
         * @param cause a {@link SystemCallException}, what {@link #takeAll} threw, or what ended the event thread
         */
        RuntimeException cannotWait(Object owner, Throwable cause);

        /**
         * Returns whether {@link #takeAll} may block. Then a thread that waits takes the events, or else a thread of its
         * own. Always returns the same.
         */
        default boolean mayBlock() {
            return true;
        }

        /** Returns whether another thread may take events for long. It calls {@link #released} when it is done. */
        default boolean isBusy() {
            return false;
        }

        /** Returns what is to be done about once a second while a thread waits; null for nothing. Always returns the same. */
        default @Nullable Runnable ticker() {
            return null;
        }

        /** Returns whether the event thread is to watch the descriptor although no thread waits. */
        default boolean areWanted() {
            return false;
        }
    }

    /**
     * Makes the waits for a descriptor.
     *
     * @param number the descriptor; reads of it must not block
     */
    public DescriptorWaits(int number, Events events) {
        this.number = number;
        this.events = events;
    }

    /**
     * Makes the wait of a thread, which sleeps at these waiters. It begins with {@link Wait#ask}.
     *
     * @param owner the object that the thread waits for, which exceptions name
     */
    public Wait begin(Waiters waiters, Object owner) {
        return new Wait(waiters, owner, true);
    }

    /**
     * Makes the wait of a thread of a channel: its interrupt closes the channel, which wakes the thread, and stays set. So
     * nothing here reacts to the interrupt.
     */
    public Wait beginOfChannel(Waiters waiters, Object owner) {
        return new Wait(waiters, owner, false);
    }

    /** A wait of one thread for events of the descriptor. After its end, another one may begin. */
    public final class Wait extends Chain.Link<Wait>
            implements Waiters.Asking, Supplier<RuntimeException>, AutoCloseable {
        private final Waiters waiters;
        private final Object owner;
        private final boolean interruptible;
        private boolean ofVirtualThread;
        private boolean entered;

        /** The wake-ups of the waiters before the sleep. The number changes when the thread is woken. */
        private long seen;

        /** The reason why this wait has ended. */
        private volatile @Nullable Throwable end;

        /** Returns the waits for the second descriptor, which may change; null without one. */
        private @Nullable Supplier<DescriptorWaits> others;

        /** The wait at the second descriptor, which leads there; null while it does not. */
        private @Nullable Wait second;

        private Wait(Waiters waiters, Object owner, boolean interruptible) {
            this.waiters = waiters;
            this.owner = owner;
            this.interruptible = interruptible;
        }

        /**
         * Has this thread see the events of a second descriptor too, whenever it would sleep in C and no thread waits there.
         *
         * @param waits returns the waits for the second descriptor, which may change; null for none
         */
        public Wait beside(@Nullable Supplier<DescriptorWaits> waits) {
            others = waits;
            return this;
        }

        @Override
        public Wait ask() {
            if (!entered) {
                StackRoom.check(); // before others can count on this thread
            }
            boolean leads;
            try (var _ = lock.held()) {
                enter();
                if (closed) {
                    return this; // the caller's next attempt throws
                }
                if (!ofVirtualThread && virtual == 0) {
                    lead();
                }
                if (leader == null && !events.isBusy()) {
                    watch(owner);
                }
                leads = leader == this;
            }
            if (others != null) {
                askBeside(leads ? others.get() : null);
            }
            return this;
        }

        /** Leads at the waits for the second descriptor, or at none. */
        private void askBeside(@Nullable DescriptorWaits waits) {
            Wait known = second;
            if (known != null && (known.waits() != waits || !known.leads())) {
                second = null;
                known.close();
            }
            if (waits != null && second == null) {
                Wait made = waits.new Wait(waiters, owner, interruptible);
                second = made.leadAlone() ? made : null;
            }
        }

        private DescriptorWaits waits() {
            return DescriptorWaits.this;
        }

        /** Leads if no other thread waits. Returns false if this wait has not begun. */
        private boolean leadAlone() {
            try (var _ = lock.held()) {
                if (closed || waiting.oldest() != null || !hasPlace()) {
                    return false;
                }
                enter();
                lead();
                return true;
            }
        }

        /** Leads if no thread does. The caller holds the lock. */
        private void lead() {
            if (leader == null && hasPlace()) {
                leader = this;
                if (!events.mayBlock()) {
                    endWatch(); // the event thread would take the events
                }
            }
        }

        /** Makes the exception of a thread whose wait has ended, since no event will come. */
        @Override
        public RuntimeException get() {
            return events.cannotWait(owner, Objects.requireNonNull(end));
        }

        /** Returns whether this thread is the one to take events: it leads, or the event thread wakes it for the next one. */
        public boolean takes() {
            try (var _ = lock.held()) {
                return leader == this || (leader == null && waiting.oldest() == this);
            }
        }

        /** Ends the sleep of this thread, which takes the event itself. */
        public void wake() {
            waiters.wake();
        }

        /** Returns whether this thread sleeps in C, and takes the events for all. */
        public boolean leads() {
            try (var _ = lock.held()) {
                return leader == this;
            }
        }

        private void enter() {
            if (!entered) {
                entered = true;
                ofVirtualThread = Thread.currentThread().isVirtual();
                virtual += ofVirtualThread ? 1 : 0;
                waiting.add(this);
            }
        }

        private void leave() {
            entered = false;
            virtual -= ofVirtualThread ? 1 : 0;
            waiting.remove(this);
        }

        /** Returns whether the thread goes on waiting: it was not woken. */
        public boolean goesOn() {
            return waiters.isAsBefore(seen);
        }

        /** Sleeps in C if this thread leads. Returns false if it does not: the thread parks. */
        boolean sleep(long before, long nanoseconds) {
            SleepInC own = ownPlace();
            if (own == null) {
                return false;
            }
            seen = before;
            Wait other = second;
            boolean ticks = events.ticker() != null
                    || (other != null && other.waits().events.ticker() != null);
            long longest = ticks ? Tick.millis * 1_000_000L : Long.MAX_VALUE;
            long start = System.nanoTime();
            for (long left = nanoseconds;
                    left > 0 && mayFallAsleep() && fallAsleep(own, before);
                    left = nanoseconds - (System.nanoTime() - start)) {
                SleepInC beside = null;
                try {
                    beside = other == null ? null : other.fallAsleepBeside(before);
                    own.sleep(beside, interruptible, Math.min(left, longest));
                } finally {
                    waiters.awake(own);
                    wakeUp(own);
                    if (beside != null) {
                        Objects.requireNonNull(other).wakeUp(beside);
                    }
                }
                takeAndTick(own);
                if (beside != null) {
                    Objects.requireNonNull(other).takeAndTick(beside);
                }
            }
            return true;
        }

        /** Takes events if the sleep has seen one, unless the thread was woken. Ticks when a second is over. */
        private void takeAndTick(SleepInC own) {
            if (own.hasSeen() && goesOn()) {
                events.take(this);
            }
            Runnable ticker = events.ticker();
            if (ticker != null && Tick.isDue(ticked)) {
                ticked = System.nanoTime();
                ticker.run();
            }
        }

        private boolean mayFallAsleep() {
            return !interruptible || !Thread.currentThread().isInterrupted();
        }

        private @Nullable SleepInC ownPlace() {
            try (var _ = lock.held()) {
                return leader == this ? place : null;
            }
        }

        /** Returns false if the thread was woken, or leads no more. */
        private boolean fallAsleep(SleepInC own, long before) {
            if (!waiters.fallAsleep(own, before)) {
                return false;
            }
            boolean may = maySleepAt(own);
            if (!may) {
                waiters.awake(own);
            }
            return may;
        }

        /** Returns the place at the second descriptor, where the thread is about to sleep too; null if it leads there no more. */
        private @Nullable SleepInC fallAsleepBeside(long before) {
            seen = before;
            SleepInC own = ownPlace();
            return own != null && maySleepAt(own) ? own : null;
        }

        private boolean maySleepAt(SleepInC own) {
            try (var _ = lock.held()) {
                asleep = leader == this;
                deaf = events.isBusy();
                own.listen(!deaf);
                return asleep;
            }
        }

        private void wakeUp(SleepInC own) {
            try (var _ = lock.held()) {
                asleep = false; // first: closing waits for that
                deaf = false;
                if (closed) {
                    awake.signalAll();
                }
                own.clear();
            }
        }

        /** Ends the wait. Another thread leads from now on, if one waits. */
        @Override
        public void close() {
            askBeside(null);
            Wait next = null;
            try (var _ = lock.held()) {
                if (!entered) {
                    return;
                }
                leave();
                if (leader == this) {
                    leader = null;
                }
                next = next();
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
        Wait first = waiting.oldest();
        if (first != null && virtual == 0) {
            return first;
        }
        if (first != null || events.areWanted()) {
            try {
                watch(first == null ? this : first.owner);
            } catch (RuntimeException refused) { // not of the thread that leaves
                return first;
            } catch (Error shortage) {
                if (first == null) {
                    throw shortage; // no other thread hears of it
                }
                return first;
            }
        }
        return null;
    }

    /** Has the leader see events again, after it could not take any for a while. */
    public void heard() {
        try (var _ = lock.held()) {
            if (deaf && place != null) {
                place.wake();
            }
        }
    }

    /** Makes sure that a thread sees events, after threads could not take any for a while. */
    public void released() {
        heard();
        Wait next;
        try (var _ = lock.held()) {
            next = next();
        }
        if (next != null) {
            next.waiters.wake();
        }
    }

    // What the event thread does

    /** Has the event thread see the next event. The caller holds the lock. */
    private void watch(Object owner) {
        Watching known = watching;
        if (closed || (known != null && known.asked)) {
            return; // of a closed owner, the caller's next attempt throws
        }
        try {
            if (known == null) {
                Watching made = new Watching();
                made.watch = EventThread.watch(number, events.mayBlock(), made);
                watching = made;
            } else {
                known.again();
            }
        } catch (SystemCallException e) {
            throw events.cannotWait(owner, e);
        }
    }

    private void endWatch() {
        Watching known = watching;
        watching = null;
        if (known != null) {
            Objects.requireNonNull(known.watch).close();
        }
    }

    /** A watch, and what the event thread says of it. A watch that was ended may still say something. */
    private final class Watching implements EventThread.Handler {
        /** The watch; set before this is the one that is {@link #watching}. */
        private EventThread.@Nullable Watch watch;

        /** False from the handing on of an event until the next one is asked for. */
        private volatile boolean asked = true;

        private void again() {
            asked = true; // first: the event thread may see the event at once
            try {
                Objects.requireNonNull(watch).again();
            } catch (Throwable t) {
                asked = false;
                throw t;
            }
        }

        @Override
        public boolean handOn() {
            asked = false; // first: the thread that is woken may ask again at once
            return DescriptorWaits.this.handOn();
        }

        @Override
        public @Nullable Runnable ticker() {
            return events.ticker();
        }

        @Override
        public void readable() {
            events.takeAll();
            asked = true; // the event thread asks again when this returns
        }

        @Override
        public void failed(Throwable cause) {
            try (var _ = lock.held()) {
                if (watching != this) {
                    return; // the watch was ended meanwhile: waits ask for another one
                }
                watching = null;
            }
            fail(cause);
        }
    }

    /**
     * Wakes a thread that takes the next event, which the event thread has seen. Returns false if no thread waits and the
     * event is wanted.
     */
    private boolean handOn() {
        Wait oldest;
        try (var _ = lock.held()) {
            if (leader != null) {
                return true; // it sees the event itself
            }
            oldest = waiting.oldest();
        }
        if (oldest != null) {
            oldest.wake();
            return true;
        }
        return !events.areWanted();
    }

    /** Fails all waits that have begun: no event will come. Each thread throws an exception of its own. Allocates nothing. */
    void fail(Throwable cause) {
        try (var _ = lock.held()) {
            for (Wait wait = waiting.oldest(); wait != null; wait = wait.younger()) {
                wait.end = cause;
                wait.waiters.fail(wait);
            }
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
        StackRoom.check();
        try (var _ = lock.held()) {
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
            endWatch();
        }
        wakeAll();
    }

    /** Allows waits again after C refused to close the owner. */
    public void reopen() {
        try (var _ = lock.held()) {
            closed = false;
        }
        wakeAll();
    }

    /** Wakes all threads, which try again. */
    public void wakeAll() {
        try (var _ = lock.held()) {
            for (Wait wait = waiting.oldest(); wait != null; wait = wait.younger()) {
                wait.waiters.wakeAll();
            }
        }
    }
}
