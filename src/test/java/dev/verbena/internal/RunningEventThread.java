package dev.verbena.internal;

import java.lang.reflect.Field;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The event thread that runs, which the library itself asks nobody for. */
final class RunningEventThread {
    private RunningEventThread() {}

    /** Returns its epoll descriptor, or -1 if none runs. */
    static int pollDescriptor() {
        Mutex lock = (Mutex) Objects.requireNonNull(read("LOCK", null));
        lock.lock();
        try {
            Object running = read("running", null);
            return running == null ? -1 : ((Epoll) Objects.requireNonNull(read("poll", running))).descriptor();
        } finally {
            lock.unlock();
        }
    }

    private static @Nullable Object read(String name, @Nullable Object of) {
        try {
            Field field = EventThread.class.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(of);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }
}
