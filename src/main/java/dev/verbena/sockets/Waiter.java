package dev.verbena.sockets;

import dev.verbena.internal.SystemCallException;
import dev.verbena.internal.WakeUp;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * The wait of a channel's thread for one direction. At most one thread waits, for it holds the lock of the direction.
 *
 * <p>A platform thread waits in {@code rpoll} itself, together with a descriptor that {@link #wake} signals. A virtual
 * thread parks until the thread of {@link SocketPoller} sees the event.
 */
final class Waiter {
    private static final int OWN = 0;
    private static final int WAKE = 1;
    private static final int TIMER = 2;

    /** The longest sleep while a connection is set up: {@code rpoll} may miss that another thread has completed it. */
    private static final long WHILE_CONNECTING = 50_000_000;

    private volatile @Nullable WakeUp wakeUp;
    private @Nullable PollSet set;
    private volatile boolean waiting;
    private volatile SocketPoller.@Nullable Request request;

    /**
     * Waits until the descriptor is ready, the time is over, or {@link #wake} is called. Spurious ends are allowed. The
     * caller has entered the descriptor, and calls again while its condition does not hold.
     *
     * @param nanoseconds the longest wait; 0 waits without limit
     * @param goesOn tells whether to wait at all, asked after {@code wake} has an effect
     */
    void await(SocketDescriptor descriptor, int events, long nanoseconds, boolean connecting, Condition goesOn)
            throws IOException {
        long limit =
                connecting && (nanoseconds == 0 || nanoseconds > WHILE_CONNECTING) ? WHILE_CONNECTING : nanoseconds;
        if (Thread.currentThread().isVirtual()) {
            awaitParked(descriptor, events, limit, goesOn);
        } else {
            awaitInC(descriptor, events, limit, goesOn);
        }
    }

    /** Returns the events that a descriptor has now. */
    int look(SocketDescriptor descriptor, int events) {
        PollSet entries = set;
        if (entries == null) {
            set = entries = new PollSet(3);
        }
        entries.set(OWN, descriptor.pollNumber(), events);
        entries.poll(1, false);
        return entries.reported(OWN);
    }

    /** A condition to wait for. */
    interface Condition {
        boolean holds();
    }

    /** Opens descriptors to wake a thread. */
    static WakeUp open() throws IOException {
        try {
            return new WakeUp();
        } catch (SystemCallException e) {
            throw SocketFailures.of(e.call(), e.errno());
        }
    }

    private void awaitInC(SocketDescriptor descriptor, int events, long nanoseconds, Condition goesOn)
            throws IOException {
        WakeUp wake = wakeUp;
        PollSet entries = set;
        if (wake == null) {
            wakeUp = wake = open();
        }
        if (entries == null) {
            set = entries = new PollSet(3);
        }
        waiting = true;
        try {
            if (descriptor.isClosed() || !goesOn.holds()) {
                return;
            }
            entries.set(OWN, descriptor.pollNumber(), events);
            entries.set(WAKE, wake.event(), PollSet.IN);
            if (nanoseconds > 0) {
                entries.set(TIMER, wake.startTimer(nanoseconds), PollSet.IN);
            }
            entries.poll(nanoseconds > 0 ? 3 : 2, true);
        } finally {
            waiting = false;
            wake.clear();
            if (descriptor.isClosed()) {
                wake.close();
            }
        }
    }

    private void awaitParked(SocketDescriptor descriptor, int events, long nanoseconds, Condition goesOn)
            throws IOException {
        SocketPoller.Request mine = new SocketPoller.Request(descriptor, events, Thread.currentThread());
        request = mine;
        try {
            if (!descriptor.isClosed() && goesOn.holds()) {
                SocketPoller.await(mine, nanoseconds);
            }
        } finally {
            request = null;
        }
    }

    /** Wakes the waiting thread, if there is one. */
    void wake() {
        SocketPoller.Request parked = request;
        if (parked != null) {
            SocketPoller.cancel(parked);
        }
        if (waiting) {
            WakeUp wake = wakeUp;
            if (wake != null) {
                wake.signal();
            }
        }
    }

    /** Wakes the waiting thread, which closes the descriptors of this object, or closes them itself. No wait begins later. */
    void close() {
        wake();
        WakeUp wake = wakeUp;
        if (wake != null && !waiting) {
            wake.close();
        }
    }
}
