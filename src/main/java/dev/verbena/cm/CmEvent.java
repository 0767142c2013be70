package dev.verbena.cm;

/**
 * An event of the connection manager ({@code struct rdma_cm_event}): a copy that was acknowledged before it was handed out.
 * Events cannot be changed, and all threads can use them.
 *
 * <p>Taking an event has side effects in C. {@code rdma_get_cm_event} makes the queue pair of the connecting side ready
 * before {@link CmEventType#ESTABLISHED}. It attaches a queue pair to a group before {@link CmEventType#MULTICAST_JOIN}. It
 * makes a new id for a {@link Request}.
 */
public sealed interface CmEvent {
    /**
     * Returns the id that the event belongs to.
     *
     * @return the id; for a {@link Request} the listening id
     */
    ConnectionId id();

    /**
     * Returns the type of the event.
     *
     * @return the type, or {@link CmEventType#UNKNOWN}
     */
    CmEventType type();

    /**
     * Returns the type's number in C, also of a type that this release does not know.
     *
     * @return the number
     */
    int typeCode();

    /**
     * Returns the status: 0, a negative {@code errno}, or a reason code of the transport.
     *
     * @return the number in C
     */
    int status();

    /**
     * An event that has nothing but its type: a step was resolved, ended or changed.
     *
     * @param id the id that the event belongs to
     * @param type the type of the event
     * @param typeCode the type's number
     * @param status the status
     */
    record Notice(ConnectionId id, CmEventType type, int typeCode, int status) implements CmEvent {}

    /**
     * An event that reports a failure.
     *
     * @param id the id that the event belongs to
     * @param type the type of the event
     * @param typeCode the type's number
     * @param status the status
     */
    record Failure(ConnectionId id, CmEventType type, int typeCode, int status) implements CmEvent {
        /**
         * Returns the reason in words.
         *
         * @return for example {@code ETIMEDOUT (timed out)}
         */
        public String reason() {
            return RejectReason.of(type, status);
        }
    }

    /**
     * An event that reports that the peer rejected the connection.
     *
     * @param id the id that the event belongs to
     * @param type {@link CmEventType#REJECTED}
     * @param typeCode the type's number
     * @param status the reason's number
     * @param privateData the peer's private data, padded
     */
    record Rejected(ConnectionId id, CmEventType type, int typeCode, int status, PrivateData privateData)
            implements CmEvent {
        /**
         * Returns the reason in words.
         *
         * @return for example {@code no program listens on this port}
         */
        public String reason() {
            return RejectReason.of(type, status);
        }
    }

    /**
     * An event that reports that a connection is established, or that the peer accepted it.
     *
     * @param id the id that the event belongs to
     * @param type {@link CmEventType#ESTABLISHED} or {@link CmEventType#CONNECT_RESPONSE}
     * @param typeCode the type's number
     * @param status the status
     * @param parameters the peer's parameters, with its private data, padded
     */
    record Connected(ConnectionId id, CmEventType type, int typeCode, int status, ConnectionParameters parameters)
            implements CmEvent {}

    /**
     * An event that reports that a datagram service was found, or a multicast group joined.
     *
     * @param id the id that the event belongs to
     * @param type {@link CmEventType#ESTABLISHED} or {@link CmEventType#MULTICAST_JOIN}
     * @param typeCode the type's number
     * @param status the status
     * @param target the destination of datagrams
     * @param privateData the peer's private data, padded
     */
    record DatagramReady(
            ConnectionId id, CmEventType type, int typeCode, int status, DatagramTarget target, PrivateData privateData)
            implements CmEvent {}

    /**
     * An event that reports that a peer wants to connect.
     *
     * @param id the listening id
     * @param type {@link CmEventType#CONNECT_REQUEST}
     * @param typeCode the type's number
     * @param status the status
     * @param request the request to accept or reject
     */
    record Request(ConnectionId id, CmEventType type, int typeCode, int status, ConnectRequest request)
            implements CmEvent {}

    /**
     * An event that a program {@linkplain ConnectionId#post posted} itself.
     *
     * @param id the id that the event belongs to
     * @param type {@link CmEventType#USER}
     * @param typeCode the type's number
     * @param status as posted
     * @param argument as posted
     */
    record User(ConnectionId id, CmEventType type, int typeCode, int status, long argument) implements CmEvent {}
}
