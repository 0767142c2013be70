package dev.verbena.internal;

import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.spi.AbstractInterruptibleChannel;
import org.jspecify.annotations.Nullable;

/**
 * The place where a platform thread sleeps in C ({@code poll}) until a descriptor has an event. Other threads can wake it,
 * and {@link Thread#interrupt} does.
 *
 * <p>All threads may {@link #wake}. One thread sleeps at a time.
 */
final class SleepInC {
    private final WakeUp wakeUp = new WakeUp();

    /** Closed once an interrupt has come. The next sleep needs another one then. */
    private Interruption interruption = new Interruption(wakeUp);

    /** The descriptors of this place and of one beside it: of each place, the one that wakes, and the one with events. */
    private final PollSet entries = new PollSet(4);

    private final int descriptor;

    /** True if events of the descriptor end the sleep. */
    private boolean listens = true;

    /** True if the last sleep has seen an event. */
    private boolean seen;

    /**
     * Makes the place of one descriptor, and opens a descriptor that wakes the thread.
     *
     * @throws SystemCallException if no descriptor can be opened
     */
    SleepInC(int descriptor) {
        this.descriptor = descriptor;
    }

    /** Has the next sleep end at events of the descriptor, or not. */
    void listen(boolean toEvents) {
        listens = toEvents;
    }

    /** Returns true if the last sleep has seen that the descriptor has an event, or an error that reading reports. */
    boolean hasSeen() {
        return seen;
    }

    /**
     * Sleeps until the descriptor has an event, the thread is woken or interrupted, or the time is over. May end early.
     *
     * @param beside another place, whose events and wake-ups end the sleep too; null for none
     * @param interruptible false if an interrupt does not end the sleep
     * @param nanoseconds the longest sleep, more than 0
     */
    void sleep(@Nullable SleepInC beside, boolean interruptible, long nanoseconds) {
        enter(entries, 0);
        if (beside != null) {
            beside.enter(entries, 2);
        }
        int count = 0;
        if (interruptible) {
            if (!interruption.isOpen()) {
                interruption = new Interruption(wakeUp);
            }
            interruption.begins();
        }
        try {
            count = entries.poll(beside == null ? 2 : 4, nanoseconds);
        } finally {
            if (interruptible) {
                interruption.ends();
            }
        }
        seen = count > 0 && entries.reported(1) != 0;
        if (beside != null) {
            beside.seen = count > 0 && entries.reported(3) != 0;
        }
    }

    private void enter(PollSet into, int index) {
        into.set(index, wakeUp.event(), PollSet.IN);
        into.set(index + 1, listens ? descriptor : PollSet.NONE, PollSet.IN);
    }

    /** Wakes the thread that sleeps, or else the next one as soon as it sleeps. */
    void wake() {
        wakeUp.signal();
    }

    /** Forgets that the thread was woken. */
    void clear() {
        wakeUp.clear();
    }

    /** Closes the descriptor that wakes the thread. No thread sleeps here any more. */
    void close() {
        wakeUp.close();
    }

    @Override
    public String toString() {
        return "sleep at descriptor " + descriptor;
    }

    /** Has {@link Thread#interrupt} wake a thread: the JDK then closes the channel at which the thread sleeps, once. */
    private static final class Interruption extends AbstractInterruptibleChannel {
        private final WakeUp wakeUp;

        Interruption(WakeUp wakeUp) {
            this.wakeUp = wakeUp;
        }

        void begins() {
            begin();
        }

        void ends() {
            try {
                end(true);
            } catch (AsynchronousCloseException interrupted) {
                // the thread stays interrupted, which its caller sees
            }
        }

        @Override
        protected void implCloseChannel() {
            wakeUp.signal();
        }
    }
}
