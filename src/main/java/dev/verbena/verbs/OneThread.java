package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The thread that a batch or a cursor belongs to: the first that uses it. Two at once would have C read what is half
 * written.
 */
final class OneThread {
    private static final VarHandle THREAD = thread();

    private @Nullable Thread thread;

    /** Refuses all threads but the first that comes here, and those that may not use the memory. */
    void check(MemorySegment memory, Object what) {
        if (thread != Thread.currentThread()) {
            begin(memory, what);
        }
    }

    private void begin(MemorySegment memory, Object what) {
        Thread current = Thread.currentThread();
        if (!memory.isAccessibleBy(current)) {
            throw new WrongThreadException(what + " is confined to another thread than '" + current.getName() + "'");
        }
        Thread first = (Thread) THREAD.compareAndExchange(this, (Thread) null, current);
        if (first != null) {
            throw new WrongThreadException(what + " belongs to thread '" + first.getName()
                    + "', which used it first, and this is '" + current.getName() + "': make one per thread");
        }
    }

    /** Hands it to this thread, which has made sure that no other is using it. */
    void take() {
        if (thread != Thread.currentThread()) {
            thread = Thread.currentThread();
        }
    }

    private static VarHandle thread() {
        try {
            return MethodHandles.lookup().findVarHandle(OneThread.class, "thread", Thread.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
