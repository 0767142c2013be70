package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.RECEIVE_QUEUE;
import static dev.verbena.verbs.QueuePairOptions.SEND_QUEUE;

import dev.verbena.internal.Driver;
import dev.verbena.internal.Errno;
import dev.verbena.internal.lifetime.ObjectLifetime;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The path of work requests from Java to the driver's function that posts them: the driver, the queue, and whether the
 * queue's state lets requests through.
 *
 * <p>A queue pair has one path for sends and one for receives; a shared receive queue has one. A path is as safe for
 * threads as its queue is.
 */
final class PostPath {
    private static final int ANY = -1;

    private final Object queue;
    private final @Nullable CompletionQueue completions;
    private final String verb;
    private final String whenFull;
    private final Supplier<? extends RuntimeException> refusal;

    final Driver driver;
    /** The queue in C. */
    final long address;

    final PostedOperations log;
    /** Posts in place of the driver, but for its {@linkplain ExtendedSends#plain plain} requests; or null. */
    final @Nullable ExtendedSends extended;

    private final int usual;
    private boolean ready;
    private boolean rarely;
    private long longestMessage;

    /**
     * Makes a path that lets nothing through yet.
     *
     * @param lifetime the lifetime of the queue
     * @param queue the queue, for messages
     * @param completions the completion queue of the requests; null if each of them has another one
     * @param verb the C name of posting
     * @param whenFull what to do when the queue is full
     * @param refusal makes the exception for requests that the queue's state does not let through
     * @param address the queue in C
     * @param extended posts in place of the driver's function, or null
     * @param log the log of the queue's requests
     * @param usual the operations that the driver's function posts without more checks, a bit for each code
     */
    private PostPath(
            ObjectLifetime lifetime,
            Object queue,
            @Nullable CompletionQueue completions,
            String verb,
            String whenFull,
            Supplier<? extends RuntimeException> refusal,
            Driver driver,
            long address,
            @Nullable ExtendedSends extended,
            PostedOperations log,
            int usual) {
        this.queue = queue;
        this.completions = completions;
        this.verb = verb;
        this.whenFull = whenFull;
        this.refusal = refusal;
        this.driver = lifetime.bracketing(driver);
        this.address = address;
        this.extended = extended;
        this.log = log;
        this.usual = usual;
    }

    /** Makes the path of a queue pair's sends. */
    static PostPath ofSends(
            QueuePair queuePair, Driver driver, @Nullable ExtendedSends extended, AllowedOperations operations) {
        return new PostPath(
                queuePair.lifetime,
                queuePair,
                SEND_QUEUE.of(queuePair.options),
                extended == null ? "ibv_post_send" : "ibv_wr_complete",
                "The send queue is full: poll completions before posting more, or ask for a deeper queue with sendDepth()",
                () -> queuePair.states.cannotSend(),
                driver,
                queuePair.address,
                extended,
                queuePair.posted.sends(),
                extended == null ? operations.codes() : extended.plain());
    }

    /** Makes the path of a queue pair's own receives. */
    static PostPath ofReceives(QueuePair queuePair, Driver driver) {
        return new PostPath(
                queuePair.lifetime,
                queuePair,
                RECEIVE_QUEUE.of(queuePair.options),
                "ibv_post_recv",
                "The receive queue is full: wait for messages before posting more, or ask for a deeper queue",
                () -> queuePair.states.cannotReceive(),
                driver,
                queuePair.address,
                null,
                queuePair.posted.ownReceives(),
                ANY);
    }

    /** Makes the path of a shared receive queue. */
    static PostPath ofSharedReceives(
            ObjectLifetime lifetime, SharedReceiveQueue queue, Driver driver, long address, PostedOperations log) {
        return new PostPath(
                lifetime,
                queue,
                null,
                SharedReceiveQueue.POST,
                "The shared receive queue is full: wait for messages before posting more, or ask for a deeper queue",
                () -> new IllegalStateException(queue + " takes no receives"),
                driver,
                address,
                null,
                log,
                ANY);
    }

    /** Lets requests through, or not, according to the queue's state. */
    void ready(boolean now) {
        ready = now;
        log.open(now && !rarely, usual);
    }

    /** Has all posts take the way of the rare ones from now on. */
    void postRarely() {
        rarely = true;
        log.open(false, usual);
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

    /**
     * Checks that the queue's state lets requests through, and that its completions are not lost.
     *
     * @throws RuntimeException if not
     */
    void checkReady() {
        if (!ready) {
            throw refusal.get();
        }
    }

    /** Returns the exception for a list of requests that C refused. */
    PostException failure(String function, int errno, int posted, int count) {
        String full = whenFull;
        if ((errno == Errno.ENOMEM || errno == Errno.ENOSPC) && completions != null && completions.looksLossy()) {
            full = completions.lossText(); // polls will never free the queue
        }
        return failure(function, queue, errno, full, posted, count);
    }

    /** Returns the exception for requests to a queue that a function of C refused. */
    static PostException failure(String function, Object queue, int errno, String whenFull, int posted, int count) {
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
