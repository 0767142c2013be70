package dev.verbena.verbs;

import org.jspecify.annotations.Nullable;

/** The requests that were posted to a queue pair: a log of its sends, and one of its receives. */
final class PostedRequests {
    private final PostedOperations sends;
    private final PostedOperations receives;
    private final boolean sharesReceives;
    private final boolean ownsReceives;
    private final @Nullable CompletionQueue receiveQueue;
    /** True if sends and receives complete in one queue. */
    private final boolean oneQueue;

    PostedRequests(QueuePairOptions options, QueueCapabilities granted) {
        SharedReceiveQueue shared = options.sharedReceiveQueue();
        this.sharesReceives = shared != null;
        this.ownsReceives = shared == null && options.receiveQueue() != null;
        this.receiveQueue = options.receiveQueue();
        this.oneQueue = options.sendQueue() == options.receiveQueue();
        this.sends = new PostedOperations(granted.sendDepth(), oneQueue);
        this.receives = shared == null ? new PostedOperations(granted.receiveDepth(), oneQueue) : shared.log();
    }

    PostedOperations sends() {
        return sends;
    }

    PostedOperations receives() {
        return receives;
    }

    /** Returns true if receives are posted to the queue pair, and not to a shared receive queue. */
    boolean ownsReceives() {
        return ownsReceives;
    }

    /** Returns true if a send was posted. */
    boolean hasSends() {
        return !sends.isEmpty();
    }

    /** Returns true if a receive was posted to the queue pair itself. */
    boolean hasOwnReceives() {
        return ownsReceives && !receives.isEmpty();
    }

    /** Forgets all requests, which a reset drops. Receives of a shared receive queue stay. */
    void clear() {
        sends.clear();
        if (!sharesReceives) {
            receives.clear();
        }
    }

    /**
     * Returns the operation of a failed request.
     *
     * @return null if both a send and a receive had this id, and the status does not tell which of them failed
     */
    @Nullable
    Operation operationOf(long id, WorkStatus status, CompletionQueue reportedTo) {
        if (!oneQueue) {
            return reportedTo == receiveQueue ? Operation.RECEIVE : sends.find(id);
        }
        Operation send = sends.find(id);
        Operation receive = receives.find(id);
        if (send == null && receive == null && sharesReceives) {
            return Operation.RECEIVE; // other queue pairs share the receives, perhaps more than the log remembers
        }
        if (send == null || receive == null) {
            return send == null ? receive : send;
        }
        return switch (status) {
            case RETRY_EXCEEDED,
                    RNR_RETRY_EXCEEDED,
                    REMOTE_ACCESS_ERROR,
                    REMOTE_INVALID_REQUEST_ERROR,
                    REMOTE_OPERATION_ERROR,
                    BAD_RESPONSE_ERROR,
                    RESPONSE_TIMEOUT,
                    MW_BIND_ERROR -> send;
            default -> null;
        };
    }
}
