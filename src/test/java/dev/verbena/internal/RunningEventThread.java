package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
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

    static boolean runs() {
        return pollDescriptor() != -1;
    }

    /** Replaces the file of its epoll descriptor, and wakes it by a descriptor that it watches: its next wait fails. */
    static void breakBy(int watched) {
        MemorySegment dup2 = Linker.nativeLinker().defaultLookup().find("dup2").orElseThrow();
        int poll = pollDescriptor();
        int other = EventDescriptor.make(0);
        assertThat((int) CFunction.at("function", dup2).call(other, poll)).isEqualTo(poll);
        SystemCall.close(other);
        EventDescriptor.raise(watched);
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
