package dev.verbena.sockets;

import dev.verbena.internal.WakeUp;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The thread that waits in {@code rpoll} for all virtual threads of the process. It runs while any waits, and a second
 * longer.
 */
final class SocketPoller implements Runnable {
    private static final long IDLE_SECONDS = 1;
    private static final int WAKE = 0;

    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final Condition ARRIVED = LOCK.newCondition();
    private static final List<Request> ARRIVALS = new ArrayList<>();
    private static @Nullable SocketPoller running;

    private final WakeUp wakeUp = Waiter.open();
    private final PollSet set = new PollSet(16);
    private final List<Request> active = new ArrayList<>();

    private SocketPoller() throws IOException {}

    /** A virtual thread that waits for events of a descriptor. */
    static final class Request {
        private final SocketDescriptor descriptor;
        private final int number;
        private final int events;
        private final Thread thread;
        private volatile boolean done;

        /** Makes a request for events of the descriptor itself, or of another one that it has. */
        Request(SocketDescriptor descriptor, int number, int events, Thread thread) {
            this.descriptor = descriptor;
            this.number = number;
            this.events = events;
            this.thread = thread;
        }

        private void end() {
            done = true;
            LockSupport.unpark(thread);
        }
    }

    /** Parks until the descriptor is ready, the time is over (0 is no limit), or the request is cancelled. */
    static void await(Request request, long nanoseconds) throws IOException {
        if (!request.descriptor.enter()) {
            return;
        }
        submit(request);
        long start = System.nanoTime();
        while (!request.done) {
            if (nanoseconds == 0) {
                LockSupport.park(request);
            } else {
                long left = nanoseconds - (System.nanoTime() - start);
                if (left <= 0) {
                    break;
                }
                LockSupport.parkNanos(request, left);
            }
            if (Thread.currentThread().isInterrupted()) {
                break; // parking does not block any more
            }
        }
        if (!request.done) {
            cancel(request);
        }
    }

    private static void submit(Request request) throws IOException {
        LOCK.lock();
        try {
            if (running == null) {
                SocketPoller poller = new SocketPoller();
                Thread.ofPlatform()
                        .daemon()
                        .name("verbena-socket-poller")
                        .inheritInheritableThreadLocals(false)
                        .start(poller);
                running = poller;
            }
            ARRIVALS.add(request);
            ARRIVED.signal();
            running.wakeUp.signal();
        } catch (Throwable t) {
            request.descriptor.leave();
            throw t;
        } finally {
            LOCK.unlock();
        }
    }

    /** Ends a request. The poller stops using its descriptor soon. */
    static void cancel(Request request) {
        request.end();
        LOCK.lock();
        try {
            if (running != null) {
                running.wakeUp.signal();
            }
        } finally {
            LOCK.unlock();
        }
    }

    @Override
    public void run() {
        try {
            while (takeArrivals()) {
                poll();
            }
        } finally {
            end();
        }
    }

    /** Waits until there is something to poll. Returns false if nothing came for a while. */
    private boolean takeArrivals() {
        LOCK.lock();
        try {
            long left = TimeUnit.SECONDS.toNanos(IDLE_SECONDS);
            while (active.isEmpty() && ARRIVALS.isEmpty()) {
                if (left <= 0) {
                    running = null;
                    return false;
                }
                left = ARRIVED.awaitNanos(left);
            }
            active.addAll(ARRIVALS);
            ARRIVALS.clear();
            return true;
        } catch (InterruptedException e) {
            return true; // nobody interrupts this thread; poll again
        } finally {
            LOCK.unlock();
        }
    }

    private void poll() {
        set.ensure(active.size() + 1);
        set.set(WAKE, wakeUp.event(), PollSet.IN);
        int size = 1;
        for (Request request : active) {
            set.set(size++, request.number, request.events);
        }
        set.poll(size, true);
        wakeUp.clear();
        int kept = 0;
        for (int i = 0; i < active.size(); i++) {
            Request request = active.get(i);
            if (set.reported(i + 1) != 0 || request.done) {
                request.descriptor.leave();
                request.end();
            } else {
                active.set(kept++, request);
            }
        }
        active.subList(kept, active.size()).clear();
    }

    /** Ends all requests when this thread ends, whose threads try again with another poller. */
    private void end() {
        LOCK.lock();
        try {
            if (running == this) { // it failed
                running = null;
                active.addAll(ARRIVALS);
                ARRIVALS.clear();
            }
        } finally {
            LOCK.unlock();
        }
        for (Request request : active) {
            request.descriptor.leave();
            request.end();
        }
        wakeUp.close();
    }
}
