package dev.verbena.verbs;

import dev.verbena.internal.DataPathCalls;
import dev.verbena.internal.Errno;
import dev.verbena.internal.lifetime.ObjectLifetime;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The path of work requests from Java to the driver's function that posts them: the function, the queue, how the function
 * may be called, and whether the queue's state lets requests through.
 *
 * <p>A queue pair has one path for sends and one for receives; a shared receive queue and a work queue have one each. A
 * path is as safe for threads as its queue is.
 */
final class PostPath {
    private static final String SEND = "ibv_post_send";
    private static final int ANY = -1;

    private final ObjectLifetime lifetime;
    private final Object queue;
    private final String verb;
    private final String whenFull;
    private final Supplier<IllegalStateException> refusal;
    final @Nullable ExtendedSends extended;
    private final @Nullable PostedOperations log;
    private final boolean confined;
    private final boolean critical;
    /** True if nothing but {@link #ready} and the {@link #guard}, if there is one, need be checked. */
    private final boolean simple;

    final long function;
    final long address;
    private boolean ready;
    private long longestMessage;

    /**
     * Makes a path that lets nothing through yet.
     *
     * @param lifetime the lifetime of the queue
     * @param queue the queue, for messages
     * @param verb the C name of posting
     * @param whenFull what to do when the queue is full
     * @param refusal makes the exception for requests that the queue's state does not let through
     * @param critical whether the function may be called without a change of thread state
     * @param function the address of the function
     * @param address the queue in C
     * @param extended posts in place of the function, or null
     * @param log the log of the queue's requests, or null
     */
    PostPath(
            ObjectLifetime lifetime,
            Object queue,
            String verb,
            String whenFull,
            Supplier<IllegalStateException> refusal,
            boolean critical,
            long function,
            long address,
            @Nullable ExtendedSends extended,
            @Nullable PostedOperations log) {
        this.lifetime = lifetime;
        this.queue = queue;
        this.verb = verb;
        this.whenFull = whenFull;
        this.refusal = refusal;
        this.extended = extended;
        this.log = log;
        this.confined = lifetime.isConfined();
        this.critical = critical;
        this.simple = confined || extended == null;
        this.function = function;
        this.address = address;
    }

    /** Makes the path of a queue pair's sends. */
    static PostPath ofSends(QueuePair queuePair, DriverFunctions driver, @Nullable ExtendedSends extended) {
        return new PostPath(
                queuePair.lifetime,
                queuePair,
                extended == null ? SEND : "ibv_wr_complete",
                "The send queue is full: poll completions before posting more, or ask for a deeper queue with sendDepth()",
                () -> queuePair.states.cannotSend(),
                driver.criticalPost(),
                driver.postSend(),
                queuePair.address,
                extended,
                queuePair.posted.sends());
    }

    /** Makes the path of a queue pair's own receives. */
    static PostPath ofReceives(QueuePair queuePair, DriverFunctions driver) {
        return new PostPath(
                queuePair.lifetime,
                queuePair,
                "ibv_post_recv",
                "The receive queue is full: wait for messages before posting more, or ask for a deeper queue",
                () -> queuePair.states.cannotReceive(),
                driver.criticalPost(),
                driver.postReceive(),
                queuePair.address,
                null,
                queuePair.posted.ownsReceives() ? queuePair.posted.receives() : null);
    }

    /** Lets requests through, or not, according to the queue's state. */
    void ready(boolean now) {
        ready = now;
        if (log != null) {
            log.open(now && simple, extended == null ? ANY : extended.plain());
        }
    }

    /** Returns the lifetime that a batch brackets its calls with, or null if they need no bracket. */
    @Nullable
    ObjectLifetime guard() {
        return confined ? null : lifetime;
    }

    /** Returns true if the function may be called without a change of thread state. */
    boolean isCritical() {
        return critical;
    }

    /** Sets the length of the longest message that the transport carries, which fits into 32 bits. */
    void longestMessage(long bytes) {
        longestMessage = bytes;
    }

    /** Returns the length of the longest message that the transport carries. */
    long longestMessage() {
        return longestMessage;
    }

    /** Returns the C name of posting. */
    String verb() {
        return verb;
    }

    /** Returns the C name of posting by {@link #function} itself. */
    String functionName() {
        return extended == null ? verb : SEND;
    }

    /** Returns true if the queue's state lets requests through. */
    boolean isReady() {
        return ready;
    }

    /**
     * Checks that the queue's state lets requests through.
     *
     * @throws IllegalStateException if not
     */
    void checkReady() {
        if (!ready) {
            throw refusal.get();
        }
    }

    /**
     * Posts a list of requests with one call into C. If the queue is confined, the caller has made sure that the queue is
     * open and this its thread.
     *
     * @param requests the address of the first request
     * @param firstRefused the address where C stores a pointer to the first refused request
     * @return 0 or an error number
     * @throws IllegalStateException if the queue is closed, or its state does not let requests through
     */
    int post(long requests, long firstRefused) {
        if (!ready) {
            throw refusal.get();
        }
        if (confined && extended == null) {
            return DataPathCalls.post(critical, function, address, requests, firstRefused);
        }
        int way = confined ? 0 : lifetime.enter();
        try {
            return extended == null
                    ? DataPathCalls.post(critical, function, address, requests, firstRefused)
                    : extended.post(requests, firstRefused);
        } finally {
            if (!confined) {
                lifetime.exit(way);
            }
        }
    }

    /** Returns the exception for a list of requests that C refused. */
    PostException failure(int errno, int posted, int count) {
        return failure(verb, errno, posted, count);
    }

    /** Returns the exception for requests that another function than this path's refused. */
    PostException failure(String function, int errno, int posted, int count) {
        String hint = switch (errno) {
            case Errno.ENOMEM, Errno.ENOSPC -> whenFull;
            case Errno.EINVAL ->
                "The state does not allow it, or the device does not support an address, a size or an operation; "
                        + "atomics need addresses that are multiples of 8";
            default -> "";
        };
        return new PostException(function, queue.toString(), errno, hint, posted, count);
    }
}
