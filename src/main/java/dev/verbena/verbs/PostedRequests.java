package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.RECEIVE_QUEUE;
import static dev.verbena.verbs.QueuePairOptions.SEND_QUEUE;
import static dev.verbena.verbs.QueuePairOptions.SHARED_RECEIVE_QUEUE;

import org.jspecify.annotations.Nullable;

/** The requests that were posted to a queue pair: a log of its sends, and one of its receives. */
final class PostedRequests {
    private final PostedOperations sends;
    private final PostedOperations ownReceives;
    private final QueuePairOptions options;

    PostedRequests(QueuePairOptions options, QueueCapabilities granted) {
        this.options = options;
        this.sends = new PostedOperations(granted.sendDepth(), isOneQueue());
        this.ownReceives = new PostedOperations(granted.receiveDepth(), isOneQueue());
    }

    /** Returns true if sends and receives complete in one queue. */
    private boolean isOneQueue() {
        return SEND_QUEUE.of(options) == RECEIVE_QUEUE.of(options);
    }

    PostedOperations sends() {
        return sends;
    }

    /** Returns the log of receives that are posted to the queue pair itself. */
    PostedOperations ownReceives() {
        return ownReceives;
    }

    /** Returns true if receives are posted to the queue pair, and not to a shared receive queue. */
    boolean ownsReceives() {
        return SHARED_RECEIVE_QUEUE.of(options) == null && RECEIVE_QUEUE.of(options) != null;
    }

    /** Returns true if a send was posted. */
    boolean hasSends() {
        return !sends.isEmpty();
    }

    /** Returns true if a receive was posted to the queue pair itself. */
    boolean hasOwnReceives() {
        return !ownReceives.isEmpty();
    }

    /** Forgets all requests, which a reset drops. Receives of a shared receive queue stay. */
    void clear() {
        sends.clear();
        ownReceives.clear();
    }

    /**
     * Returns the operation of a failed request.
     *
     * @return null if both a send and a receive had this id, and the status does not tell which of them failed
     */
    @Nullable
    Operation operationOf(long id, WorkStatus status, CompletionQueue reportedTo) {
        if (!isOneQueue()) {
            return reportedTo == RECEIVE_QUEUE.of(options) ? Operation.RECEIVE : sends.find(id);
        }
        Operation send = sends.find(id);
        SharedReceiveQueue shared = SHARED_RECEIVE_QUEUE.of(options);
        Operation receive = (shared == null ? ownReceives : shared.log()).find(id);
        if (send == null && receive == null && shared != null) {
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
