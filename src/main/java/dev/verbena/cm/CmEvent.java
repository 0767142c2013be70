package dev.verbena.cm;

/**
 * What the connection manager has told ({@code struct rdma_cm_event}): a copy, which was acknowledged before anybody saw
 * it.
 *
 * <p>Taking an event has side effects in C: {@code rdma_get_cm_event} makes the queue pair of an id ready before it tells
 * {@link CmEventType#ESTABLISHED} to the side that connects, attaches it to a group before {@link
 * CmEventType#MULTICAST_JOIN}, and makes a new id for a {@link Request}.
 */
public sealed interface CmEvent {
    /**
     * Whom it is about.
     *
     * @return the id: for a {@link Request} the listening one
     */
    ConnectionId id();

    /**
     * What it says.
     *
     * @return the type, or {@link CmEventType#UNKNOWN}
     */
    CmEventType type();

    /**
     * The type's number in C, also of a type that this release does not know.
     *
     * @return the number
     */
    int typeCode();

    /**
     * The status: 0, a negative {@code errno}, or a reason of the transport's.
     *
     * @return the number in C
     */
    int status();

    /**
     * Nothing but its type: something was resolved, ended or changed.
     *
     * @param id whom it is about
     * @param type what it says
     * @param typeCode the type's number
     * @param status the status
     */
    record Notice(ConnectionId id, CmEventType type, int typeCode, int status) implements CmEvent {}

    /**
     * Something could not be done.
     *
     * @param id whom it is about
     * @param type what it says
     * @param typeCode the type's number
     * @param status the status
     */
    record Failure(ConnectionId id, CmEventType type, int typeCode, int status) implements CmEvent {
        /**
         * Why, in words.
         *
         * @return for example {@code ETIMEDOUT (timed out)}
         */
        public String reason() {
            return RejectReason.of(type, status);
        }
    }

    /**
     * The peer has refused.
     *
     * @param id whom it is about
     * @param type {@link CmEventType#REJECTED}
     * @param typeCode the type's number
     * @param status the reason's number
     * @param privateData what the peer sent along, padded
     */
    record Rejected(ConnectionId id, CmEventType type, int typeCode, int status, PrivateData privateData)
            implements CmEvent {
        /**
         * Why, in words.
         *
         * @return for example {@code nobody listens on this port}
         */
        public String reason() {
            return RejectReason.of(type, status);
        }
    }

    /**
     * A connection stands, or has been accepted by the peer.
     *
     * @param id whom it is about
     * @param type {@link CmEventType#ESTABLISHED} or {@link CmEventType#CONNECT_RESPONSE}
     * @param typeCode the type's number
     * @param status the status
     * @param parameters what the peer wants, with its private data, padded
     */
    record Connected(ConnectionId id, CmEventType type, int typeCode, int status, ConnectionParameters parameters)
            implements CmEvent {}

    /**
     * A service for datagrams was found, or a multicast group joined.
     *
     * @param id whom it is about
     * @param type {@link CmEventType#ESTABLISHED} or {@link CmEventType#MULTICAST_JOIN}
     * @param typeCode the type's number
     * @param status the status
     * @param target where to send
     * @param privateData what the peer sent along, padded
     */
    record DatagramReady(
            ConnectionId id, CmEventType type, int typeCode, int status, DatagramTarget target, PrivateData privateData)
            implements CmEvent {}

    /**
     * A peer wants to connect.
     *
     * @param id the listening id
     * @param type {@link CmEventType#CONNECT_REQUEST}
     * @param typeCode the type's number
     * @param status the status
     * @param request what to accept or to refuse
     */
    record Request(ConnectionId id, CmEventType type, int typeCode, int status, ConnectRequest request)
            implements CmEvent {}

    /**
     * What a program has {@linkplain ConnectionId#post posted} itself.
     *
     * @param id whom it is about
     * @param type {@link CmEventType#USER}
     * @param typeCode the type's number
     * @param status as posted
     * @param argument as posted
     */
    record User(ConnectionId id, CmEventType type, int typeCode, int status, long argument) implements CmEvent {}
}
