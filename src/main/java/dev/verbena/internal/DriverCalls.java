package dev.verbena.internal;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * The calls of the first driver, and the template of the hidden classes of all others: see {@link Driver}. The fields are
 * constants for the compilers: each method comes down to one call of one function. If this class could not be initialised for
 * lack of memory, the next driver gets a hidden class.
 */
final class DriverCalls extends Driver {
    private static final MemorySegment POST_SENDS;
    private static final MemorySegment POST_RECEIVES;
    private static final MemorySegment POLL;
    private static final MemorySegment ASK;
    private static final boolean CRITICAL_POSTS;
    private static final boolean CRITICAL_POLLS;

    static {
        Table table = Objects.requireNonNull(making);
        POST_SENDS = table.postSends;
        POST_RECEIVES = table.postReceives;
        POLL = table.poll;
        ASK = table.ask;
        CRITICAL_POSTS = table.criticalPosts;
        CRITICAL_POLLS = table.criticalPolls;
        table.driver = new DriverCalls();
    }

    private DriverCalls() {}

    @Override
    public int postSends(long queue, long requests, long firstRefused) {
        try {
            return CRITICAL_POSTS
                    ? (int) Critical.HANDLE.invokeExact(POST_SENDS, queue, requests, firstRefused)
                    : (int) Plain.HANDLE.invokeExact(POST_SENDS, queue, requests, firstRefused);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    @Override
    public int postReceives(long queue, long requests, long firstRefused) {
        try {
            return CRITICAL_POSTS
                    ? (int) Critical.HANDLE.invokeExact(POST_RECEIVES, queue, requests, firstRefused)
                    : (int) Plain.HANDLE.invokeExact(POST_RECEIVES, queue, requests, firstRefused);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    @Override
    public int poll(long queue, int entries, long completions) {
        try {
            return CRITICAL_POLLS
                    ? (int) Critical.HANDLE.invokeExact(POLL, queue, (long) entries, completions)
                    : (int) Plain.HANDLE.invokeExact(POLL, queue, (long) entries, completions);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    @Override
    public int ask(long queue, int solicitedOnly) {
        try {
            return (int) Plain.HANDLE.invokeExact(ASK, queue, (long) solicitedOnly, 0L);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }
}
