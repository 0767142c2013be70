package dev.verbena.internal;

import java.util.concurrent.locks.ReentrantLock;

/**
 * A reentrant lock that a {@code try} statement holds: {@code try (var _ = lock.held()) { ... }}.
 *
 * <p>{@code synchronized} would do the same, but pins virtual threads before JDK 24. Where a lock is released within its
 * block, or lies in a path where each frame counts, {@link #lock} and {@link #unlock} remain.
 */
public final class Mutex extends ReentrantLock implements AutoCloseable {
    private static final long serialVersionUID = 1;

    /** Makes a lock that no thread holds. */
    public Mutex() {}

    /** Takes this lock, and waits for that. Closing the result, which is this lock, releases it. */
    public Mutex held() {
        lock();
        return this;
    }

    /** Releases this lock at the end of the {@code try} statement. */
    @Override
    public void close() {
        unlock();
    }
}
