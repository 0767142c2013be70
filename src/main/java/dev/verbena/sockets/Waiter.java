package dev.verbena.sockets;

import dev.verbena.internal.SystemCallException;
import dev.verbena.internal.WakeUp;
import java.io.IOException;
import java.nio.channels.AsynchronousCloseException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The wait of a channel's thread for one direction. At most one thread waits, for it holds the lock of the direction.
 *
 * <p>A platform thread waits in C, together with a descriptor that {@link #wake} signals. A virtual thread parks until the
 * thread of {@link SocketPoller} sees the event. Both wait for the completion channel of a connection, because {@code
 * rpoll} takes several system calls more for each wait. While a socket has no completion channel, they use {@code rpoll}.
 */
final class Waiter {
    private static final int OWN = 0;
    private static final int WAKE = 1;
    private static final int TIMER = 2;

    /** The longest sleep while a connection is set up: {@code rpoll} may miss that another thread has completed it. */
    private static final long WHILE_CONNECTING = 50_000_000;

    /** The longest wait for a completion channel: no event tells that the peer's process was killed. */
    private static final long LONGEST = 500_000_000;

    private static final long MILLISECOND = 1_000_000;

    private volatile @Nullable WakeUp wakeUp;
    private @Nullable PollSet set;
    private volatile boolean waiting;
    private volatile @Nullable Thread following;

    /** Tells that another thread may have taken an event, while this one was about to wait for it. */
    private volatile boolean woken;

    private Role role = Role.NONE;
    private volatile SocketPoller.@Nullable Request request;

    /** What the thread does in a wait for a completion channel's events: see {@link WaitTurn}. */
    private enum Role {
        NONE,
        LEADS,
        FOLLOWS
    }

    /** Begins an operation that is likely to wait. The caller has entered the descriptor. */
    void begin(SocketDescriptor descriptor) {
        if (descriptor.hasChannel() && descriptor.turn().lead(this)) {
            role = Role.LEADS;
        }
    }

    /** Returns whether C may take events of the connection, and arm its completion channel. */
    boolean leads() {
        return role == Role.LEADS;
    }

    /** Ends an operation: its last wait is over. */
    void end(SocketDescriptor descriptor) {
        Role was = role;
        if (was != Role.NONE) {
            role = Role.NONE;
            if (was == Role.LEADS) {
                descriptor.turn().endLead();
            } else {
                descriptor.turn().follower(null);
            }
        }
    }

    /**
     * Waits until the descriptor is ready, the time is over, or {@link #wake} is called. Spurious ends are allowed. The
     * caller has entered the descriptor, has tried, and tries again while its condition does not hold. It calls
     * {@link #end} then.
     *
     * @param nanoseconds the longest wait; 0 waits without limit
     * @param goesOn tells whether to wait at all, asked after {@code wake} has an effect
     */
    void await(SocketDescriptor descriptor, int events, long nanoseconds, boolean connecting, Condition goesOn)
            throws IOException {
        if (connecting) {
            boolean limited = nanoseconds != 0 && nanoseconds < WHILE_CONNECTING;
            awaitInPoll(descriptor, events, limited ? nanoseconds : WHILE_CONNECTING, goesOn);
        } else if (descriptor.beginWait()) {
            awaitChannel(descriptor, nanoseconds, goesOn);
        } else {
            try {
                awaitInPoll(descriptor, events, nanoseconds, goesOn);
            } finally {
                descriptor.endWait();
            }
        }
    }

    /** Waits in {@code rpoll}. */
    private void awaitInPoll(SocketDescriptor descriptor, int events, long nanoseconds, Condition goesOn)
            throws IOException {
        if (Thread.currentThread().isVirtual()) {
            awaitParked(descriptor, descriptor.pollNumber(), events, nanoseconds, goesOn);
        } else {
            awaitInC(descriptor, events, nanoseconds, goesOn);
        }
    }

    /** Waits for the completion channel, or for the thread that does. */
    private void awaitChannel(SocketDescriptor descriptor, long nanoseconds, Condition goesOn) throws IOException {
        WaitTurn turn = descriptor.turn();
        if (role == Role.LEADS) {
            turn.wakeFollower();
            long limit = nanoseconds == 0 ? LONGEST : Math.min(nanoseconds, LONGEST);
            if (Thread.currentThread().isVirtual()) {
                awaitParked(descriptor, descriptor.channel(), PollSet.IN, limit, () -> !woken && goesOn.holds());
                woken = false;
            } else {
                awaitEvent(descriptor, limit, goesOn);
            }
        } else if (turn.lead(this)) {
            turn.follower(null);
            role = Role.LEADS; // the caller tries again, and C arms the channel
        } else if (role == Role.NONE) {
            turn.follower(Thread.currentThread());
            role = Role.FOLLOWS; // the caller tries again
        } else {
            awaitLeader(descriptor, nanoseconds, goesOn);
        }
    }

    private void awaitLeader(SocketDescriptor descriptor, long nanoseconds, Condition goesOn) {
        following = Thread.currentThread();
        try {
            if (!descriptor.isClosed() && goesOn.holds()) {
                if (nanoseconds == 0) {
                    LockSupport.park(this);
                } else {
                    LockSupport.parkNanos(this, nanoseconds);
                }
            }
        } finally {
            following = null;
        }
    }

    /** Waits in {@code poll} for the completion channel. */
    private void awaitEvent(SocketDescriptor descriptor, long nanoseconds, Condition goesOn) throws IOException {
        WakeUp wake = wakeUp();
        PollSet entries = set();
        waiting = true;
        try {
            if (!descriptor.isClosed() && !woken && goesOn.holds()) {
                entries.set(OWN, descriptor.channel(), PollSet.IN);
                entries.set(WAKE, wake.event(), PollSet.IN);
                entries.await(2, (int) ((nanoseconds + MILLISECOND - 1) / MILLISECOND));
            }
        } finally {
            woken = false; // the caller tries again
            endWaiting(descriptor, wake);
        }
    }

    private WakeUp wakeUp() throws IOException {
        WakeUp known = wakeUp;
        if (known == null) {
            wakeUp = known = open();
        }
        return known;
    }

    private PollSet set() {
        PollSet known = set;
        if (known == null) {
            set = known = new PollSet(3);
        }
        return known;
    }

    private void endWaiting(SocketDescriptor descriptor, WakeUp wake) {
        waiting = false;
        wake.clear();
        if (descriptor.isClosed()) {
            wake.close();
        }
    }

    /** Returns the events that a descriptor has now. */
    int look(SocketDescriptor descriptor, int events) {
        PollSet entries = set();
        entries.set(OWN, descriptor.pollNumber(), events);
        entries.poll(1, false);
        return entries.reported(OWN);
    }

    /** Waits until the send queue has room for a message. No function of C waits for that, and little else needs it. */
    void awaitRoom(SocketDescriptor descriptor, Condition goesOn, boolean blocking) throws IOException {
        int reported = look(descriptor, PollSet.OUT);
        while ((reported & PollSet.OUT) == 0) {
            if ((reported & PollSet.FAILED) != 0) {
                throw SocketFailures.write(descriptor.takeError());
            }
            if (!blocking) {
                throw new IOException("The send queue is full: try again when the channel is ready for OP_WRITE");
            }
            if (!goesOn.holds()) {
                throw new AsynchronousCloseException();
            }
            LockSupport.parkNanos(this, MILLISECOND);
            reported = look(descriptor, PollSet.OUT);
        }
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
        WakeUp wake = wakeUp();
        PollSet entries = set();
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
            endWaiting(descriptor, wake);
        }
    }

    private void awaitParked(SocketDescriptor descriptor, int number, int events, long nanoseconds, Condition goesOn)
            throws IOException {
        SocketPoller.Request mine = new SocketPoller.Request(descriptor, number, events, Thread.currentThread());
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
        woken = true;
        SocketPoller.Request parked = request;
        if (parked != null) {
            SocketPoller.cancel(parked);
        }
        Thread parkedBesideTheLeader = following;
        if (parkedBesideTheLeader != null) {
            LockSupport.unpark(parkedBesideTheLeader);
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
