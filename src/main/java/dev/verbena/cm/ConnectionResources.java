package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.internal.Options;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.access.VerbsAccess;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Options of this side of a {@link Connection}: the sizes of its queues, and objects that it shares with other connections.
 * The peer does not learn of them; {@link ConnectionParameters} are what the two sides offer to each other. Begin with
 * {@link #defaults} or {@link #of}. Each option has a method that returns a changed copy. Options never change, so all
 * threads can use them.
 *
 * <p>A connection closes the objects that were made for it, and leaves the objects of its options open.
 *
 * {@snippet file="ConnectionSnippets.java" region="share"}
 */
public final class ConnectionResources extends Options<ConnectionResources> {
    private static final Keys<ConnectionResources> KEYS = new Keys<>();
    private static final Key<ConnectionResources, QueueCapabilities> SIZES =
            KEYS.key("sizes", QueueCapabilities.of(64, 64));
    private static final Key<ConnectionResources, @Nullable ProtectionDomain> DOMAIN = KEYS.key("domain", null);
    private static final Key<ConnectionResources, @Nullable CompletionQueue> COMPLETION_QUEUE =
            KEYS.key("completion queue", null);
    private static final Key<ConnectionResources, @Nullable SharedReceiveQueue> SHARED_RECEIVE_QUEUE =
            KEYS.key("shared receive queue", null);
    private static final ConnectionResources DEFAULTS = new ConnectionResources();

    private ConnectionResources() {
        super(KEYS);
    }

    /**
     * Returns options for 64 sends and 64 receives at once.
     *
     * @return the default options
     */
    public static ConnectionResources defaults() {
        return DEFAULTS;
    }

    /**
     * Returns options for queues of other sizes.
     *
     * @param sizes the sizes of the connection's queues
     * @return the options
     */
    public static ConnectionResources of(QueueCapabilities sizes) {
        return DEFAULTS.sizes(sizes);
    }

    /**
     * Returns a copy for queues of other sizes. With a shared receive queue, the receive depth is the number of received
     * messages that the connection's own completion queue has room for.
     *
     * @param changed the sizes of the connection's queues
     * @return a changed copy
     */
    public ConnectionResources sizes(QueueCapabilities changed) {
        return with(SIZES, Objects.requireNonNull(changed, "sizes"));
    }

    /**
     * Returns a copy with another protection domain. Memory of other connections can be used if they have the same domain.
     *
     * @param shared a domain of the device as the connection manager has opened it, such as {@link Connection#domain} of
     *     another connection; null for {@link ConnectionId#protectionDomain}
     * @return a changed copy
     */
    public ConnectionResources domain(@Nullable ProtectionDomain shared) {
        return with(DOMAIN, shared);
    }

    /**
     * Returns a copy with another completion queue for sends and receives. The queue must have room for the completions of
     * all its connections.
     *
     * @param shared a queue of the device as the connection manager has opened it; null for a queue of the connection's own
     * @return a changed copy
     */
    public ConnectionResources completionQueue(@Nullable CompletionQueue shared) {
        return with(COMPLETION_QUEUE, shared);
    }

    /**
     * Returns a copy with another shared receive queue. Post receives there, not on the connection's queue pair.
     *
     * @param shared a queue of the device as the connection manager has opened it; null for receives of the connection's
     *     own
     * @return a changed copy
     */
    public ConnectionResources sharedReceiveQueue(@Nullable SharedReceiveQueue shared) {
        return with(SHARED_RECEIVE_QUEUE, shared);
    }

    /**
     * Makes what these options do not give. Leaves nothing behind on failure.
     *
     * @throws ConnectionException if the peer of a request has left
     */
    ConnectionParts make(ConnectionId id) {
        QueueCapabilities sizes = SIZES.of(this);
        ProtectionDomain domain = DOMAIN.of(this);
        CompletionQueue shared = COMPLETION_QUEUE.of(this);
        SharedReceiveQueue receives = SHARED_RECEIVE_QUEUE.of(this);
        List<VerbsObject> made = new ArrayList<>();
        try {
            ProtectionDomain used = domain == null ? id.protectionDomain() : domain;
            CompletionQueue completions = shared == null
                    ? IdQueues.makeQueue(id.context(), sizes.sendDepth() + sizes.receiveDepth(), id.arena(), made)
                    : shared;
            QueuePairOptions wanted = QueuePair.rc(completions).capabilities(sizes);
            if (receives != null) {
                wanted = wanted.sharedReceiveQueue(receives);
            }
            QueuePair pair = id.createQueuePair(used, wanted, id.arena());
            made.addFirst(pair);
            if (shared == null) {
                VerbsAccess.get().limitSends(pair);
                makeRoom(completions, pair.capabilities());
            }
            return new ConnectionParts(used, completions, pair, List.copyOf(made));
        } catch (Throwable t) {
            made.forEach(object -> CmFailures.undo(t, object::close));
            throw t;
        }
    }

    /** Enlarges the connection's own queue if the device grants more requests than were asked for, so that it cannot overflow. */
    private static void makeRoom(CompletionQueue completions, QueueCapabilities granted) {
        int most = granted.sendDepth() + granted.receiveDepth();
        if (most > completions.capacity()) {
            try {
                completions.resize(most);
            } catch (VerbsException refused) {
                // The queue has room for the requests that were asked for.
            }
        }
    }
}
