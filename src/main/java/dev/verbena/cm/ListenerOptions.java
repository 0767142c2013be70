package dev.verbena.cm;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import java.time.Duration;

/**
 * Options of a {@link Listener}: its limits on peers that have not connected yet. Begin with {@link #defaults}. Each option
 * has a method that returns a changed copy. Options never change, so all threads can use them.
 *
 * {@snippet file="ConnectionSnippets.java" region="limits"}
 */
public final class ListenerOptions extends Options<ListenerOptions> {
    private static final Keys<ListenerOptions> KEYS = new Keys<>();
    static final Key<ListenerOptions, Integer> BACKLOG = KEYS.key("backlog", 128);
    static final Key<ListenerOptions, Duration> HANDSHAKE_TIMEOUT =
            KEYS.key("handshake timeout", Duration.ofSeconds(10));
    private static final ListenerOptions DEFAULTS = new ListenerOptions();

    private ListenerOptions() {
        super(KEYS);
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
     * Returns a copy with another backlog. Further requests are rejected: the peer gets a {@link ConnectionException}.
     *
     * @param requests the number of requests to connect that may wait to be taken
     * @return a changed copy
     * @throws IllegalArgumentException if the number is less than 1
     */
    public ListenerOptions backlog(int requests) {
        return with(BACKLOG, Checks.checkAtLeast("backlog", requests, 1));
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
        return with(HANDSHAKE_TIMEOUT, Checks.checkPositive("handshake timeout", timeout));
    }
}
