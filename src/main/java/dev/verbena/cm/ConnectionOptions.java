package dev.verbena.cm;

import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.SharedReceiveQueue;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Options of a {@link Connection}: the sizes of its queues, and objects that it shares with other connections. Begin with
 * {@link #defaults} or {@link #of}. Each option has a method that returns a changed copy, and a method of the same name that
 * reads it. Options never change, so all threads can use them.
 *
 * <p>A connection closes the objects that were made for it, and leaves the objects of its options open.
 *
 * {@snippet file="ConnectionSnippets.java" region="share"}
 */
public final class ConnectionOptions {
    private static final ConnectionOptions DEFAULTS = of(QueueCapabilities.of(64, 64));

    private final QueueCapabilities sizes;
    private final @Nullable ProtectionDomain domain;
    private final @Nullable CompletionQueue completionQueue;
    private final @Nullable SharedReceiveQueue sharedReceiveQueue;

    private ConnectionOptions(
            QueueCapabilities sizes,
            @Nullable ProtectionDomain domain,
            @Nullable CompletionQueue completionQueue,
            @Nullable SharedReceiveQueue sharedReceiveQueue) {
        this.sizes = Objects.requireNonNull(sizes, "sizes");
        this.domain = domain;
        this.completionQueue = completionQueue;
        this.sharedReceiveQueue = sharedReceiveQueue;
    }

    /**
     * Returns options for 64 sends and 64 receives at once.
     *
     * @return the default options
     */
    public static ConnectionOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Returns options for queues of other sizes.
     *
     * @param sizes the sizes of the connection's queues
     * @return the options
     */
    public static ConnectionOptions of(QueueCapabilities sizes) {
        return new ConnectionOptions(sizes, null, null, null);
    }

    /**
     * Returns the sizes of the connection's queues.
     *
     * @return the sizes
     */
    public QueueCapabilities sizes() {
        return sizes;
    }

    /**
     * Returns a copy for queues of other sizes. With a shared receive queue, the receive depth is the number of received
     * messages that the connection's own completion queue has room for.
     *
     * @param changed the sizes of the connection's queues
     * @return a changed copy
     */
    public ConnectionOptions sizes(QueueCapabilities changed) {
        return new ConnectionOptions(changed, domain, completionQueue, sharedReceiveQueue);
    }

    /**
     * Returns the protection domain of the connection's queue pair.
     *
     * @return the domain; null for {@link ConnectionId#protectionDomain}
     */
    public @Nullable ProtectionDomain domain() {
        return domain;
    }

    /**
     * Returns a copy with another protection domain. Memory of other connections can be used if they have the same domain.
     *
     * @param shared a domain of the device as the connection manager has opened it, such as {@link Connection#domain} of
     *     another connection; null for {@link ConnectionId#protectionDomain}
     * @return a changed copy
     */
    public ConnectionOptions domain(@Nullable ProtectionDomain shared) {
        return new ConnectionOptions(sizes, shared, completionQueue, sharedReceiveQueue);
    }

    /**
     * Returns the completion queue of the connection's sends and receives.
     *
     * @return the queue; null for a queue of the connection's own
     */
    public @Nullable CompletionQueue completionQueue() {
        return completionQueue;
    }

    /**
     * Returns a copy with another completion queue for sends and receives. The queue must have room for the completions of
     * all its connections.
     *
     * @param shared a queue of the device as the connection manager has opened it; null for a queue of the connection's own
     * @return a changed copy
     */
    public ConnectionOptions completionQueue(@Nullable CompletionQueue shared) {
        return new ConnectionOptions(sizes, domain, shared, sharedReceiveQueue);
    }

    /**
     * Returns the shared receive queue that the connection takes its receives from.
     *
     * @return the queue; null for receives of the connection's own
     */
    public @Nullable SharedReceiveQueue sharedReceiveQueue() {
        return sharedReceiveQueue;
    }

    /**
     * Returns a copy with another shared receive queue. Post receives there, not on the connection's queue pair.
     *
     * @param shared a queue of the device as the connection manager has opened it; null for receives of the connection's
     *     own
     * @return a changed copy
     */
    public ConnectionOptions sharedReceiveQueue(@Nullable SharedReceiveQueue shared) {
        return new ConnectionOptions(sizes, domain, completionQueue, shared);
    }

    private List<@Nullable Object> all() {
        return Arrays.asList(sizes, domain, completionQueue, sharedReceiveQueue);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ConnectionOptions options && all().equals(options.all());
    }

    @Override
    public int hashCode() {
        return all().hashCode();
    }

    /** Returns the sizes, and the objects that are shared. */
    @Override
    public String toString() {
        return sizes
                + (domain == null ? "" : ", " + domain)
                + (completionQueue == null ? "" : ", " + completionQueue)
                + (sharedReceiveQueue == null ? "" : ", " + sharedReceiveQueue);
    }
}
