package dev.verbena.cm;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import java.time.Duration;
import java.util.List;

/**
 * Options of a {@link Listener}: its limits on peers that have not connected yet. Begin with {@link #defaults}. Each option
 * has a method that returns a changed copy. Options never change, so all threads can use them.
 *
 * {@snippet file="ConnectionSnippets.java" region="limits"}
 */
public final class ListenerOptions extends Options<ListenerOptions> {
    private static final ListenerOptions DEFAULTS = new ListenerOptions();

    private int backlog = 128;
    private Duration handshakeTimeout = Duration.ofSeconds(10);

    private ListenerOptions() {}

    /**
     * Returns options for 128 waiting requests, and handshakes of at most 10 seconds.
     *
     * @return the default options
     */
    public static ListenerOptions defaults() {
        return DEFAULTS;
    }

    int backlog() {
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
        return with(copy -> copy.backlog = Checks.checkAtLeast("backlog", requests, 1));
    }

    Duration handshakeTimeout() {
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
        return with(copy -> copy.handshakeTimeout = Checks.checkPositive("handshake timeout", timeout));
    }

    @Override
    protected List<Option> options() {
        return List.of(
                option("backlog", backlog, DEFAULTS.backlog),
                option("handshake timeout", handshakeTimeout, DEFAULTS.handshakeTimeout));
    }
}
