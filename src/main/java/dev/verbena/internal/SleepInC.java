package dev.verbena.internal;

import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelector;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The place where a platform thread sleeps in C ({@code poll}) until a descriptor has an event. Other threads can wake it,
 * and {@link Thread#interrupt} does.
 *
 * <p>All threads may {@link #wake}. One thread sleeps at a time.
 */
final class SleepInC {
    private static final long MILLISECOND = 1_000_000;

    private final WakeUp wakeUp = new WakeUp();
    private final Interruption interruption = new Interruption(wakeUp);

    /** Two descriptors: first the one that wakes, because the other one may be left out. */
    private final PollSet entries = new PollSet(2);

    private final int descriptor;

    /**
     * Makes the place of one descriptor, and opens a descriptor that wakes the thread.
     *
     * @throws SystemCallException if no descriptor can be opened
     */
    SleepInC(int descriptor) {
        this.descriptor = descriptor;
        entries.set(0, wakeUp.event(), PollSet.IN);
        entries.set(1, descriptor, PollSet.IN);
    }

    /**
     * Sleeps until the descriptor has an event, the thread is woken or interrupted, or the time is over. May end early.
     *
     * @param listens false to sleep through events of the descriptor
     * @param interruptible false if an interrupt does not end the sleep
     * @param nanoseconds the longest sleep, more than 0
     * @return true if the descriptor has an event, or an error that reading reports
     */
    boolean sleep(boolean listens, boolean interruptible, long nanoseconds) {
        int milliseconds = (int) Math.min(Integer.MAX_VALUE, (nanoseconds - 1) / MILLISECOND + 1);
        int count;
        if (interruptible) {
            interruption.begins();
        }
        try {
            count = entries.poll(listens ? 2 : 1, milliseconds);
        } finally {
            if (interruptible) {
                interruption.ends();
            }
        }
        return listens && count > 0 && entries.reported(1) != 0;
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

    /** The part of a selector that has {@link Thread#interrupt} wake its thread: no other class of the JDK offers this. */
    private static final class Interruption extends AbstractSelector {
        private final WakeUp wakeUp;

        @SuppressWarnings("NullAway") // no method of the JDK's class needs the provider
        Interruption(WakeUp wakeUp) {
            super(null);
            this.wakeUp = wakeUp;
        }

        void begins() {
            begin();
        }

        void ends() {
            end();
        }

        @Override
        public Selector wakeup() {
            wakeUp.signal();
            return this;
        }

        @Override
        protected void implCloseSelector() {}

        @Override
        protected @Nullable SelectionKey register(AbstractSelectableChannel channel, int events, Object attachment) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Set<SelectionKey> keys() {
            return Set.of();
        }

        @Override
        public Set<SelectionKey> selectedKeys() {
            return Set.of();
        }

        @Override
        public int selectNow() {
            return 0;
        }

        @Override
        public int select(long timeout) {
            return 0;
        }

        @Override
        public int select() {
            return 0;
        }
    }
}
