package dev.verbena.internal.lifetime;

import dev.verbena.internal.Driver;

/** The driver of a queue that all threads use: keeps the queue open during each call. Closing waits for calls under way. */
final class GuardedDriver extends Driver {
    private final Driver driver;
    private final SharedGuard guard;

    GuardedDriver(Driver driver, SharedGuard guard) {
        this.driver = driver;
        this.guard = guard;
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
