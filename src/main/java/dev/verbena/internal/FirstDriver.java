package dev.verbena.internal;

import java.util.concurrent.atomic.AtomicLong;

/** The addresses of the functions of the first driver that a program opened a device of: see {@link DataPathCalls}. */
public final class FirstDriver {
    static final AtomicLong POLL = new AtomicLong();
    static final AtomicLong SEND = new AtomicLong();
    static final AtomicLong RECEIVE = new AtomicLong();

    private FirstDriver() {}

    /** Notes the functions of a driver, if it is the first one. Call this before the first of its functions is called. */
    public static void is(long poll, long send, long receive) {
        POLL.compareAndSet(0, poll);
        SEND.compareAndSet(0, send);
        RECEIVE.compareAndSet(0, receive);
    }
}
