package dev.verbena.cm;

import dev.verbena.internal.Checks;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Options of a {@link Listener}: its limits on peers that have not connected yet. Begin with {@link #defaults}. Each option
 * has a method that returns a changed copy, and a method of the same name that reads it. Options never change, so all threads
 * can use them.
 *
 * {@snippet file="ConnectionSnippets.java" region="limits"}
 */
public final class ListenerOptions {
    private static final ListenerOptions DEFAULTS = new ListenerOptions(128, Duration.ofSeconds(10));

    private final int backlog;
    private final Duration handshakeTimeout;

    private ListenerOptions(int backlog, Duration handshakeTimeout) {
        Checks.checkAtLeast("backlog", backlog, 1);
        this.backlog = backlog;
        this.handshakeTimeout = Objects.requireNonNull(handshakeTimeout, "handshakeTimeout");
        if (!handshakeTimeout.isPositive()) {
            throw new IllegalArgumentException("handshakeTimeout must be positive, got " + handshakeTimeout);
        }
    }

    /**
     * Returns options for 128 waiting requests, and handshakes of at most 10 seconds.
     *
     * @return the default options
     */
    public static ListenerOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Returns the number of requests to connect that may wait to be taken.
     *
     * @return the number of requests
     */
    public int backlog() {
        return backlog;
    }

    /**
     * Returns a copy with another backlog. Further requests are rejected: the peer gets a {@link ConnectionException}.
     *
     * @param requests the number of requests to connect that may wait to be taken
     * @return a changed copy
     * @throws IllegalArgumentException if the number is less than 1
     */
    public ListenerOptions backlog(int requests) {
        return new ListenerOptions(requests, handshakeTimeout);
    }

    /**
     * Returns the longest time that {@link Listener#accept(Duration)} waits for one peer to confirm the answer.
     *
     * @return the time
     */
    public Duration handshakeTimeout() {
        return handshakeTimeout;
    }

    /**
     * Returns a copy with another time for a handshake. {@link Listener#accept(Duration)} closes the connection of a peer
     * that has not confirmed the answer by then.
     *
     * @param timeout the longest time to wait for one peer
     * @return a changed copy
     * @throws IllegalArgumentException if the time is not positive
     */
    public ListenerOptions handshakeTimeout(Duration timeout) {
        return new ListenerOptions(backlog, timeout);
    }

    private List<Object> all() {
        return List.of(backlog, handshakeTimeout);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ListenerOptions options && all().equals(options.all());
    }

    @Override
    public int hashCode() {
        return all().hashCode();
    }

    /** Returns the limits. */
    @Override
    public String toString() {
        return "backlog " + backlog + ", handshakes of at most " + handshakeTimeout;
    }
}
