package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The one thread that waits in C, for all descriptors of the process: it runs while any is watched.
 *
 * <p>It is one for the process because a descriptor is the process's too, and because what it does for each event takes
 * microseconds: a thread for each device or channel would mostly sleep. That makes {@link #running} the one variable
 * that objects of different contexts share.
 */
public final class EventThread {
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static @Nullable EventThread running;

    private static final int CLOSE_ON_EXEC = 0x80000;
    private static final int ADD = 1;
    private static final int REMOVE = 2;
    private static final int CHANGE = 3;
    private static final int READABLE = 1;
    private static final int ONCE = 1 << 30;
    private static final int FOR_EVER = -1;

    /** {@code struct epoll_event}, which only x86-64 packs: 32 bits of events, 64 of our own. */
    private static final boolean PACKED = List.of("amd64", "x86_64").contains(System.getProperty("os.arch"));

    private static final long SIZE = PACKED ? 12 : 16;
    private static final long KEY = PACKED ? 4 : 8;
    private static final int MAX = 64;
    private static final long WAKE_UP = 0;

    private final int poll;
    private final int wakeUp;
    private final ConcurrentHashMap<Long, Watch> watches = new ConcurrentHashMap<>();
    private long lastKey = WAKE_UP;
    private volatile boolean retired;

    /** Who is told about a descriptor, on the event thread: it must neither block nor run what users wrote. */
    public interface Handler {
        /** It can be read, or has an error that reading will tell. When this throws, watching it ends. */
        void readable();

        /** It is not watched any more, because of this. */
        void failed(Throwable cause);
    }

    /** A descriptor that is being watched. */
    public final class Watch {
        private final int descriptor;
        private final int events;
        private final long key;
        private final Handler handler;

        private Watch(int descriptor, int events, long key, Handler handler) {
            this.descriptor = descriptor;
            this.events = events;
            this.key = key;
            this.handler = handler;
        }

        /** For a descriptor that is watched for one event at a time: watches for the next one. */
        public void again() {
            LOCK.lock();
            try {
                if (watches.containsKey(key)) {
                    control(CHANGE, descriptor, events, key);
                }
            } finally {
                LOCK.unlock();
            }
        }

        /** Ends watching. The handler may be told once more while this is called. The descriptor must be open still. */
        public void close() {
            LOCK.lock();
            try {
                if (watches.remove(key) != null) {
                    try {
                        control(REMOVE, descriptor, 0, key);
                    } finally {
                        retireIfIdle();
                    }
                }
            } finally {
                LOCK.unlock();
            }
        }
    }

    private EventThread() {
        poll = SystemCall.EPOLL_CREATE.call(CLOSE_ON_EXEC);
        try {
            wakeUp = SystemCall.EVENTFD.call(0, CLOSE_ON_EXEC);
        } catch (SystemCallException e) {
            SystemCall.close(poll);
            throw e;
        }
    }

    private static EventThread start() {
        EventThread events = new EventThread();
        try {
            events.control(ADD, events.wakeUp, READABLE, WAKE_UP);
            Thread.ofPlatform()
                    .daemon()
                    .name("verbena-events")
                    .inheritInheritableThreadLocals(false)
                    .start(events::run);
        } catch (Throwable t) {
            events.closeDescriptors();
            throw t;
        }
        return events;
    }

    /**
     * Watches a descriptor, which must be closed after the watch only.
     *
     * @param once whether to tell of one event, and then no more until {@link Watch#again}; otherwise it is told again
     *     and again while there is something to read
     * @throws SystemCallException if it can't be watched
     */
    public static Watch watch(int descriptor, boolean once, Handler handler) {
        LOCK.lock();
        try {
            if (running == null) {
                running = start();
            }
            return running.add(descriptor, once ? READABLE | ONCE : READABLE, handler);
        } finally {
            LOCK.unlock();
        }
    }

    private Watch add(int descriptor, int events, Handler handler) {
        Watch watch = new Watch(descriptor, events, ++lastKey, handler);
        watches.put(watch.key, watch);
        try {
            control(ADD, descriptor, events, watch.key);
        } catch (Throwable t) {
            watches.remove(watch.key);
            retireIfIdle();
            throw t;
        }
        return watch;
    }

    private void retireIfIdle() {
        if (watches.isEmpty() && running == this) {
            running = null;
            retired = true;
            wakeUp();
        }
    }

    private void wakeUp() {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment one = scratch.allocateFrom(ValueLayout.JAVA_LONG, 1L);
            SystemCall.WRITE.call(wakeUp, one.address(), one.byteSize());
        }
    }

    private void control(int operation, int descriptor, int events, long key) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment event = scratch.allocate(SIZE, Long.BYTES);
            event.set(ValueLayout.JAVA_INT, 0, events);
            event.set(ValueLayout.JAVA_LONG_UNALIGNED, KEY, key);
            SystemCall.EPOLL_CTL.call(poll, operation, descriptor, event.address());
        }
    }

    private void run() {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment found = scratch.allocate(SIZE * MAX, Long.BYTES);
            while (!retired) {
                int count = SystemCall.EPOLL_WAIT.call(poll, found.address(), MAX, FOR_EVER);
                for (int i = 0; i < count; i++) {
                    tell(watches.get(found.get(ValueLayout.JAVA_LONG_UNALIGNED, i * SIZE + KEY)));
                }
            }
            end(new IllegalStateException("The event thread had nothing left to watch"));
        } catch (Throwable t) {
            end(t);
        }
    }

    private static void tell(@Nullable Watch watch) {
        if (watch == null) {
            return; // the wake-up, or one that was closed a moment ago
        }
        try {
            watch.handler.readable();
        } catch (Throwable t) {
            try {
                watch.close();
            } finally {
                watch.handler.failed(t);
            }
        }
    }

    /** Whoever still relies on this thread learns that it is gone. The next watch starts another one. */
    private void end(Throwable cause) {
        List<Watch> left;
        LOCK.lock();
        try {
            if (running == this) {
                running = null;
            }
            left = List.copyOf(watches.values());
            watches.clear();
            closeDescriptors();
        } finally {
            LOCK.unlock();
        }
        left.forEach(watch -> watch.handler.failed(cause));
    }

    private void closeDescriptors() {
        SystemCall.close(wakeUp);
        SystemCall.close(poll);
    }

    /** The epoll descriptor of the thread that runs now, for tests. */
    static int pollDescriptor() {
        LOCK.lock();
        try {
            return running == null ? -1 : running.poll;
        } finally {
            LOCK.unlock();
        }
    }
}
