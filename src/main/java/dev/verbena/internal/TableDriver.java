package dev.verbena.internal;

import java.lang.foreign.MemorySegment;

/**
 * A driver that reads the functions from its own fields, for programs that can't define classes: see {@link Driver}. No other
 * program loads this class. In an ordinary JVM, a call takes some 3 ns longer than by {@link DriverCalls}: the row "post + poll
 * of one" took 1.06 times as long, and 1.14 times 8 frames deep, "empty poll" 1.9 and 3.7 times (18.6 for 17.6 ns, 27.3 for
 * 24.0, 7.0 for 3.7, 14.2 for 3.8; JDK 25, by turns, 2026-11-28). Nothing is allocated.
 */
final class TableDriver extends Driver {
    private final MemorySegment postSends;
    private final MemorySegment postReceives;
    private final MemorySegment poll;
    private final MemorySegment ask;
    private final boolean criticalPosts;
    private final boolean criticalPolls;

    private TableDriver(Table table) {
        postSends = table.postSends;
        postReceives = table.postReceives;
        poll = table.poll;
        ask = table.ask;
        criticalPosts = table.criticalPosts;
        criticalPolls = table.criticalPolls;
    }

    /** Makes the driver of a table. A constructor would have the verifier load this class with its caller's. */
    static Driver of(Table table) {
        return new TableDriver(table);
    }

    @Override
    public int postSends(long queue, long requests, long firstRefused) {
        return call(criticalPosts, postSends, queue, requests, firstRefused);
    }

    @Override
    public int postReceives(long queue, long requests, long firstRefused) {
        return call(criticalPosts, postReceives, queue, requests, firstRefused);
    }

    @Override
    public int poll(long queue, int entries, long completions) {
        return call(criticalPolls, poll, queue, entries, completions);
    }

    @Override
    public int ask(long queue, int solicitedOnly) {
        return call(false, ask, queue, solicitedOnly, 0);
    }

    private static int call(boolean critical, MemorySegment function, long queue, long second, long third) {
        try {
            return critical
                    ? (int) Critical.HANDLE.invokeExact(function, queue, second, third)
                    : (int) Plain.HANDLE.invokeExact(function, queue, second, third);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }
}
