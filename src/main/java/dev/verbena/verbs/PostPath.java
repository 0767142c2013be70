package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.RECEIVE_QUEUE;
import static dev.verbena.verbs.QueuePairOptions.SEND_QUEUE;

import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Driver;
import dev.verbena.internal.Errno;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The path of work requests from Java to the driver's function that posts them: the driver, the queue, and whether the
 * queue's state lets requests through.
 *
 * <p>A queue pair has one path for sends and one for receives; a shared receive queue and a work queue have one. A path is
 * as safe for threads as its queue is.
 */
final class PostPath {
    private static final int ANY = -1;

    /** A function that posts requests, and what to do when its queue is full. */
    private enum Function {
        POST_SEND("ibv_post_send", Function.SENDS_FULL),
        WR_COMPLETE("ibv_wr_complete", Function.SENDS_FULL),
        POST_RECV(
                "ibv_post_recv",
                "The receive queue is full: wait for messages before posting more, or ask for a deeper queue"),
        POST_SRQ_RECV(
                SharedReceiveQueue.POST,
                "The shared receive queue is full: wait for messages before posting more, or ask for a deeper queue"),
        POST_WQ_RECV(
                WorkQueue.POST,
                "The work queue is full: wait for messages before posting more, or ask for a deeper queue");

        private static final String SENDS_FULL =
                "The send queue is full: poll completions before posting more, or ask for a deeper queue with sendDepth()";

        private final String verb;
        private final String whenFull;

        Function(String verb, String whenFull) {
            this.verb = verb;
            this.whenFull = whenFull;
        }

        private boolean sends() {
            return this == POST_SEND || this == WR_COMPLETE;
        }
    }

    private final ContextObject queue;
    private final Function function;
    /** The completion queue of the requests; null if each of them has another one. */
    private final @Nullable CompletionQueue completions;
    /** Makes the exception for requests that the queue's state does not let through. */
    private final Supplier<? extends RuntimeException> refusal;

    final Driver driver;
    /** The queue in C. */
    final long address;

    final PostedOperations log;
    /** Posts in place of the driver, but for its {@linkplain ExtendedSends#plain plain} requests; or null. */
    final @Nullable ExtendedSends extended;

    /** The operations that the driver's function posts without more checks, a bit for each code. */
    private final int usual;

    private boolean ready;
    /** True if all posts take the way of the rare ones. */
    private boolean takesNone;

    private long longestMessage;

    /** Makes a path that lets nothing through yet. */
    private PostPath(
            ContextObject queue,
            Function function,
            Driver driver,
            PostedOperations log,
            Supplier<? extends RuntimeException> refusal,
            @Nullable CompletionQueue completions,
            @Nullable ExtendedSends extended,
            int usual) {
        this.queue = queue;
        this.function = function;
        this.driver = queue.lifetime.bracketing(driver);
        this.address = queue.address;
        this.log = log;
        this.refusal = refusal;
        this.completions = completions;
        this.extended = extended;
        this.usual = usual;
    }

    /** Makes the path of a queue pair's sends. */
    static PostPath ofSends(
            QueuePair queuePair, Driver driver, @Nullable ExtendedSends extended, AllowedOperations operations) {
        return new PostPath(
                queuePair,
                extended == null ? Function.POST_SEND : Function.WR_COMPLETE,
                driver,
                queuePair.posted.sends(),
                () -> queuePair.states.cannotSend(),
                SEND_QUEUE.of(queuePair.options),
                extended,
                extended == null ? operations.codes() : extended.plain());
    }

    /** Makes the path of a queue pair's own receives. */
    static PostPath ofReceives(QueuePair queuePair, Driver driver) {
        return new PostPath(
                queuePair,
                Function.POST_RECV,
                driver,
                queuePair.posted.ownReceives(),
                () -> queuePair.states.cannotReceive(),
                RECEIVE_QUEUE.of(queuePair.options),
                null,
                ANY);
    }

    /** Makes the path of a shared receive queue, which always takes receives. */
    static PostPath ofSharedReceives(SharedReceiveQueue queue, Driver driver, PostedOperations log) {
        PostPath path = new PostPath(
                queue,
                Function.POST_SRQ_RECV,
                driver,
                log,
                () -> new IllegalStateException(queue + " takes no receives"),
                null,
                null,
                ANY);
        path.ready(true);
        return path;
    }

    /** Makes the path of a work queue. Its receives are of one kind, so the log needs no room for their ids. */
    static PostPath ofWorkReceives(WorkQueue queue, Driver driver, CompletionQueue completions) {
        return new PostPath(
                queue,
                Function.POST_WQ_RECV,
                driver,
                new PostedOperations(1, false),
                queue::cannotReceive,
                completions,
                null,
                ANY);
    }

    /** Lets requests through, or not, according to the queue's state. */
    void ready(boolean now) {
        ready = now;
        log.open(now && !takesNone, usual);
    }

    /** Has all posts take the way of the rare ones from now on. */
    void takeNone() {
        takesNone = true;
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
        return function.verb;
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

    /**
     * Returns the exception for a list of requests that a function of C refused.
     *
     * @param answer the error number, which some drivers, such as erdma and siw, negate
     */
    PostException failure(String refusing, int answer, int posted, int count) {
        int errno = Math.abs(answer);
        String hint = switch (errno) {
            case Errno.ENOMEM, Errno.ENOSPC ->
                completions != null && completions.looksLossy()
                        ? completions.lossText() // polls will never free the queue
                        : function.whenFull;
            case Errno.EINVAL ->
                "The state does not allow it, or the device does not support an address, a size or an operation; "
                        + "atomics need addresses that are multiples of 8";
            default -> "";
        };
        return new PostException(refusing, queue.toString(), errno, withLimit(hint, refusing, errno), posted, count);
    }

    /** Adds what the driver lacks to a hint. The driver does not say which of its rules a request breaks. */
    private String withLimit(String hint, String refusing, int errno) {
        DriverLimits limits = queue.context.limits();
        String limit = refusing.equals(ContextVerb.BIND_MW.verb())
                ? limits.hint(DriverLimits.Part.WINDOWS, errno, "")
                : function.sends() ? limits.hint(DriverLimits.Part.SENDS, errno, "") : "";
        return hint.isEmpty() || limit.isEmpty() ? hint + limit : hint + ". And " + limit;
    }
}
