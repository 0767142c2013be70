package dev.verbena.internal.lifetime;

import dev.verbena.internal.Driver;

/** The driver of a queue that all threads use: keeps the queue open during each call. Closing waits for calls under way. */
public final class GuardedDriver extends Driver {
    private final Driver driver;
    private final CloseGuard guard;

    private GuardedDriver(Driver driver, CloseGuard guard) {
        this.driver = driver;
        this.guard = guard;
    }

    /**
     * Returns a driver for the calls of a queue. The owner of a confined queue needs no bracket around its calls: it checks
     * before that the queue is open.
     */
    public static Driver of(Driver driver, ObjectLifetime queue) {
        return queue.isConfined() ? driver : new GuardedDriver(driver, queue.guard());
    }

    @Override
    public int postSends(long queue, long requests, long firstRefused) {
        int way = guard.enter();
        try {
            return driver.postSends(queue, requests, firstRefused);
        } finally {
            guard.exit(way);
        }
    }

    @Override
    public int postReceives(long queue, long requests, long firstRefused) {
        int way = guard.enter();
        try {
            return driver.postReceives(queue, requests, firstRefused);
        } finally {
            guard.exit(way);
        }
    }

    @Override
    public int poll(long queue, int entries, long completions) {
        int way = guard.enter();
        try {
            return driver.poll(queue, entries, completions);
        } finally {
            guard.exit(way);
        }
    }

    @Override
    public int ask(long queue, int solicitedOnly) {
        int way = guard.enter();
        try {
            return driver.ask(queue, solicitedOnly);
        } finally {
            guard.exit(way);
        }
    }
}
