package dev.verbena.internal;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import org.jspecify.annotations.Nullable;

/**
 * A thread that waits in C ({@code epoll_wait}) for all descriptors of the process. It runs while any is watched.
 *
 * <p>There is at most one for the process. Handling an event takes microseconds, so a thread for each device or channel
 * would mostly sleep. {@link #running} is therefore shared by objects of different contexts.
 *
 * <p>All threads may watch descriptors and end watches at once.
 */
final class EventThread {
    private static final Mutex LOCK = new Mutex();
    private static @Nullable EventThread running;

    private static final int FOR_EVER = -1;

    private static final long WAKE_UP = 0;

    private final Epoll poll;
    private final WakeUp wakeUp;

    private final ConcurrentHashMap<Long, Watch> watches = new ConcurrentHashMap<>();

    /** The threads for handlers that may block. A thread ends when it has had nothing to do for a while. */
    private final ExecutorService apart = Daemons.pool("reader");

    /** The same watches, the oldest first: to go through them allocates nothing. The lock guards the chain. */
    private final Chain<Watch> oldestFirst = new Chain<>();

    private long lastKey = WAKE_UP;
    private volatile boolean retired;

    /** The number of watches whose handlers tick. */
    private volatile int ticking;

    /** The callbacks of a watch. They must not run user code, and must not block except where the watch says so. */
    interface Handler {
        /** Handles a descriptor that can be read, or that has an error which reading reports. Throwing ends the watch. */
        void readable();

        /** Handles the end of the watch for this cause. */
        void failed(Throwable cause);

        /**
         * Has a waiting thread handle the event of a descriptor whose handler may block.
         *
         * @return true if {@link #readable} is not to be called; {@link Watch#again} then asks for the next event
         */
        default boolean handOn() {
            return false;
        }

        /**
         * Returns what is to be done about once a second while the descriptor is watched; null for nothing. Throwing ends the
         * watch. Always returns the same.
         */
        default @Nullable Runnable ticker() {
            return null;
        }
    }

    /** A watched descriptor and its handler. */
    final class Watch extends Chain.Link<Watch> {
        private final int descriptor;
        private final boolean apart;
        private final long key;
        private final Handler handler;

        private Watch(int descriptor, boolean apart, long key, Handler handler) {
            this.descriptor = descriptor;
            this.apart = apart;
            this.key = key;
            this.handler = handler;
        }

        /** Asks for the next event of a descriptor whose event was handed on. */
        void again() {
            try (var _ = LOCK.held()) {
                if (watches.containsKey(key)) {
                    poll.change(descriptor, Epoll.READABLE | Epoll.ONCE, key);
                }
            }
        }

        private void handle() {
            try {
                handler.readable();
                if (apart) {
                    again();
                }
            } catch (Throwable t) {
                fail(t);
            }
        }

        private void tick() {
            Runnable ticker = handler.ticker();
            if (ticker != null) {
                try {
                    ticker.run();
                } catch (Throwable t) {
                    fail(t);
                }
            }
        }

        private void fail(Throwable cause) {
            try {
                close();
            } finally {
                handler.failed(cause);
            }
        }

        /** Ends the watch. The handler may be called once more meanwhile. The descriptor must still be open. */
        void close() {
            try (var _ = LOCK.held()) {
                if (watches.remove(key) != null) {
                    oldestFirst.remove(this);
                    countTicking(handler, -1);
                    try {
                        poll.remove(descriptor);
                    } finally {
                        retireIfIdle();
                    }
                }
            }
        }
    }

    private EventThread() {
        poll = new Epoll();
        try {
            wakeUp = new WakeUp();
        } catch (SystemCallException e) {
            poll.close();
            throw e;
        }
    }

    private static EventThread start() {
        EventThread events = new EventThread();
        try {
            events.poll.add(events.wakeUp.event(), Epoll.READABLE, WAKE_UP);
            Daemons.named("events").start(events::run);
        } catch (Throwable t) {
            events.closeDescriptors();
            throw t;
        }
        return events;
    }

    /**
     * Watches a descriptor. Close the watch before the descriptor.
     *
     * @param apart false to have this thread call the handler again and again while there is something to read; true if the
     *     handler may block. Then each event is handed on, or else another thread calls the handler. The descriptor is
     *     watched again when the handler returns
     * @throws SystemCallException if {@code epoll} refuses the descriptor
     */
    static Watch watch(int descriptor, boolean apart, Handler handler) {
        try (var _ = LOCK.held()) {
            if (running == null) {
                running = start();
            }
            return running.add(descriptor, apart, handler);
        }
    }

    private Watch add(int descriptor, boolean apart, Handler handler) {
        Watch watch = new Watch(descriptor, apart, ++lastKey, handler);
        watches.put(watch.key, watch);
        try {
            poll.add(descriptor, apart ? Epoll.READABLE | Epoll.ONCE : Epoll.READABLE, watch.key);
        } catch (Throwable t) {
            watches.remove(watch.key);
            retireIfIdle();
            throw t;
        }
        oldestFirst.add(watch);
        countTicking(handler, 1);
        return watch;
    }

    /** Counts a watch that was added or removed. The caller holds the lock. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // under the lock
    private void countTicking(Handler handler, int change) {
        if (handler.ticker() != null) {
            ticking += change;
            if (ticking == 1 && change > 0) {
                wakeUp.signal(); // the thread may be waiting without a limit
            }
        }
    }

    private void retireIfIdle() {
        if (watches.isEmpty() && running == this) {
            running = null;
            retired = true;
            wakeUp.signal();
        }
    }

    private void run() {
        try {
            long ticked = System.nanoTime();
            while (!retired) {
                if (Thread.interrupted()) {
                    Daemons.interrupted();
                }
                int count = poll.take(ticking > 0 ? Tick.millis : FOR_EVER);
                for (int i = 0; i < count; i++) {
                    long key = poll.key(i);
                    if (key == WAKE_UP) {
                        wakeUp.clear();
                    } else {
                        tell(watches.get(key));
                    }
                }
                if (ticking > 0 && Tick.isDue(ticked)) {
                    watches.values().forEach(Watch::tick);
                    ticked = System.nanoTime();
                }
            }
            end(new IllegalStateException("The event thread had nothing left to watch"));
        } catch (Throwable t) {
            end(t);
        }
    }

    private void tell(@Nullable Watch watch) {
        if (watch == null) {
            return; // the watch was closed a moment ago
        }
        if (!watch.apart) {
            watch.handle();
            return;
        }
        try {
            if (!watch.handler.handOn()) {
                apart.execute(watch::handle);
            }
        } catch (Throwable noThread) {
            watch.fail(noThread);
        }
    }

    /**
     * Fails the watches that are left when this thread ends, the oldest first. The next watch starts another thread. Allocates nothing before
     * all waits have ended: memory may be what is missing.
     */
    private void end(Throwable cause) {
        try (var _ = LOCK.held()) {
            if (running == this) {
                running = null;
            }
            watches.clear();
            closeDescriptors();
        }
        for (Watch watch = oldestFirst.oldest(); watch != null; watch = watch.younger()) {
            try {
                watch.handler.failed(cause);
            } catch (Throwable ofThisHandler) { // the other handlers must hear of the end too
                if (ofThisHandler != cause && !(ofThisHandler instanceof OutOfMemoryError)) {
                    cause.addSuppressed(ofThisHandler);
                }
            }
        }
        apart.shutdown();
    }

    private void closeDescriptors() {
        wakeUp.close();
        poll.close();
    }
}
